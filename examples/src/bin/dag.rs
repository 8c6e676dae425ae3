//! One input, two outputs: fan-out, union and late records.
//!
//! Large flows count with their size, small ones with the size of a packet. What comes too late for its window
//! is an output of its own, so that nothing is lost.
//!
//! ```text
//! cargo run --release -p examples --bin dag -- run --from file:examples/data/flows.jsonl --slack 2s \
//!     --to totals=print: --to late=file:late.jsonl
//! ```
//!
//! prints
//!
//! ```text
//! {"host":"web-1","from":1700000000000,"total":1564,"count":2}
//! {"host":"web-2","from":1700000000000,"total":64,"count":1}
//! {"host":"db-1","from":1700000010000,"total":64,"count":1}
//! {"host":"web-1","from":1700000010000,"total":128,"count":2}
//! {"host":"web-2","from":1700000020000,"total":64000,"count":1}
//! ```
//!
//! and leaves two late records in `late.jsonl`.

use std::process::ExitCode;
use std::time::Duration;

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

/// Traffic per host and ten seconds, small flows counted as one packet; late flows apart.
#[stream_job]
fn dag(
    flows: Stream<Flow>,
    /// How far flows may be out of order.
    #[arg(default = "2s")]
    slack: Duration,
) -> (Stream<Total>, Stream<Flow>) {
    let timed = flows.filter(|f| f.out_flow > 0).event_time(|f| f.at, out_of_order(slack));
    let large = timed.filter(|f| f.out_flow >= 1_000);
    let small = timed.filter(|f| f.out_flow < 1_000).map(|f| Flow { out_flow: 64, ..f });
    let totals = large.union(small).key_by(|f| f.host.clone()).window(tumbling(secs(10))).aggregate(Total {
        host: key(),
        from: window_start(),
        total: sum(|f| f.out_flow),
        count: count(),
    });
    let late = totals.late();
    (totals, late)
}

fn main() -> ExitCode {
    streams_runtime::main(dag)
}
