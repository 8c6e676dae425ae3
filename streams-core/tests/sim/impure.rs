//! A job that reads the wall clock where nobody sees it is caught: its results differ when they are made again.

use std::time::{Duration, SystemTime};

use streams_core::prelude::*;
use streams_core::sim::sim;

use crate::jobs::Flow;

/// The house forbids this, and that is the point.
#[expect(clippy::disallowed_methods, reason = "the simulator must catch what gets past the lint")]
fn a_helper_that_looks_harmless() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::from(now.unwrap_or(Duration::ZERO).subsec_nanos())
}

#[stream_job]
fn impure(flows: Stream<Flow>) -> Stream<Flow> {
    flows.map(|f| Flow { out_flow: f.out_flow + a_helper_that_looks_harmless(), ..f })
}

#[test]
fn a_clock_smuggled_into_a_map_is_caught() {
    let failure = sim(impure).seeds(20).try_run().expect_err("a clock decides what is computed");
    let text = failure.to_string();
    println!("{}", text.lines().take(12).collect::<Vec<_>>().join("\n"));
    assert_eq!(failure.violation.invariant, "I1", "{text}");
    assert!(text.lines().count() < 120, "the run was not made small:\n{text}");
}
