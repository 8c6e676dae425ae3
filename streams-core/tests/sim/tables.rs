//! Jobs that look rows up in tables that change, on the simulated fleet: each instance reads a table again at moments
//! of its own, and what was made of its rows is made once.

use streams_core::sim::sim;

use crate::jobs::{limits, looked_up, results_looked_up, traffic};
use crate::{seeds, show};

#[test]
fn of_records() {
    show("looked_up", &sim(looked_up).rows_of("limits", limits).seeds(seeds()).run());
    show("looked_up, idle", &sim(looked_up).rows_of("limits", limits).often_idle().seeds(seeds()).run());
}

#[test]
fn that_never_change() {
    show("looked_up, fixed", &sim(looked_up).fixed_rows("limits", limits(3)).seeds(seeds()).run());
    show(
        "results_looked_up, fixed",
        &sim(results_looked_up).fixed_rows("limits", limits(3)).seeds(seeds()).run(),
    );
}

#[test]
fn of_results() {
    show("results_looked_up", &sim(results_looked_up).rows_of("limits", limits).seeds(seeds()).run());
}

#[test]
fn rows_make_a_difference() {
    let runs = || sim(looked_up).seeds(1);
    let with = |n: u64| runs().rows_of("limits", move |version| limits(version + n)).accepted_streams(3)[0];
    assert_eq!(with(0), with(0));
    assert_ne!(with(0), with(1), "the rows are looked up");
}

#[test]
#[should_panic(expected = "the job has no table `limits`")]
fn a_table_that_the_job_does_not_have_is_refused() {
    let _ = sim(traffic).rows_of("limits", limits);
}
