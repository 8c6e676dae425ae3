use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_part]
fn large(flows: Stream<Flow>) -> Stream<Flow> {
    flows.filter(|f| f.out_flow > 9)
}

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    let found = large(flows);
    found.map(|f| f)
}

fn main() {}
