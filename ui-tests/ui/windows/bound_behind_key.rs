use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<u64> {
    let keyed = flows.key_by(|f| f.host.clone());
    let timed = keyed.event_time(|f| f.at, out_of_order(secs(5)).at_most_ahead(hours(1)));
    timed.window(tumbling(secs(10))).aggregate(count())
}

fn main() {}
