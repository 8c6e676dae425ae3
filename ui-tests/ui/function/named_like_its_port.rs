use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn flows(flows: Stream<Flow>) -> Stream<Flow> {
    flows.map(|f| f)
}

fn main() {}
