#![deny(deprecated)]

use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<u64> {
    flows.key_by(|_| 0).running(forever()).aggregate(count())
}

fn main() {}
