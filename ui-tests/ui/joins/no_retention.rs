use streams_core::prelude::*;

#[record]
struct Order { id: u64, at: i64 }

#[stream_job]
fn job(a: Stream<Order>, b: Stream<Order>) -> Stream<u64> {
    let rows = b.key_by(|o| o.id).map(Some);
    a.key_by(|o| o.id).join_table(rows, |o, row| o.id + row.id)
}

fn main() {}
