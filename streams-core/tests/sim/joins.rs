//! Jobs that join, on the simulated fleet: both sides come through one shuffle topic.

use streams_core::sim::sim;

use crate::jobs::{join_in_windows, join_near, join_with_a_table, join_with_totals, late_of_a_join};
use crate::{seeds, show};

#[test]
fn in_windows() {
    show("join_in_windows", &sim(join_in_windows).seeds(seeds()).run());
}

#[test]
fn near_each_other() {
    show("join_near", &sim(join_near).seeds(seeds()).run());
}

#[test]
fn with_totals_of_itself() {
    show("join_with_totals", &sim(join_with_totals).seeds(seeds()).run());
}

#[test]
fn with_a_table() {
    show("join_with_a_table", &sim(join_with_a_table).seeds(seeds()).run());
}

#[test]
fn late_records_are_an_output() {
    // Which records are late depends on when each side ends, and so on the order of events.
    show("late_of_a_join", &sim(late_of_a_join).often_idle().seeds(seeds()).run());
}
