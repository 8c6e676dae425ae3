use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<ui_tests::Hit> {
    flows.through(ui_tests::hits)
}

fn main() {}
