use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    flows.key_by(|f| f.host.clone()).distinct_within(secs(60))
}

fn main() {}
