//! A bounded cache of rows: what was asked for lately, in two generations.
//!
//! When the young generation has half of the bound it becomes the old one, and what was not asked for since the time
//! before is dropped. That costs one look-up more than a map and no list, and keeps what is asked for often.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::key::Key;

/// Rows, and the knowledge that there is none.
pub(super) struct Cache<K, V> {
    young: HashMap<K, Option<Arc<V>>>,
    old: HashMap<K, Option<Arc<V>>>,
    most: usize,
}

impl<K: Key, V> Cache<K, V> {
    /// At most so many, and two at least.
    pub(super) fn new(most: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), most: most.max(2) }
    }

    /// What is known of a key.
    pub(super) fn get(&mut self, key: &K) -> Option<Option<Arc<V>>> {
        if let Some(row) = self.young.get(key) {
            return Some(row.clone());
        }
        let (key, row) = self.old.remove_entry(key)?;
        self.insert(key, row.clone());
        Some(row)
    }

    pub(super) fn insert(&mut self, key: K, row: Option<Arc<V>>) {
        if self.young.len() >= self.most / 2 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, row);
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_what_is_asked_for_and_no_more_than_its_bound() {
        let mut cache: Cache<u32, u32> = Cache::new(10);
        for key in 0..1_000 {
            cache.insert(key, Some(Arc::new(key)));
            assert!(cache.young.len() + cache.old.len() <= 10);
            // Asked for all the time, so it stays.
            assert_eq!(cache.get(&0).flatten().as_deref(), Some(&0));
        }
        assert!(cache.get(&500).is_none());
        cache.clear();
        assert!(cache.get(&0).is_none());
    }
}
