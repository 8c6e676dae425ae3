//! The records of one side of a join that have one key, by time and number.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::slab::Slab;

/// A record with its key.
#[derive(Debug)]
pub(super) struct Slot<K, V> {
    /// Time and number.
    pub(super) at: (i64, u64),
    pub(super) key: K,
    pub(super) kept: Kept<V>,
}

/// Whether a record that may stay alone has met a partner, and the record; what is not stored of it lies here because
/// it takes no room there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept<V>(pub(super) bool, pub(super) V, #[serde(skip)] pub(super) Stored);

/// What the store has of a record.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stored {
    /// Whether there is something new about it.
    pub(super) changed: bool,
    /// Whether it is there.
    pub(super) saved: bool,
}

impl Stored {
    /// It has come just now.
    pub(super) const NEW: Self = Self { changed: true, saved: false };
    /// It is there as it is here.
    pub(super) const SAVED: Self = Self { changed: false, saved: true };
}

/// Where the records lie, in order. Most keys have one and get no more; where there are several, most come behind all
/// others and are dropped from the front on.
#[derive(Debug, Default)]
pub(super) enum Line {
    #[default]
    Empty,
    One(usize),
    #[expect(clippy::box_collection, reason = "few keys have several, and each has its place in a table")]
    Many(Box<VecDeque<usize>>),
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::One(_) => false,
            Self::Many(seats) => seats.is_empty(),
        }
    }

    /// Puts a record that lies in the slab in its place.
    #[inline]
    pub(super) fn add<K, V>(&mut self, seat: usize, slab: &Slab<Slot<K, V>>) {
        match self {
            Self::Empty => *self = Self::One(seat),
            Self::One(only) => {
                let mut seats = VecDeque::from([*only]);
                insert(&mut seats, seat, slab);
                *self = Self::Many(Box::new(seats));
            }
            Self::Many(seats) => insert(seats, seat, slab),
        }
    }

    /// Lets a record meet those whose times lie in `[from, to]`; whether it met any. Only a record that may stay
    /// alone, as `keeps` says of these, has to know that it did not.
    #[inline]
    pub(super) fn meet<K, V>(
        &self,
        (from, to): (i64, i64),
        keeps: bool,
        slab: &mut Slab<Slot<K, V>>,
        mut pair: impl FnMut(i64, &V),
    ) -> bool {
        let mut meet = |seat: usize, slab: &mut Slab<Slot<K, V>>| {
            let Some(slot) = slab.get_mut(seat).filter(|slot| slot.at.0 <= to) else { return false };
            let Kept(paired, val, stored) = &mut slot.kept;
            let news = keeps && !*paired;
            *paired |= keeps;
            stored.changed |= news;
            pair(slot.at.0, val);
            if news {
                slab.touch(seat);
            }
            true
        };
        match self {
            // Most keys have records of one side alone.
            Self::Empty => false,
            Self::One(seat) => slab.get(*seat).is_some_and(|slot| slot.at.0 >= from) && meet(*seat, slab),
            Self::Many(seats) => {
                let first = before(seats, slab, |at| at.0 < from);
                seats.range(first..).take_while(|seat| meet(**seat, slab)).count() > 0
            }
        }
    }

    /// Forgets a record, which lies in the slab still.
    pub(super) fn remove<K, V>(&mut self, seat: usize, slab: &Slab<Slot<K, V>>) {
        match self {
            Self::One(only) if *only == seat => *self = Self::Empty,
            Self::Many(seats) if seats.front() == Some(&seat) => {
                seats.pop_front();
            }
            Self::Many(seats) => {
                let Some(slot) = slab.get(seat) else { return };
                let index = before(seats, slab, |at| at < slot.at);
                if seats.get(index) == Some(&seat) {
                    seats.remove(index);
                }
            }
            Self::Empty | Self::One(_) => {}
        }
    }

    /// Whether a record of this time and number is here.
    pub(super) fn has<K, V>(&self, at: (i64, u64), slab: &Slab<Slot<K, V>>) -> bool {
        let is_it = |seat: &usize| slab.get(*seat).is_some_and(|slot| slot.at == at);
        match self {
            Self::Empty => false,
            Self::One(seat) => is_it(seat),
            Self::Many(seats) => seats.get(before(seats, slab, |it| it < at)).is_some_and(is_it),
        }
    }
}

