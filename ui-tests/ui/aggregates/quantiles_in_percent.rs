use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<[f64; 2]> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(quantiles([50.0, 99.0], |f| f.out_flow))
}

fn main() {}
