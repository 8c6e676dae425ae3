//! The records of a pane in the order in which they came, those of one key and side linked from the newest back.

use hashbrown::HashMap;

use crate::join::Side;
use crate::key::Key;

/// A key costs a place in the table and nothing on its own, however few records it has.
#[derive(Debug)]
pub(super) struct Pane<K, A, B> {
    pub(super) keys: HashMap<K, Newest>,
    pub(super) left: Vec<Kept<A>>,
    pub(super) right: Vec<Kept<B>>,
    /// Whether records have come since the last checkpoint.
    pub(super) touched: bool,
    /// Whether the store has rows of it.
    pub(super) saved: bool,
}

/// Where the newest record of each side of a key stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    pub(super) left: usize,
    pub(super) right: usize,
}

/// A record, its number, and where the one before it stands.
#[derive(Debug)]
pub(super) struct Kept<V> {
    pub(super) number: u64,
    before: usize,
    pub(super) val: V,
}

/// No record stands there.
pub(super) const NOWHERE: usize = usize::MAX;

impl<K: Key, A, B> Pane<K, A, B> {
    pub(super) fn new() -> Self {
        Self { keys: HashMap::new(), left: Vec::new(), right: Vec::new(), touched: false, saved: false }
    }

    /// Takes in a record.
    #[inline]
    pub(super) fn put(&mut self, key: K, number: u64, val: Side<A, B>) {
        let newest = self.keys.entry(key).or_insert(Newest { left: NOWHERE, right: NOWHERE });
        match val {
            Side::Left(left) => link(&mut self.left, &mut newest.left, number, left),
            Side::Right(right) => link(&mut self.right, &mut newest.right, number, right),
        }
    }
}

/// Puts a record behind those of its key with smaller numbers. Stored records come in the order of their numbers, but
/// behind what has come to the machine meanwhile.
#[inline]
fn link<V>(records: &mut Vec<Kept<V>>, newest: &mut usize, number: u64, val: V) {
    let (place, mut before, mut behind) = (records.len(), *newest, None);
    while let Some(newer) = records.get(before).filter(|kept| kept.number > number) {
        behind = Some(before);
        before = newer.before;
    }
    records.push(Kept { number, before, val });
    match behind.and_then(|behind| records.get_mut(behind)) {
        Some(behind) => behind.before = place,
        None => *newest = place,
    }
}

/// The records of a key, from the newest back.
pub(super) fn back_from<V>(records: &[Kept<V>], newest: usize) -> impl Iterator<Item = &Kept<V>> {
    std::iter::successors(records.get(newest), |kept| records.get(kept.before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(numbers: &[u64], expected: &[u64]) {
        let mut pane: Pane<u8, u64, ()> = Pane::new();
        for &number in numbers {
            pane.put(1, number, Side::Left(number));
            pane.put(2, number, Side::Right(()));
        }
        let newest = pane.keys.get(&1).unwrap();
        let found: Vec<u64> = back_from(&pane.left, newest.left).map(|kept| kept.val).collect();
        assert_eq!(found, expected, "from {numbers:?}");
        assert_eq!(back_from(&pane.right, newest.right).count(), 0, "the other side has none of this key");
    }

    #[test]
    fn records_of_a_key_are_in_the_order_of_their_numbers() {
        check(&[1], &[1]);
        check(&[1, 2, 5], &[5, 2, 1]);
        check(&[7, 8, 1, 2, 9, 3], &[9, 8, 7, 3, 2, 1]);
    }
}
