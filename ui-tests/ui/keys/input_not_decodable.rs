use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

struct Raw { at: i64 }

#[stream_job]
fn job(raw: Stream<Raw>) -> Stream<i64> {
    raw.map(|r| r.at)
}

fn main() {}
