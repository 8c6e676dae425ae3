use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

struct Host { name: String, owner: String }

#[stream_job]
fn job(flows: Stream<Flow>, #[arg(default = "file:x")] hosts: Table<Host>) -> Stream<String> {
    flows.lookup(hosts, |f| f.host.clone(), |h| h.name.clone(), |_, h| h.owner.clone())
}

fn main() {}
