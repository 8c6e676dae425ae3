use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    flows.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.as_str()).distinct_within(secs(60))
}

fn main() {}
