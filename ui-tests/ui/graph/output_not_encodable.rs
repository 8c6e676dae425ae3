use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

struct Plain(u64);

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Plain> {
    flows.map(|f| Plain(f.out_flow))
}

fn main() {}
