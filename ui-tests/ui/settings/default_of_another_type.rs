// mistakes: 3
use std::time::Duration;
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(
    flows: Stream<Flow>,
    #[arg(default = "ten")] limit: u64,
    #[arg(default = "5")] slack: Duration,
    #[arg(default = "1 hour")] kept: Option<Duration>,
) -> Stream<Flow> {
    flows.event_time(|f| f.at, out_of_order(slack)).filter(|f| f.out_flow > limit && kept.is_some())
}

fn main() {}
