use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

use std::time::Duration;

#[stream_job]
fn job(flows: Stream<Flow>, #[arg(default = "5s")] out_of_order: Duration) -> Stream<Flow> {
    flows.event_time(|f| f.at, out_of_order(out_of_order))
}

fn main() {}
