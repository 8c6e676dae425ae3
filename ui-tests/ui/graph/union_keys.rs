use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>, more: Stream<Flow>) -> Stream<Flow> {
    let keyed = flows.key_by(|f| f.host.clone());
    keyed.union(more).filter(|f| f.out_flow > 0)
}

fn main() {}
