use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    flows.event_time(|f| f.at, out_of_order(secs(5))).distinct_within(secs(60))
}

fn main() {}
