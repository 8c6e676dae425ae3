// mistakes: 2
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<(u64, u64)> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate((first(|f| f.at, |f| f.out_flow), fold(0)))
}

fn main() {}
