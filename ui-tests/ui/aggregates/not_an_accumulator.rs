use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

struct Longest;
#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<usize> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(acc(Longest, |f| f.out_flow))
}

fn main() {}
