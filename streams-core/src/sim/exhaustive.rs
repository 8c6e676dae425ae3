//! Every interleaving of a tiny fleet: two instances, a source queue and a shuffle queue, four records, one
//! crash, one takeover and one message of unknown fate, at every point and in every order.
//!
//! A depth-first search over what can happen next, reduced to the orders that make a difference (see
//! [`World::choices`]; a test compares where it ends with where the search through every order ends). Machines cannot be copied, so a state is reached by doing
//! again what led to it; states that were seen before are not gone through again. What a state is: the content
//! of the log and of the store, what is under way, and all that each worker has heard.

use std::collections::{HashMap, HashSet};

use super::blueprint::Blueprint;
use super::plan::{RunPlan, Shape};
use super::report::{Failure, Trace, Violation};
use super::world::World;
use super::world::choices::{Budget, Choice};

/// What the search found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exhausted {
    /// Different states.
    pub states: u64,
    /// Things that happened, those that were done again not counted.
    pub transitions: u64,
    /// Different orders of events from the beginning to the end, those that lead nowhere else not counted.
    pub interleavings: u128,
    /// In how many ways log and store can end, and a hash over all of them.
    pub ends: (u64, u64),
    /// Whether the search came to its end.
    pub complete: bool,
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { states, transitions, interleavings, ends: (ends, _), complete } = self;
        let end = if *complete { "complete" } else { "not complete" };
        write!(
            f,
            "{interleavings} interleavings over {states} states, {transitions} transitions, {ends} ends, {end}"
        )
    }
}

/// One state on the way from the beginning.
struct Node {
    hash: u64,
    choices: Vec<Choice>,
    next: usize,
    interleavings: u128,
}

/// The plan of the tiny fleet.
pub(crate) fn tiny(inputs: Vec<super::plan::Input>, blueprint: &Blueprint) -> RunPlan {
    let shape = Shape {
        n_instances: 2,
        source_queues: vec![1; blueprint.n_sources],
        shuffle_queues: vec![1; blueprint.n_exchanges()],
        output_queues: 1,
        held: false,
        idle_after_ms: None,
        latest: false,
        n_before: inputs.len(),
        copied: false,
        page_rows: usize::MAX,
        page_pause: 1,
        most_waiting: usize::MAX,
        most_waiting_bytes: usize::MAX,
        most_uncommitted: u64::MAX,
        most_behind: u64::MAX,
        in_commit: false,
    };
    RunPlan { seed: 0, schedule: 0, shape, inputs, faults: Vec::new() }
}

/// Goes through everything that can happen, or through `most` states of it.
pub(crate) fn explore(
    blueprint: &Blueprint,
    plan: &RunPlan,
    budget: Budget,
    most: u64,
) -> Result<Exhausted, Box<Failure>> {
    let mut found = Exhausted { complete: true, ..Exhausted::default() };
    // By state: how many ways lead from it to an end.
    let mut seen: HashMap<u64, u128> = HashMap::new();
    let mut ends = HashSet::new();
    let mut path: Vec<Node> = Vec::new();
    let mut world = World::tiny(blueprint, plan, budget, Trace::default());
    let mut fresh = true;
    loop {
        if fresh {
            let hash = world.state_hash();
            let known = seen.get(&hash).copied();
            let choices = if known.is_some() { Vec::new() } else { world.choices() };
            if known.is_none() && world.is_quiet() {
                world.conclude();
                ends.insert(world.durable_hash());
            }
            if let Some(violation) = world.take_violation() {
                return Err(Box::new(replay(blueprint, plan, budget, &path, violation)));
            }
            let interleavings = known.unwrap_or(u128::from(choices.is_empty()));
            found.states += u64::from(known.is_none());
            path.push(Node { hash, choices, next: 0, interleavings });
        }
        let Some(node) = path.last_mut() else { break };
        if found.states >= most {
            found.complete = false;
        }
        if node.next == node.choices.len() || !found.complete {
            let Some(done) = path.pop() else { break };
            seen.insert(done.hash, done.interleavings);
            match path.last_mut() {
                Some(parent) => parent.interleavings += done.interleavings,
                None => found.interleavings = done.interleavings,
            }
            fresh = false;
            continue;
        }
        node.next += 1;
        found.transitions += 1;
        if fresh {
            // The world stands here already.
            if let Some(choice) = node.choices.first() {
                world.choose(*choice);
            }
        } else {
            world = World::tiny(blueprint, plan, budget, Trace::default());
            for choice in path.iter().filter_map(|node| node.choices.get(node.next - 1)) {
                world.choose(*choice);
            }
        }
        fresh = true;
    }
    found.ends = (ends.len() as u64, ends.iter().fold(0, |all, end| all ^ end));
    Ok(found)
}

fn replay(
    blueprint: &Blueprint,
    plan: &RunPlan,
    budget: Budget,
    path: &[Node],
    violation: Violation,
) -> Failure {
    let mut world = World::tiny(blueprint, plan, budget, Trace::recorded());
    for choice in path.iter().filter_map(|node| node.choices.get(node.next.checked_sub(1)?)) {
        world.choose(*choice);
    }
    Failure {
        seed: 0,
        violation,
        plan: format!("{:?}", plan.shape),
        run: String::new(),
        trace: world.trace.lines.take().unwrap_or_default(),
    }
}
