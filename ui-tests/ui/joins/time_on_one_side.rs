use streams_core::prelude::*;

#[record]
struct Order { id: u64, at: i64 }

#[stream_job]
fn job(a: Stream<Order>, b: Stream<Order>) -> Stream<u64> {
    let rows = b.key_by(|o| o.id).map(Some);
    let timed = a.event_time(|o| o.at, out_of_order(secs(5))).key_by(|o| o.id);
    timed.join_table(rows, forever(), |o, row| o.id + row.id)
}

fn main() {}
