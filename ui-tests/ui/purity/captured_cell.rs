use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    let lowest = std::cell::OnceCell::new();
    flows.filter(|f| f.out_flow >= *lowest.get_or_init(|| f.out_flow))
}

fn main() {}
