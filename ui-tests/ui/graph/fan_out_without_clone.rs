use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[derive(serde::Serialize, serde::Deserialize)]
struct Once { at: i64 }

#[stream_job]
fn job(once: Stream<Once>) -> (Stream<Once>, Stream<Once>) {
    let early = once.filter(|o| o.at < 0);
    let late = once.filter(|o| o.at >= 0);
    (early, late)
}

fn main() {}
