//! Which rows have changed, in half a byte or less for each.
//!
//! A flag in each row would make it up to eight bytes longer, and a table that no longer fits into a cache costs more
//! than all else that a record does. Keys that share a bit are taken for changed together: a row that is written once
//! more than needed is no harm.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

/// A bit for each of several hashes.
#[derive(Debug)]
pub(super) struct Marks {
    /// A power of two of them.
    words: Vec<u64>,
    /// The same in every run, so that what is written is too.
    hasher: FixedState,
}

/// So many bits there are for each row: where most rows have changed, about one of five of the others is taken for
/// changed, and where few have, hardly any.
const BITS: usize = 4;

impl Marks {
    /// No mark, with room for so many rows.
    pub(super) fn new(n_rows: usize) -> Self {
        Self { words: vec![0; n_words(n_rows)], hasher: FixedState::with_seed(0) }
    }

    /// A mark for each of these keys.
    pub(super) fn of<'a, K: Hash + 'a>(keys: impl ExactSizeIterator<Item = &'a K>) -> Self {
        let mut marks = Self::new(keys.len());
        keys.for_each(|key| marks.set(key));
        marks
    }

    #[inline]
    fn place(&self, key: &impl Hash) -> (usize, u64) {
        let hash = self.hasher.hash_one(key) as usize;
        ((hash / 64) & (self.words.len() - 1), 1 << (hash % 64))
    }

    #[inline]
    pub(super) fn set(&mut self, key: &impl Hash) {
        let (word, bit) = self.place(key);
        if let Some(word) = self.words.get_mut(word) {
            *word |= bit;
        }
    }

    pub(super) fn has(&self, key: &impl Hash) -> bool {
        let (word, bit) = self.place(key);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Makes room for so many rows; no mark is lost.
    pub(super) fn make_room(&mut self, n_rows: usize) {
        while self.words.len() < n_words(n_rows) {
            // A key whose place was in the first half may have it in either one now.
            self.words.extend_from_within(..);
        }
    }
}

fn n_words(n_rows: usize) -> usize {
    (n_rows * BITS / 64).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_marked_stays_so_whatever_room_is_made() {
        let mut marks = Marks::new(0);
        for key in 0..10_u64 {
            marks.set(&key);
        }
        marks.make_room(5_000);
        for key in 10..1_000_u64 {
            marks.set(&key);
        }
        marks.make_room(20_000);
        assert!((0..1_000_u64).all(|key| marks.has(&key)));
    }

    #[test]
    fn few_others_are_taken_for_marked() {
        let marks = Marks::of((0..1_000_u64).collect::<Vec<_>>().iter());
        assert!((0..1_000_u64).all(|key| marks.has(&key)));
        let others = (1_000..11_000_u64).filter(|key| marks.has(key)).count();
        assert!(others < 3_000, "{others} of 10,000");
    }
}
