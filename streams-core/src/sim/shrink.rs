//! Makes a run that breaks an invariant smaller: fewer faults, fewer records, as long as it still breaks one.

use std::fmt::Write as _;

use super::blueprint::Blueprint;
use super::plan::RunPlan;
use super::report::{Failure, Trace, Violation};
use super::world::World;

/// How many runs shrinking may cost.
const RUNS: usize = 400;

fn broken(blueprint: &Blueprint, plan: &RunPlan) -> Option<Violation> {
    World::new(blueprint, plan, Trace::default()).run()
}

/// The smallest run that was found, with its trace.
pub(crate) fn shrink(blueprint: &Blueprint, mut plan: RunPlan) -> Failure {
    let mut runs = 0;
    let mut smaller = true;
    while std::mem::take(&mut smaller) && runs < RUNS {
        smaller |= drop_some(&mut plan, |plan| &mut plan.faults, blueprint, &mut runs);
        smaller |= drop_some(&mut plan, |plan| &mut plan.inputs, blueprint, &mut runs);
    }
    let mut world = World::new(blueprint, &plan, Trace::recorded());
    let violation = world.run();
    let unknown =
        || Violation { invariant: "I19", text: "the run differs when it is repeated".to_owned(), step: 0 };
    let mut text = format!("{:?}", plan.shape);
    for planned in &plan.faults {
        let _ = write!(text, "\nat step {}: {:?}", planned.step, planned.fault);
    }
    Failure {
        seed: plan.seed,
        violation: violation.unwrap_or_else(unknown),
        plan: text,
        run: serde_json::to_string(&plan).unwrap_or_default(),
        trace: world.trace.lines.take().unwrap_or_default(),
    }
}

/// Tries to do without parts of a list: halves first, then ever smaller runs of entries.
fn drop_some<T: Clone>(
    plan: &mut RunPlan,
    list: impl Fn(&mut RunPlan) -> &mut Vec<T>,
    blueprint: &Blueprint,
    runs: &mut usize,
) -> bool {
    let mut dropped = false;
    let mut chunk = list(plan).len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        while at < list(plan).len() && *runs < RUNS {
            let mut candidate = plan.clone();
            let entries = list(&mut candidate);
            entries.drain(at..(at + chunk).min(entries.len()));
            *runs += 1;
            if broken(blueprint, &candidate).is_some() {
                *plan = candidate;
                dropped = true;
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    dropped
}
