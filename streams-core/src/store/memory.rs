//! The store that forgets: rows in memory, for tests and for runs that keep no state.
//!
//! It is also the model that the conformance kit compares other stores with. It survives nothing; a clone
//! taken between two commits is what a test opens after a simulated crash.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::backing::Backing;
use super::{Delta, Store, Visit, Write, prefix};
use crate::error::StateError;

/// Rows in memory.
///
/// # Examples
/// ```
/// use streams_core::store::memory::MemoryStore;
/// use streams_core::store::{Delta, Store};
///
/// let mut store = MemoryStore::new();
/// let mut delta = Delta::new();
/// delta.put(b"key", b"value");
/// store.commit(&delta)?;
/// assert_eq!(store.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok::<(), streams_core::error::StateError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStore {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows in key order.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        Ok(self.rows.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        self.rows.range(prefix::range(prefix)).try_for_each(|(key, value)| visit(key, value))
    }

    fn commit(&mut self, delta: &Delta) -> Result<(), StateError> {
        for write in delta.writes() {
            match write {
                Write::Put { key, value } => drop(self.rows.insert(key.to_vec(), value.to_vec())),
                Write::Delete { key } => drop(self.rows.remove(key)),
                Write::DeletePrefix { prefix } => {
                    self.rows.extract_if(prefix::range(prefix), |_, _| true).for_each(drop);
                }
            }
        }
        Ok(())
    }
}

impl Backing for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        Store::get(self, key)
    }

    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        let rows = self.rows.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        // Nothing, and no panic, where the ends stand the wrong way round.
        let mut rows = rows.take_while(|(key, _)| key.as_slice() < to);
        rows.try_for_each(|(key, value)| visit(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Reopened};
    use super::*;

    #[test]
    fn conforms() {
        conformance::check(Reopened::Empty, &mut || Box::new(MemoryStore::new()));
    }

    #[test]
    fn a_clone_is_what_a_crash_leaves() {
        let mut store = MemoryStore::new();
        let mut delta = Delta::new();
        delta.put(b"a", b"1");
        store.commit(&delta).unwrap();
        let crashed = store.clone();
        delta.clear();
        delta.delete(b"a");
        store.commit(&delta).unwrap();
        assert_eq!(crashed.rows().collect::<Vec<_>>(), [(&b"a"[..], &b"1"[..])]);
        assert_ne!(store, crashed);
    }
}
