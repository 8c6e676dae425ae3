use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }
#[record]
struct Host { number: u64 }

#[stream_job]
fn job(flows: Stream<Flow>, #[arg(default = "file:x")] hosts: Table<Host>) -> Stream<u64> {
    flows.lookup(hosts, |f| f.host.clone(), |h| h.number, |_, h| h.number)
}

fn main() {}
