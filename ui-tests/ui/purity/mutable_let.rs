// mistakes: 2
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    let mut n = 0;
    flows.filter(|_| { n += 1; n % 2 == 0 })
}

fn main() {}
