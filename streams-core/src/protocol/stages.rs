//! The stages of a job as it runs on several instances: what each reads and what it sends to.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ids::{Stage, Topic};
use crate::machine::Machine;

/// One stage: an entry of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlan {
    /// The stages that send here; none for a source.
    pub upstream: Vec<Stage>,
    /// What it sends to.
    pub topics: Vec<Topic>,
    /// Whether what it sends depends on what time it is, so that it is held (rule 8).
    pub clock: bool,
    /// Addresses of tables beside the job on whose rows it depends, so that it is held too unless they never change.
    pub tables: BTreeSet<Arc<str>>,
}

/// The stages of a job, by number. `machine` makes machines of the job in the sharded layout.
///
/// # Errors
/// Those of `machine`.
pub fn stages<E>(mut machine: impl FnMut() -> Result<Box<dyn Machine>, E>) -> Result<Vec<StagePlan>, E> {
    let first = machine()?;
    let n_sources = first.n_sources();
    let n_entries = n_sources + first.n_exchanges();
    let mut reaches = Vec::new();
    for entry in 0..n_entries {
        reaches.push(machine()?.focus(entry));
    }
    let number = |entry: usize| Stage(u16::try_from(entry).unwrap_or(u16::MAX));
    let plan = |(entry, reach): (usize, &crate::effects::Reach)| {
        let sends_here = |other: &usize| {
            let exchange = entry.checked_sub(n_sources);
            let reach = reaches.get(*other);
            exchange.is_some_and(|exchange| reach.is_some_and(|reach| reach.exchanges.contains(&exchange)))
        };
        let exchanges = reach.exchanges.iter().map(|exchange| Topic::Of(number(n_sources + exchange)));
        let outputs =
            reach.outputs.iter().map(|output| Topic::Output(u16::try_from(*output).unwrap_or(u16::MAX)));
        StagePlan {
            upstream: (0..n_entries).filter(sends_here).map(number).collect(),
            topics: exchanges.chain(outputs).collect(),
            clock: reach.clock,
            tables: reach.tables.clone(),
        }
    };
    Ok(reaches.iter().enumerate().map(plan).collect())
}

/// The output ports that something reaches.
#[must_use]
pub fn outputs(stages: &[StagePlan]) -> BTreeSet<Topic> {
    let topics = stages.iter().flat_map(|stage| &stage.topics);
    topics.filter(|topic| matches!(topic, Topic::Output(_))).copied().collect()
}
