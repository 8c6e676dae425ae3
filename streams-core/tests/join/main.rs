//! Joins on cases small enough to be worked out by hand: which rows come, when, in which order, with which time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod intervals;
mod jobs;
mod late;
mod shapes;
mod tables;
mod windows;

use streams_core::Job;
use streams_core::testing::Harness;

use crate::jobs::Item;

/// One step of a script.
#[derive(Clone, Copy)]
enum Step {
    /// A record of the left port: key, value, time.
    L(u32, u32, i64),
    /// A record of the right port.
    R(u32, u32, i64),
    /// A checkpoint and a new machine.
    Restart,
    /// The end of both inputs.
    End,
}

/// Runs a script; behind each step the rows that it gave, with their times.
fn run<J: Job>(job: fn() -> Harness<J>, steps: &[Step]) -> (Vec<Vec<(i64, String)>>, u64) {
    let name = J::TOPOLOGY.sinks().next().unwrap().name;
    let mut harness = job();
    let mut out = Vec::new();
    for step in steps {
        match *step {
            Step::L(key, value, at) => harness.push("left", Item { key, value, at }),
            Step::R(key, value, at) => harness.push("right", Item { key, value, at }),
            Step::Restart => harness.restart().unwrap(),
            Step::End => harness.end(),
        }
        out.push(harness.take_timed::<String>(name));
    }
    (out, harness.late())
}

/// `expected` are the rows of each step, as `time:row` with blanks between.
#[track_caller]
fn check<J: Job>(job: fn() -> Harness<J>, script: &[(Step, &str)], late: u64) {
    let steps: Vec<Step> = script.iter().map(|(step, _)| *step).collect();
    let text = |rows: &[(i64, String)]| {
        rows.iter().map(|(at, row)| format!("{at}:{row}")).collect::<Vec<_>>().join(" ")
    };
    let (rows, found_late) = run(job, &steps);
    for (number, (rows, (_, expected))) in rows.iter().zip(script).enumerate() {
        assert_eq!(text(rows), *expected, "step {number}");
    }
    assert_eq!(found_late, late, "late");
    // The same with a checkpoint and a new machine in front of each step.
    for at in 0..steps.len() {
        let mut with = steps.clone();
        with.insert(at, Step::Restart);
        let (mut again, again_late) = run(job, &with);
        assert!(again.remove(at).is_empty());
        assert_eq!(again, rows, "with a restart in front of step {at}");
        assert_eq!(again_late, late, "late with a restart in front of step {at}");
    }
}
