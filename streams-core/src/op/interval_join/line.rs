//! The records of one side of a join that have one key, by time and number.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::error::CodecError;

/// In order. Most records come behind all others, and are dropped from the front on.
#[derive(Debug)]
pub(super) struct Line<V>(VecDeque<Slot<V>>);

#[derive(Debug)]
pub(super) struct Slot<V> {
    /// Time and number.
    pub(super) at: (i64, u64),
    pub(super) kept: Kept<V>,
    pub(super) changed: bool,
    pub(super) saved: bool,
}

/// Whether a record that may stay alone has met a partner, and the record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept<V>(pub(super) bool, pub(super) V);

impl<V> Line<V> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a record stands or would stand.
    fn place(&self, at: (i64, u64)) -> usize {
        match self.0.back() {
            Some(last) if last.at >= at => self.0.partition_point(|slot| slot.at < at),
            _ => self.0.len(),
        }
    }

    fn insert(&mut self, index: usize, slot: Slot<V>) {
        if self.0.is_empty() {
            // Most keys have one record and get no more.
            self.0.reserve_exact(1);
        }
        if index == self.0.len() {
            self.0.push_back(slot);
        } else {
            self.0.insert(index, slot);
        }
    }

    /// Takes in a record that has come.
    pub(super) fn add(&mut self, at: (i64, u64), kept: Kept<V>) {
        self.insert(self.place(at), Slot { at, kept, changed: true, saved: false });
    }

    /// Lets a record meet those whose times lie in `[from, to]`; whether it met any. Only a record that may stay
    /// alone, as `keeps` says of these, has to know that it did not.
    pub(super) fn meet(
        &mut self,
        (from, to): (i64, i64),
        keeps: bool,
        mut pair: impl FnMut(i64, &V),
    ) -> bool {
        // Most keys have records of one side alone.
        if self.0.is_empty() {
            return false;
        }
        let first = self.0.partition_point(|slot| slot.at.0 < from);
        let mut any = false;
        for slot in self.0.range_mut(first..).take_while(|slot| slot.at.0 <= to) {
            slot.changed |= keeps && !slot.kept.0;
            slot.kept.0 |= keeps;
            any = true;
            pair(slot.at.0, &slot.kept.1);
        }
        any
    }

    /// Takes a record out: the row that it gives when it stayed alone, and whether the store has it.
    pub(super) fn leave<R>(
        &mut self,
        at: (i64, u64),
        alone: impl FnOnce(&V) -> Option<R>,
    ) -> (Option<R>, bool) {
        let index = self.0.partition_point(|slot| slot.at < at);
        if self.0.get(index).is_none_or(|slot| slot.at != at) {
            return (None, false);
        }
        let Some(Slot { kept: Kept(paired, val), saved, .. }) = self.0.remove(index) else {
            return (None, false);
        };
        (if paired { None } else { alone(&val) }, saved)
    }

    pub(super) fn changed(&mut self) -> impl Iterator<Item = &mut Slot<V>> {
        self.0.iter_mut().filter(|slot| slot.changed)
    }
}

impl<V: DeserializeOwned> Line<V> {
    /// Takes in a record from the store; `false` where it is here.
    pub(super) fn put(&mut self, at: (i64, u64), value: &[u8]) -> Result<bool, CodecError> {
        let index = self.place(at);
        let new = self.0.get(index).is_none_or(|slot| slot.at != at);
        if new {
            self.insert(index, Slot { at, kept: codec::from_slice(value)?, changed: false, saved: true });
        }
        Ok(new)
    }
}
