use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<bool> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(matches!(count(), n if n > 2))
}

fn main() {}
