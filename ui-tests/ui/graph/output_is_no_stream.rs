use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    Flow { host: String::new(), out_flow: 1, load: 0.5, at: 0 }
}

fn main() {}
