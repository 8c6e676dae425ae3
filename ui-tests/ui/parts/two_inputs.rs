// mistakes: 2
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_part]
fn both(flows: Stream<Flow>, others: Stream<Flow>) -> Stream<Flow> {
    flows.union(others)
}

fn main() {}
