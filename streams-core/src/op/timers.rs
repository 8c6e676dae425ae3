//! When to look at which key, where a time that has come may turn out to be too early.
//!
//! A key that is heard of again and again moves its time with every record. It is put down once, and asked again when
//! its time is near: then it is either near indeed, or put down again. So a record costs nothing here, and only what
//! is near is kept in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Times with their keys.
#[derive(Debug)]
pub(super) struct Timers<K> {
    /// In front of everything else, the first one last.
    near: Vec<(i64, K)>,
    /// What is near ends with this time.
    near_to_ms: i64,
    /// What was put down when its time was near already.
    next: BinaryHeap<Reverse<(i64, K)>>,
    /// Stretches of time in a row, each in no order.
    soon: VecDeque<Vec<(i64, K)>>,
    /// The number of the first of them.
    soon_from: i64,
    /// Stretches that lie elsewhere.
    far: BTreeMap<i64, Vec<(i64, K)>>,
    /// An emptied stretch, for the next one.
    spare: Vec<(i64, K)>,
    /// A stretch is two to the power of this many ms long.
    shift: u32,
}

/// Within the time that keys mostly have ahead of them lie from so many stretches to twice as many. With shorter ones
/// a key is put down again more often while it is heard of, with longer ones more keys are in order that move still.
const STRETCHES: i64 = 8;

/// So many stretches in a row are kept.
const SOON: usize = 256;

impl<K: Ord> Timers<K> {
    /// For times that lie mostly up to `ahead_ms` ahead.
    pub(super) fn new(ahead_ms: i64) -> Self {
        Self {
            near: Vec::new(),
            near_to_ms: i64::MIN,
            next: BinaryHeap::new(),
            soon: VecDeque::new(),
            soon_from: 0,
            far: BTreeMap::new(),
            spare: Vec::new(),
            shift: (ahead_ms / STRETCHES).max(1).ilog2(),
        }
    }

    pub(super) fn push(&mut self, at_ms: i64, key: K) {
        if at_ms <= self.near_to_ms {
            return self.next.push(Reverse((at_ms, key)));
        }
        let stretch = at_ms >> self.shift;
        if self.soon.is_empty() {
            self.soon_from = stretch;
        }
        let ahead = stretch.checked_sub(self.soon_from).map(usize::try_from);
        let index = ahead.and_then(Result::ok).unwrap_or(usize::MAX);
        if let Some(soon) = self.soon.get_mut(index) {
            soon.push((at_ms, key));
        } else if index < SOON {
            self.soon.resize_with(index, Vec::new);
            let mut new = std::mem::take(&mut self.spare);
            new.push((at_ms, key));
            self.soon.push_back(new);
        } else {
            self.far.entry(stretch).or_default().push((at_ms, key));
        }
    }

    /// The first time. `due` is asked for the time by now of keys that come near, none where they need not be looked
    /// at: the time of a key may have moved back, but not in front of the one that was put down.
    pub(super) fn first(&mut self, mut due: impl FnMut(i64, &K) -> Option<i64>) -> Option<i64> {
        while self.near.is_empty() && self.next.is_empty() {
            while self.soon.front().is_some_and(Vec::is_empty) {
                self.soon.pop_front();
                self.soon_from = self.soon_from.wrapping_add(1);
            }
            let soon = self.soon.front().map(|_| self.soon_from);
            let far = self.far.first_key_value().map(|(stretch, _)| *stretch);
            let stretch = soon.into_iter().chain(far).min()?;
            let mut keys = Vec::new();
            if soon == Some(stretch) {
                keys = self.soon.pop_front().unwrap_or_default();
                self.soon_from = self.soon_from.wrapping_add(1);
            }
            if far == Some(stretch) {
                keys.append(&mut self.far.remove(&stretch).unwrap_or_default());
            }
            self.near_to_ms = (stretch << self.shift) | ((1 << self.shift) - 1);
            for (at_ms, key) in keys.drain(..) {
                match due(at_ms, &key) {
                    Some(at_ms) if at_ms <= self.near_to_ms => self.near.push((at_ms, key)),
                    Some(at_ms) => self.push(at_ms, key),
                    None => {}
                }
            }
            self.near.sort_unstable_by(|one, other| other.cmp(one));
            self.spare = keys;
        }
        let near = self.near.last().map(|(at_ms, _)| *at_ms);
        let next = self.next.peek().map(|Reverse((at_ms, _))| *at_ms);
        near.into_iter().chain(next).min()
    }

    /// Takes out the first key with its time, of those that [`Self::first`] has seen.
    pub(super) fn pop(&mut self) -> Option<(i64, K)> {
        match (self.near.last(), self.next.peek()) {
            (Some(near), Some(Reverse(next))) if next < near => self.next.pop().map(|Reverse(first)| first),
            (None, _) => self.next.pop().map(|Reverse(first)| first),
            _ => self.near.pop(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.near.clear();
        self.next.clear();
        self.soon.clear();
        self.far.clear();
        self.near_to_ms = i64::MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(timers: &mut Timers<u32>, mut due: impl FnMut(i64, &u32) -> Option<i64>) -> Vec<(i64, u32)> {
        std::iter::from_fn(|| {
            timers.first(&mut due)?;
            timers.pop()
        })
        .collect()
    }

    #[track_caller]
    fn check(ahead_ms: i64, times: &[i64]) {
        let mut timers = Timers::new(ahead_ms);
        let mut expected: Vec<(i64, u32)> = times.iter().copied().zip((0..2_000).rev()).collect();
        expected.iter().for_each(|&(at_ms, key)| timers.push(at_ms, key));
        expected.sort_unstable();
        assert_eq!(drain(&mut timers, |at_ms, _| Some(at_ms)), expected, "{times:?}");
        assert_eq!(timers.first(|at_ms, _| Some(at_ms)), None);
    }

    #[test]
    fn keys_come_in_the_order_of_time_and_key() {
        let ends = [i64::MAX, 3, i64::MIN, -1, 0, i64::MIN + 1, i64::MAX - 1];
        let near = [700, -5, -5, 699, 12, 700, 701, 640, 639, -64];
        // Some go round all stretches that are kept in a row.
        let spread: Vec<i64> = (0..2_000).map(|n| n * 7_919 % 5_000 - 1_000).collect();
        for ahead_ms in [0, 1, 64, 640, 10_000, i64::MAX] {
            check(ahead_ms, &ends);
            check(ahead_ms, &near);
            check(ahead_ms, &spread);
        }
    }

    #[test]
    fn a_time_may_come_in_front_of_all_others() {
        let mut timers = Timers::new(640);
        timers.push(700, 1);
        timers.push(500, 2);
        assert_eq!(timers.first(|at_ms, _| Some(at_ms)), Some(500));
        timers.push(-20, 7);
        timers.push(800, 8);
        let found = drain(&mut timers, |at_ms, _| Some(at_ms));
        assert_eq!(found, [(-20, 7), (500, 2), (700, 1), (800, 8)]);
    }

    #[test]
    fn a_key_that_comes_near_says_its_time_again() {
        let mut timers = Timers::new(64);
        [(10, 1), (10, 2), (10, 3), (12, 4)].into_iter().for_each(|(at_ms, key)| timers.push(at_ms, key));
        // The first moves back and the second is gone.
        let due = |at_ms, key: &u32| match key {
            1 if at_ms == 10 => Some(40),
            2 => None,
            _ => Some(at_ms),
        };
        assert_eq!(drain(&mut timers, due), [(10, 3), (12, 4), (40, 1)]);
    }
}
