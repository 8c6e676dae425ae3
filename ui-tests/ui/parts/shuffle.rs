use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_part]
fn keyed(flows: Stream<Flow>) -> Stream<Flow> {
    flows.filter(|f| f.out_flow > 0).key_by(|f| f.host.clone())
}

fn main() {}
