use streams_core::prelude::*;

#[record]
struct Flow { host: String, at: i64 }

#[stream_job]
fn job(a: Stream<Flow>, b: Stream<Flow>) -> Stream<(String, i64)> {
    let a = a.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.clone());
    let b = b.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.clone());
    a.join(b, within(secs(1), secs(1)), |_, _| (key(), window_start()))
}

fn main() {}
