use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<u64> {
    flows
        .key_by(|f| f.host.clone())
        .processing_time()
        .window(tumbling(secs(10)))
        .aggregate(count())
}

fn main() {}
