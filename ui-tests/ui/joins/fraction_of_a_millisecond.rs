use std::time::Duration;
use streams_core::prelude::*;

#[record]
struct Order { id: u64, at: i64 }

#[stream_job]
fn job(a: Stream<Order>, b: Stream<Order>) -> Stream<u64> {
    let a = a.event_time(|o| o.at, out_of_order(secs(5))).key_by(|o| o.id);
    let b = b.event_time(|o| o.at, out_of_order(secs(5))).key_by(|o| o.id);
    a.join(b, within(secs(1), Duration::from_micros(5)), |l, r| l.id + r.id)
}

fn main() {}
