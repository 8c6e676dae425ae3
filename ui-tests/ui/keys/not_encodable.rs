use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[derive(Clone)]
struct Raw { host: String, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<String> {
    flows.map(|f| Raw { host: f.host, at: f.at }).key_by(|r| r.host.clone()).map(|r| r.host)
}

fn main() {}
