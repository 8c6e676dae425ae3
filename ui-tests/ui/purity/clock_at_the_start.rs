use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    let began = std::time::Instant::now();
    flows.filter(|f| f.at > began.elapsed().as_millis() as i64)
}

fn main() {}
