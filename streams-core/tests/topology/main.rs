//! A job's graph as a golden file, and an operator that may break replay in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use streams_core::prelude::*;
use streams_core::testing::{Harness, assert_topology};

#[record]
struct Flow {
    host: String,
    at: i64,
}

/// How many flows each host had, and whether the machine is an ordinary one.
#[stream_job]
fn stamped(flows: Stream<Flow>) -> Stream<(u64, bool)> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(count())
        .map(
            #[allow_impure(reason = "the variable is set for all machines alike")]
            |n| (n, std::env::var_os("NOBODY_SETS_THIS").is_none()),
        )
}

#[test]
fn the_graph_is_that_of_the_golden_file() {
    assert_topology(stamped, "tests/topology/stamped.topology");
}

#[test]
fn another_graph_is_told() {
    let other = std::panic::catch_unwind(|| assert_topology(stamped, "tests/topology/main.rs"));
    let message = *other.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("is not the one in tests/topology/main.rs"), "{message}");
}

#[test]
fn what_is_permitted_runs() {
    let mut job = Harness::new(stamped);
    job.push("flows", Flow { host: "a".to_owned(), at: 0 });
    job.end();
    assert_eq!(job.take::<(u64, bool)>("stamped"), [(1, true)]);
}
