// mistakes: 4
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    let mut n = 0;
    let x = flows.filtr(|f| f.out_flow > 0).mapp(|f| f);
    x.keyby(|f| f.host.clone())
}

fn main() {}
