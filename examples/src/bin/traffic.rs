//! Outgoing traffic per host, every ten seconds: the job of the README.
//!
//! ```text
//! cargo run --release -p examples --bin traffic -- run --from file:examples/data/flows.jsonl
//! ```
//!
//! prints
//!
//! ```text
//! {"host":"web-1","from":1700000000000,"total":2300,"count":3}
//! {"host":"web-2","from":1700000000000,"total":700,"count":1}
//! {"host":"db-1","from":1700000010000,"total":90,"count":1}
//! {"host":"web-1","from":1700000010000,"total":1200,"count":2}
//! {"host":"web-2","from":1700000020000,"total":64000,"count":1}
//! ```

use std::process::ExitCode;

use streams_runtime::prelude::*;

#[record]
struct Flow {
    host: String,
    out_flow: u64,
    at: i64,
}

#[record]
struct Total {
    host: String,
    from: i64,
    total: u64,
    count: u64,
}

/// Outgoing traffic per host, every ten seconds; records may be five seconds out of order.
#[stream_job]
fn traffic(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
}

fn main() -> ExitCode {
    streams_runtime::main(traffic)
}
