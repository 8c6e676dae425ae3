use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>, limit: u64) -> Stream<Flow> {
    flows.filter(|f| f.out_flow > limt)
}

fn main() {}
