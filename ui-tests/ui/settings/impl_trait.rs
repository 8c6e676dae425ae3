use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>, host: impl ToString) -> Stream<Flow> {
    flows.filter(|f| f.host == host.to_string())
}

fn main() {}
