use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[record]
struct Row { host: String, n: u32 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Row> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(Row { host: key(), n: count() })
}

fn main() {}
