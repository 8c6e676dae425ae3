use streams_core::prelude::*;

#[record]
struct Flow { host: String }
struct Host { name: String }

#[stream_job]
fn job(flows: Stream<Flow>, #[arg(default = "file:x")] hosts: Table<Host>) -> Stream<String> {
    flows.lookup(hosts, |f| f.host.clone(), |h| h.name.clone(), |f, _| f.host.clone())
}

fn main() {}
