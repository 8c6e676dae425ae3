use streams_core::prelude::*;
use streams_core::testing::Harness;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

fn traffic(flows: Stream<Flow>) -> Stream<Flow> {
    flows
}

fn main() {
    Harness::new(traffic);
}