/// How many records stand in front, where `is_before` says that of their times and numbers.
fn before<K, V>(
    seats: &VecDeque<usize>,
    slab: &Slab<Slot<K, V>>,
    is_before: impl Fn((i64, u64)) -> bool,
) -> usize {
    seats.partition_point(|seat| slab.get(*seat).is_some_and(|slot| is_before(slot.at)))
}

fn insert<K, V>(seats: &mut VecDeque<usize>, seat: usize, slab: &Slab<Slot<K, V>>) {
    let at = |seat: usize| slab.get(seat).map(|slot| slot.at);
    let new = at(seat);
    match seats.back() {
        Some(last) if at(*last) > new => {
            let index = seats.partition_point(|seat| at(*seat) < new);
            seats.insert(index, seat);
        }
        _ => seats.push_back(seat),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Records = Slab<Slot<(), u64>>;

    /// What meets a record whose partners lie in `[from, to]`, by number.
    fn met(line: &Line, span: (i64, i64), slab: &mut Records) -> Vec<u64> {
        let mut numbers = Vec::new();
        let any = line.meet(span, true, slab, |_, number| numbers.push(*number));
        assert_eq!(any, !numbers.is_empty());
        numbers
    }

    #[test]
    fn records_stand_in_the_order_of_time_and_number() {
        let (mut line, mut slab) = (Line::default(), Slab::new());
        let mut expected: BTreeMap<(i64, u64), usize> = BTreeMap::new();
        let mut draw = 5_u64;
        for number in 0..3_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let time = ((draw >> 33) % 40) as i64;
            // It grows, shrinks until nothing is left, and grows again.
            if (draw >> 50) % 8 < if number / 500 % 2 == 0 { 6 } else { 1 } {
                let at = (time, number);
                assert!(!line.has(at, &slab));
                let seat = slab.put(Slot { at, key: (), kept: Kept(false, number, Stored::NEW) });
                line.add(seat, &slab);
                assert!(line.has(at, &slab));
                expected.insert(at, seat);
            } else if let Some((&at, &seat)) = expected.range((time, 0)..).next() {
                line.remove(seat, &slab);
                slab.take(seat);
                expected.remove(&at);
                assert!(!line.has(at, &slab));
            }
            assert_eq!(line.is_empty(), expected.is_empty());
            let span = (time - 5, time + 5);
            let partners = expected.range((span.0, 0)..=(span.1, u64::MAX)).map(|((_, number), _)| *number);
            assert!(met(&line, span, &mut slab).into_iter().eq(partners), "record {number}");
        }
    }

    #[test]
    fn a_partner_is_news_once_and_where_somebody_asks() {
        let (mut line, mut slab) = (Line::default(), Slab::new());
        for number in 0..2 {
            let kept = Kept(false, number, Stored::SAVED);
            let seat = slab.put(Slot { at: (number as i64, number), key: (), kept });
            line.add(seat, &slab);
        }
        // How many of the records that have met a partner are to be stored again.
        let news = |slab: &mut Records| {
            let changed = slab.touched().filter(|slot| slot.kept.2.changed);
            changed.map(|slot| slot.kept.2 = Stored::SAVED).count()
        };
        assert_eq!(news(&mut slab), 0);
        assert!(line.meet((0, 0), false, &mut slab, |_, _| {}));
        assert_eq!(news(&mut slab), 0);
        assert!(line.meet((0, 0), true, &mut slab, |_, _| {}));
        assert_eq!(news(&mut slab), 1);
        assert!(line.meet((0, 1), true, &mut slab, |_, _| {}));
        assert_eq!(news(&mut slab), 1);
    }
}
