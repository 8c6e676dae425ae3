//! The simulated local store of an instance: survives crashes, and says so when it is used out of order.

use std::collections::BTreeMap;

use super::store::Rows;
use crate::error::StateError;
use crate::store::local::{CommitId, Load, LocalCommits, Marks};
use crate::store::{Delta, Store, Visit};

/// The copies of an instance, by split.
#[derive(Debug, Default)]
pub(crate) struct LocalStore {
    rows: Rows,
    splits: BTreeMap<Vec<u8>, Copy>,
}

#[derive(Debug, Default)]
struct Copy {
    committed: Option<CommitId>,
    pending: Option<(CommitId, Delta)>,
    load: Load,
}

fn out_of_order(what: &str, copy: &Copy) -> StateError {
    StateError::Mismatch(format!("{what} while {copy:?}"))
}

impl Store for LocalStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.rows.get(key)
    }

    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        self.rows.scan(prefix, visit)
    }

    fn commit(&mut self, delta: &Delta) -> Result<(), StateError> {
        self.rows.commit(delta)
    }
}

impl LocalCommits for LocalStore {
    fn marks(&self, split: &[u8]) -> Result<Marks, StateError> {
        Ok(self.splits.get(split).map_or_else(Marks::default, |copy| Marks {
            committed: copy.committed,
            pending: copy.pending.as_ref().map(|(id, _)| *id),
            load: copy.load.clone(),
        }))
    }

    fn prepare(&mut self, split: &[u8], id: CommitId, delta: &Delta) -> Result<(), StateError> {
        let copy = self.splits.entry(split.to_vec()).or_default();
        if copy.pending.is_some() {
            return Err(out_of_order(&format!("{id:?} is prepared"), copy));
        }
        copy.pending = Some((id, delta.clone()));
        Ok(())
    }

    fn promote(&mut self, split: &[u8], id: CommitId) -> Result<(), StateError> {
        let copy = self.splits.entry(split.to_vec()).or_default();
        match copy.pending.take() {
            Some((pending, delta)) if pending == id => {
                copy.committed = Some(id);
                self.rows.commit(&delta)
            }
            None if copy.committed == Some(id) => Ok(()),
            other => {
                copy.pending = other;
                Err(out_of_order(&format!("{id:?} is promoted"), copy))
            }
        }
    }

    fn discard(&mut self, split: &[u8], id: CommitId) -> Result<(), StateError> {
        let copy = self.splits.entry(split.to_vec()).or_default();
        match copy.pending.take() {
            Some((pending, _)) if pending != id => Err(out_of_order(&format!("{id:?} is discarded"), copy)),
            _ => Ok(()),
        }
    }

    fn load(&mut self, split: &[u8], id: CommitId, page: &Delta, load: &Load) -> Result<(), StateError> {
        let copy = self.splits.entry(split.to_vec()).or_default();
        if copy.pending.is_some() {
            return Err(out_of_order(&format!("a page of {id:?} comes"), copy));
        }
        copy.committed = Some(id);
        copy.load = load.clone();
        self.rows.commit(page)
    }

    fn forget(&mut self, split: &[u8], prefix: &[u8]) -> Result<(), StateError> {
        self.splits.remove(split);
        let mut delta = Delta::new();
        delta.delete_prefix(prefix);
        self.rows.commit(&delta)
    }
}

impl LocalStore {
    /// A hash over the rows under a prefix.
    pub(crate) fn sum(&self, prefix: &[u8]) -> u64 {
        self.rows.sum_of(prefix)
    }
}
