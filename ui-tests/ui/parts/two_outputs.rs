// mistakes: 2
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_part]
fn parted(flows: Stream<Flow>) -> (Stream<Flow>, Stream<Flow>) {
    let large = flows.filter(|f| f.out_flow > 9);
    let small = flows.filter(|f| f.out_flow < 9);
    (large, small)
}

fn main() {}
