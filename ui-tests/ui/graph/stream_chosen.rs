use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>, all: bool) -> Stream<Flow> {
    let chosen = if all { flows } else { flows.filter(|f| f.out_flow > 9) };
    chosen.map(|f| f)
}

fn main() {}
