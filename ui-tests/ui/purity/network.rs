use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    flows.filter(|f| std::net::TcpStream::connect(&f.host).is_ok())
}

fn main() {}
