//! Servers that are away: told once when they go and once when they are back, and asked again behind a pause that
//! grows, each kind of question for itself.

use std::collections::BTreeMap;
use std::time::Instant;

use streams_core::protocol::ids::{Split, Target};

use super::{Fleet, Run};
use crate::cluster::remote::Failure;
use crate::error::Error;
use crate::run::note;

/// What a split asks of whom: pauses of one do not hold up the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// The queue that it reads.
    Source,
    /// A queue that it writes to.
    Target(Target),
    /// Its state.
    State,
}

/// Who has been said to be away, and when the last question failed.
#[derive(Debug, Default)]
pub(super) struct Outages(BTreeMap<String, Instant>);

impl Fleet {
    /// What the answer to a question means that was asked at `begun`: a value, or nothing for now.
    pub(super) fn settle<T>(
        &mut self,
        (split, begun): (Split, Instant),
        lane: Lane,
        result: Result<T, Failure>,
    ) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => {
                self.answers(split, lane, begun);
                Ok(Some(value))
            }
            Err(Failure::Away(why)) => {
                self.fails(split, lane, &why);
                Ok(None)
            }
            Err(Failure::Fatal(error)) => Err(error),
        }
    }

    /// Something did not happen and is done again.
    pub(super) fn fails(&mut self, split: Split, lane: Lane, why: &str) {
        let who = self.who(split, lane);
        if let Some(run) = self.runs.get_mut(&split) {
            *run.failures.entry(lane).or_default() += 1;
            // A broker that comes back may have lost its end: the message in front is looked at again.
            if lane == Lane::Source {
                run.known = None;
            }
        }
        if self.outages.0.insert(who.clone(), Instant::now()).is_none() {
            note(&format!("{why}; going on when {who} answers"));
        }
    }

    fn answers(&mut self, split: Split, lane: Lane, begun: Instant) {
        if let Some(run) = self.runs.get_mut(&split) {
            run.failures.remove(&lane);
        }
        if !self.outages.0.is_empty() {
            let who = self.who(split, lane);
            // What was asked before may have been answered before.
            if self.outages.0.get(&who).is_some_and(|failed| *failed < begun) {
                self.outages.0.remove(&who);
                note(&format!("{who} answers again"));
            }
        }
    }

    fn who(&self, split: Split, lane: Lane) -> String {
        let queue = match lane {
            Lane::Source => self.row.source(split),
            Lane::Target(target) => self.row.target(target),
            Lane::State => None,
        };
        match queue {
            Some((_, queue)) => format!("broker `{}`", queue.broker),
            None => self.remote.name().to_owned(),
        }
    }
}

impl Run {
    /// How often in a row such a question has had no answer.
    pub(super) fn failures(&self, lane: Lane) -> u32 {
        self.failures.get(&lane).copied().unwrap_or(0)
    }
}
