use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[record]
struct Total { host: String, total: u64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Total> {
    flows.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.clone()).window(tumbling(secs(10))).aggregate(Total { host: key(), total: sum(f.out_flow) })
}

fn main() {}
