//! Rows that the next records of a shuffle need and that are not in memory, read together in front of them.
//!
//! While a taken split is loaded a row is read when a record needs it. Many records come at once, and a question to a
//! server costs the same for one row as for many. So the reading end of a shuffle shows the operators the keys that
//! come next ([`Ahead`]), each says which rows it would read, and they are read in one question. What was read stands
//! in for the same question of the operator alone, until the next call: rows change by the machine's own commits,
//! and none comes in between. Which records come together changes no result.

use std::any::Any;

use hashbrown::{HashMap, HashSet};

use crate::codec;
use crate::key::Key;
use crate::state::OperatorId;

/// The keys that come next, and the rows that are wanted for them.
pub struct Ahead<'a> {
    /// A `Vec<(K, i64)>` of keys and event times.
    keys: &'a dyn Any,
    machine: &'a [u8],
    wanted: HashSet<Vec<u8>>,
}

impl std::fmt::Debug for Ahead<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead").field("wanted", &self.wanted.len()).finish_non_exhaustive()
    }
}

/// Rows by their whole keys; `None` where it is known that there is none.
pub(crate) type Rows = HashMap<Vec<u8>, Option<Vec<u8>>>;

impl<'a> Ahead<'a> {
    pub(crate) fn new<K: Key>(keys: &'a Vec<(K, i64)>, machine: &'a [u8]) -> Self {
        Self { keys, machine, wanted: HashSet::new() }
    }

    pub(crate) fn wanted(self) -> HashSet<Vec<u8>> {
        self.wanted
    }

    /// The keys with the event times of their records; none for an operator that is keyed by something else.
    pub(crate) fn keys<K: Key>(&self) -> &'a [(K, i64)] {
        self.keys.downcast_ref::<Vec<(K, i64)>>().map_or(&[], Vec::as_slice)
    }

    /// The row `(tag, key)` of an operator will be read.
    pub(crate) fn want<K: Key>(&mut self, id: OperatorId, tag: &[u8], key: &K) {
        let mut row = id.prefix(self.machine);
        row.extend_from_slice(tag);
        // A key that does not encode is told when its record comes.
        if codec::key_to_vec(key, &mut row).is_ok() {
            self.wanted.insert(row);
        }
    }
}
