//! The state of a split as numbers that are compared.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::codec;
use crate::protocol::ids::{Target, Topic};
use crate::protocol::reader::ReaderState;
use crate::protocol::snapshot::{Counters, Snapshot};
use crate::sim::random::mix;

/// The parts of a split's state, each as a number, so that a difference has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) rows: u64,
    pub(crate) reader: u64,
    pub(crate) numbers: u64,
    /// What its commits have written.
    pub(crate) results: u64,
    pub(crate) counters: Counters,
}

impl State {
    /// The state that a snapshot and its rows hold.
    pub(crate) fn of(snapshot: &Snapshot, rows: u64, results: u64) -> Self {
        let numbers = snapshot.senders.iter().map(|(target, sender)| (*target, sender.next));
        Self {
            rows,
            reader: reader_hash(&snapshot.reader),
            numbers: numbers_hash(numbers),
            results,
            counters: snapshot.counters,
        }
    }

    /// What differs, in words.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let mut parts = Vec::new();
        if self.rows != other.rows {
            parts.push("rows of operators".to_owned());
        }
        if self.reader != other.reader {
            parts.push("what was seen of each sender".to_owned());
        }
        if self.numbers != other.numbers {
            parts.push("next numbers".to_owned());
        }
        if self.results != other.results {
            parts.push("results in the commits".to_owned());
        }
        if self.counters != other.counters {
            parts.push(format!("counters {:?} instead of {:?}", self.counters, other.counters));
        }
        parts.join(", ")
    }
}

pub(super) fn reader_hash(reader: &ReaderState) -> u64 {
    let mut bytes = Vec::new();
    match codec::to_vec(reader, &mut bytes) {
        Ok(()) => xxh3_64_with_seed(&bytes, 2),
        Err(_) => 0,
    }
}

pub(super) fn numbers_hash(numbers: impl Iterator<Item = (Target, u64)>) -> u64 {
    numbers.fold(0, |sum, (target, next)| {
        let topic = match target.topic {
            Topic::Of(stage) => u64::from(stage.0),
            Topic::Output(output) => 1 << 16 | u64::from(output),
        };
        mix(sum ^ next, topic << 16 | u64::from(target.queue))
    })
}
