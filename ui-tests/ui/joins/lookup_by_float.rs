use streams_core::prelude::*;

#[record]
struct Flow { load: f64 }

#[stream_job]
fn job(flows: Stream<Flow>, #[arg(default = "file:x")] loads: Table<Flow>) -> Stream<f64> {
    flows.lookup(loads, |f| f.load, |l| l.load, |_, l| l.load)
}

fn main() {}
