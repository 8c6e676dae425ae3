use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[record]
struct Host { name: String, owner: String }

#[stream_job]
fn job(flows: Stream<Flow>, hosts: Table<Host>) -> Stream<String> {
    flows.key_by(|f| f.host.clone()).join_table(hosts, forever(), |_, host| host.owner.clone())
}

fn main() {}
