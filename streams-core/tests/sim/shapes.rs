//! Each job for as many seeds as were asked for.

use streams_core::sim::sim;

use crate::jobs::{
    ahead, bounded, counted, few_flows, for_ever, late, panics, panics_at_windows, sessions, so_far,
    stateless, traffic, two_shuffles, union_of_two, updates,
};
use crate::{seeds, show};

#[test]
fn one_shuffle() {
    show("traffic", &sim(traffic).seeds(seeds()).run());
}

#[test]
fn no_shuffle() {
    show("stateless", &sim(stateless).seeds(seeds()).run());
}

#[test]
fn two_shuffles_in_a_row() {
    show("two_shuffles", &sim(two_shuffles).seeds(seeds()).run());
}

#[test]
fn a_result_with_each_record() {
    show("so_far", &sim(so_far).seeds(seeds()).run());
}

#[test]
fn a_result_with_each_record_for_ever() {
    show("for_ever", &sim(for_ever).seeds(seeds()).run());
}

#[test]
fn event_time_has_a_bound() {
    show("bounded", &sim(bounded).records_of("flows", ahead).seeds(seeds()).run());
}

#[test]
fn two_sources() {
    show("union_of_two", &sim(union_of_two).seeds(seeds()).run());
}

#[test]
fn late_records_are_an_output() {
    show("late", &sim(late).seeds(seeds()).run());
}

#[test]
fn code_that_panics_on_records() {
    let report = sim(panics).records_of("flows", few_flows).seeds(seeds()).run();
    show("panics", &report);
    assert!(report.tally.panics > report.seeds, "{report}");
}

#[test]
fn code_that_panics_while_windows_fire() {
    show("panics_at_windows", &sim(panics_at_windows).records_of("flows", few_flows).seeds(seeds()).run());
}

#[test]
fn sessions_merge() {
    show("sessions", &sim(sessions).seeds(seeds()).run());
}

#[test]
fn windows_give_early_results_and_updates() {
    // Which records come within the lateness depends on how several queues mix.
    show("updates", &sim(updates).queues(1).seeds(seeds()).run());
}

#[test]
fn records_are_counted() {
    // Which records make a window depends on how several queues mix.
    show("counted", &sim(counted).queues(1).seeds(seeds()).run());
}
