use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> (Stream<Flow>, Stream<Flow>) {
    let (large, small) = (flows.filter(|f| f.out_flow > 9), flows.filter(|f| f.out_flow <= 9));
    (large, small)
}

fn main() {}
