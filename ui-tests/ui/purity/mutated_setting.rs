use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>, #[arg(default = "5")] least: u64) -> Stream<Flow> {
    flows.filter(|f| { least += 1; f.out_flow > least })
}

fn main() {}
