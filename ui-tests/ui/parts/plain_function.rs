use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

fn large(flows: Stream<Flow>) -> Stream<u64> {
    flows.filter(|f| f.out_flow > 9).map(|f| f.out_flow)
}

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<u64> {
    flows.event_time(|f| f.at, out_of_order(secs(5))).through(large).map(|n| n + 1)
}

fn main() {}
