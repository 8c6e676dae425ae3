use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

static SEEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<Flow> {
    flows.filter(|_| SEEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 0)
}

fn main() {}
