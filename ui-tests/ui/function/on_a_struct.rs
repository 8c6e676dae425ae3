use streams_core::prelude::*;

#[stream_job]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

fn main() {}
