use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<(f64, u64)> {
    let keyed = flows.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.load);
    keyed.window(tumbling(secs(10))).aggregate((key(), count()))
}

fn main() {}
