// mistakes: 6
use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

#[stream_job]
async fn job(flows: Stream<Flow>, #[arg(default = 5)] workers: u64) -> (Stream<Flow>, Stream<Flow>) {
    flows.filtr(|f| f.out_flow > workers).filter(|f| f.at < std::time::SystemTime::now())
}

fn main() {}
