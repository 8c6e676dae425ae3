//! The records of a pane in the order in which they came. Which of them belong together is asked when a window fires,
//! so that one that comes costs no search.

use super::blocks::Blocks;
use crate::join::Side;

#[derive(Debug)]
pub(super) struct Pane<K, A, B> {
    pub(super) left: Blocks<Kept<K, A>>,
    pub(super) right: Blocks<Kept<K, B>>,
    /// How many records of each side there were at the last checkpoint.
    saw: (usize, usize),
    /// Whether the store has rows of it.
    pub(super) saved: bool,
}

/// A record with its key and number.
#[derive(Debug)]
pub(super) struct Kept<K, V> {
    pub(super) key: K,
    pub(super) number: u64,
    pub(super) val: V,
}

impl<K, A, B> Pane<K, A, B> {
    pub(super) fn new() -> Self {
        Self { left: Blocks::new(), right: Blocks::new(), saw: (0, 0), saved: false }
    }

    /// Takes in a record. Stored ones may come behind those that have come to the machine meanwhile.
    #[inline]
    pub(super) fn put(&mut self, key: K, number: u64, val: Side<A, B>) {
        match val {
            Side::Left(val) => self.left.push(Kept { key, number, val }),
            Side::Right(val) => self.right.push(Kept { key, number, val }),
        }
    }

    /// Where the records of each side begin that were put in since this was asked last; none where none were.
    pub(super) fn new_from(&mut self) -> Option<(usize, usize)> {
        let now = (self.left.len(), self.right.len());
        let saw = std::mem::replace(&mut self.saw, now);
        (saw != now).then_some(saw)
    }
}

/// Where the newest record of each side of a key stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    pub(super) left: usize,
    pub(super) right: usize,
}

impl Newest {
    pub(super) const NONE: Self = Self { left: NOWHERE, right: NOWHERE };
}

/// No record stands there.
pub(super) const NOWHERE: usize = usize::MAX;

/// The records of one side of a window, each with the place of the one of its key before it.
pub(super) type Linked<'a, K, V> = Vec<(&'a Kept<K, V>, usize)>;

#[inline]
pub(super) fn link<'a, K, V>(records: &mut Linked<'a, K, V>, newest: &mut usize, kept: &'a Kept<K, V>) {
    let before = std::mem::replace(newest, records.len());
    records.push((kept, before));
}

/// Makes `into` the records of a key in the order of their numbers.
pub(super) fn of_key<'a, K, V>(records: &Linked<'a, K, V>, newest: usize, into: &mut Vec<&'a Kept<K, V>>) {
    into.clear();
    let back = std::iter::successors(records.get(newest), |(_, before)| records.get(*before));
    into.extend(back.map(|(kept, _)| *kept));
    into.sort_unstable_by_key(|kept| kept.number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(numbers: &[u64], expected: &[u64]) {
        let mut pane: Pane<u8, (), ()> = Pane::new();
        for &number in numbers {
            pane.put(1, number, Side::Left(()));
            pane.put(2, number, Side::Left(()));
        }
        let (mut records, mut found, mut newest) = (Vec::new(), Vec::new(), [NOWHERE; 3]);
        for kept in pane.left.iter() {
            link(&mut records, &mut newest[usize::from(kept.key)], kept);
        }
        for key in [1, 2] {
            of_key(&records, newest[key], &mut found);
            let numbers: Vec<u64> = found.iter().map(|kept| kept.number).collect();
            assert_eq!(numbers, expected, "of {key}");
        }
        of_key(&records, newest[0], &mut found);
        assert!(found.is_empty(), "no record has this key");
    }

    #[test]
    fn records_of_a_key_are_in_the_order_of_their_numbers() {
        check(&[1], &[1]);
        check(&[1, 2, 5], &[1, 2, 5]);
        check(&[7, 8, 1, 2, 9, 3], &[1, 2, 3, 7, 8, 9]);
    }

    #[test]
    fn what_came_since_the_last_checkpoint_is_told_once() {
        let mut pane: Pane<u8, (), ()> = Pane::new();
        assert_eq!(pane.new_from(), None);
        pane.put(1, 0, Side::Left(()));
        assert_eq!(pane.new_from(), Some((0, 0)));
        assert_eq!(pane.new_from(), None);
        pane.put(1, 1, Side::Right(()));
        assert_eq!(pane.new_from(), Some((1, 0)));
    }
}
