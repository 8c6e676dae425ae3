use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> (Stream<u64>, Stream<Flow>) {
    let counts = flows.key_by(|f| f.host.clone()).window(count_window(100, forever())).aggregate(count());
    let late = counts.late();
    (counts, late)
}

fn main() {}
