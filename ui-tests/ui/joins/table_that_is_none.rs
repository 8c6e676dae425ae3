use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }
#[record]
struct Host { name: String }

#[stream_job]
fn job(flows: Stream<Flow>, hosts: Stream<Host>) -> Stream<String> {
    let names = hosts.map(|h| h.name);
    flows.lookup(names, |f| f.host.clone(), |h| h.clone(), |f, h| format!("{}{h}", f.host))
}

fn main() {}
