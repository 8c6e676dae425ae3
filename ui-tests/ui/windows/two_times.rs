use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<u64> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .store_time(out_of_order(secs(5)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(count())
}

fn main() {}
