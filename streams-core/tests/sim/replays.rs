//! Runs that broke an invariant once, written down: draws of the simulator may change, these do not. Each is shown
//! with the mistake planted again as well, so that it still goes where it went.

use streams_core::plan::Job;
use streams_core::sim::{Bug, Sim, sim};

use crate::jobs::{join_with_totals, traffic};

/// A run breaks nothing, and breaks `invariant` with `bug` in it.
#[track_caller]
fn check<J: Job>(job: impl Fn() -> Sim<J>, run: &str, bug: Bug, invariant: &str) {
    assert_eq!(job().replay(run), None);
    let broken = job().plant(bug).replay(run).map(|violation| violation.invariant);
    assert_eq!(broken, Some(invariant), "the run does not show {bug:?} any more: write down another one");
}

#[test]
fn a_stage_goes_on_behind_its_end_when_a_topic_has_grown() {
    let job = || sim(join_with_totals);
    let run = include_str!("runs/a_topic_that_grew_behind_its_end.json");
    check(job, run, Bug::EndStays, "I1");
    let run = include_str!("runs/another_topic_that_grew_behind_its_end.json");
    check(job, run, Bug::EndStays, "I1");
}

#[test]
fn an_owner_that_died_behind_a_clean_take_has_sent_something() {
    let job = || sim(traffic);
    check(job, include_str!("runs/a_crash_behind_a_clean_take.json"), Bug::CleanIsStale, "I16");
    check(job, include_str!("runs/a_crash_behind_a_clean_take_latest.json"), Bug::CleanIsStale, "I16");
}

#[test]
#[should_panic(expected = "the run is of a job with 1 sources and 1 shuffles; this one has 1 and 2")]
fn a_run_of_another_job_is_refused() {
    let run = include_str!("runs/a_crash_behind_a_clean_take.json");
    let _ = sim(join_with_totals).replay(run);
}
