use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>, most: String) -> Stream<Vec<u64>> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(top_k(most, |f| f.out_flow))
}

fn main() {}
