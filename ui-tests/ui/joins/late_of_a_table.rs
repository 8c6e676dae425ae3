use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

#[stream_job]
fn job(a: Stream<Flow>, b: Stream<Flow>) -> Stream<Flow> {
    let b = b.key_by(|f| f.host.clone()).map(Some);
    let rows = a.key_by(|f| f.host.clone()).join_table(b, forever(), |_, row| row.clone());
    rows.late()
}

fn main() {}
