#![deny(deprecated)]

use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<u64> {
    flows.key_by(|f| f.host.clone()).running(forever()).filter(|f| f.out_flow > 0).aggregate(count())
}

fn main() {}
