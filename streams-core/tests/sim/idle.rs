//! Sources that say that they are quiet, with every fault: the word is in the log, so a replay gives the same.

use streams_core::sim::sim;

use crate::jobs::{
    join_in_windows, join_near, join_with_totals, sessions, two_shuffles, union_of_two, updates,
};
use crate::{seeds, show};

#[test]
fn sources_that_are_quiet_hold_nothing_back() {
    show("union_of_two, idle", &sim(union_of_two).often_idle().seeds(seeds()).run());
    show("two_shuffles, idle", &sim(two_shuffles).often_idle().seeds(seeds()).run());
}

#[test]
fn sessions_and_updates_of_quiet_sources() {
    show("sessions, idle", &sim(sessions).often_idle().seeds(seeds()).run());
    show("updates, idle", &sim(updates).often_idle().queues(1).seeds(seeds()).run());
}

#[test]
fn joins_of_quiet_sources() {
    show("join_in_windows, idle", &sim(join_in_windows).often_idle().seeds(seeds()).run());
    show("join_near, idle", &sim(join_near).often_idle().seeds(seeds()).run());
    show("join_with_totals, idle", &sim(join_with_totals).often_idle().seeds(seeds()).run());
}
