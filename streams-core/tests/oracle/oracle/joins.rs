//! Joins of the oracle: every record of one side is held against every one of the other.

use crate::event::{Event, change, pair};
use crate::menu::Key;
use crate::oracle::aggregates::{Windows, cut};
use crate::oracle::{Counts, Element, Mutation, What, merge};
use crate::plan::{Bound, Join, Kind};

/// One record of a side.
struct Given {
    side: usize,
    at: i64,
    key: Key,
    event: Event,
}

/// The rows that one element makes, in front of itself if it is no record.
struct Out {
    elements: Vec<Element>,
    /// The element that is gone through, and how many it has made.
    cause: Option<(Element, usize)>,
}

impl Out {
    fn begin(&mut self, cause: &Element) {
        self.cause = Some((cause.clone(), 0));
    }

    fn next(&mut self, what: What) {
        let (cause, number) = self.cause.as_mut().expect("an element is gone through");
        self.elements.push(cause.child(*number, what));
        *number += 1;
    }

    fn row(&mut self, at: i64, key: &Key, left: Option<&Event>, right: Option<&Event>) {
        self.next(What::Record { at, key: Some(key.clone()), event: pair(left, right) });
    }
}

/// The rows of a join.
pub(crate) fn join(
    left: Vec<Element>,
    right: Vec<Element>,
    join: Join,
    mutation: Mutation,
    counts: &mut Counts,
) -> Vec<Element> {
    let both = merge(left, right);
    let mut out = Out { elements: Vec::new(), cause: None };
    match join.bound {
        Bound::Tumbling(size) => in_windows(both, join.kind, (size, size), mutation, counts, &mut out),
        Bound::Hopping(size, slide) => in_windows(both, join.kind, (size, slide), mutation, counts, &mut out),
        Bound::Within(before, after) => near(both, join.kind, (before, after), mutation, counts, &mut out),
        Bound::Table(ttl) => table(both, join.kind, ttl, &mut out),
    }
    out.elements
}

fn given(side: usize, element: &Element) -> Option<Given> {
    match &element.what {
        What::Record { at, key, event } => {
            let key = key.clone().expect("the sides of a join are keyed");
            Some(Given { side, at: *at, key, event: event.clone() })
        }
        What::Mark(_) | What::End => None,
    }
}

/// One window of one key.
struct Pile {
    end: i128,
    start: i128,
    key: Key,
    sides: [Vec<Event>; 2],
}

fn in_windows(
    both: Vec<(usize, Element)>,
    kind: Kind,
    (size, slide): (u64, u64),
    mutation: Mutation,
    counts: &mut Counts,
    out: &mut Out,
) {
    let mutation = if mutation == Mutation::JoinWindow { Mutation::WindowEnd } else { mutation };
    let spans = Windows { size: i128::from(size), slide: i128::from(slide), mutation };
    let mut piles: Vec<Pile> = Vec::new();
    let mut time = i64::MIN;
    for (side, element) in both {
        out.begin(&element);
        if let Some(Given { side, at, key, event }) = given(side, &element) {
            let around = spans.around(at);
            if spans.is_late(around[0].1, time) {
                counts.late += 1;
                continue;
            }
            for (start, end) in around.into_iter().filter(|&(_, end)| !spans.fires(end, time)) {
                let known = piles.iter().position(|pile| pile.start == start && pile.key == key);
                let index = known.unwrap_or_else(|| {
                    piles.push(Pile { end, start, key: key.clone(), sides: [Vec::new(), Vec::new()] });
                    piles.len() - 1
                });
                piles[index].sides[side].push(event.clone());
            }
            continue;
        }
        let mut due: Vec<Pile> = Vec::new();
        match element.what {
            What::Mark(mark) => {
                time = mark;
                (due, piles) = piles.into_iter().partition(|pile| spans.fires(pile.end, mark));
            }
            _ => due.append(&mut piles),
        }
        due.sort_by(|a, b| (a.end, a.start, &a.key).cmp(&(b.end, b.start, &b.key)));
        for Pile { end, key, sides: [lefts, rights], .. } in due {
            let at = cut(end - 1);
            for left in &lefts {
                for right in &rights {
                    out.row(at, &key, Some(left), Some(right));
                }
                if rights.is_empty() && kind.keeps_left() {
                    out.row(at, &key, Some(left), None);
                }
            }
            for right in rights.iter().filter(|_| lefts.is_empty() && kind.keeps_right()) {
                out.row(at, &key, None, Some(right));
            }
        }
        out.next(element.what.clone());
    }
}

/// A record that was not late, in the order of arrival; nothing is ever dropped here.
struct Kept {
    given: Given,
    /// The last time at which a partner may come.
    due: i128,
    /// It has met a partner, or it was said that it will not.
    done: bool,
}

fn near(
    both: Vec<(usize, Element)>,
    kind: Kind,
    (before, after): (u64, u64),
    mutation: Mutation,
    counts: &mut Counts,
    out: &mut Out,
) {
    let (mut before, mut after) = (i128::from(before), i128::from(after));
    match mutation {
        Mutation::Before => before += 1,
        Mutation::After => after += 1,
        _ => {}
    }
    let mut kept: Vec<Kept> = Vec::new();
    let mut time = i64::MIN;
    for (side, element) in both {
        out.begin(&element);
        let Some(given) = given(side, &element) else {
            let mark = match element.what {
                What::Mark(mark) => {
                    time = mark;
                    i128::from(mark)
                }
                _ => i128::MAX,
            };
            let passed = |due: i128| if mutation == Mutation::Alone { due <= mark } else { due < mark };
            let mut alone: Vec<&mut Kept> =
                kept.iter_mut().filter(|kept| !kept.done && passed(kept.due)).collect();
            // Stable, so that what came first stays first.
            alone.sort_by(|a, b| {
                (cut(a.due), &a.given.key, a.given.side).cmp(&(cut(b.due), &b.given.key, b.given.side))
            });
            for kept in alone {
                kept.done = true;
                let Given { side, key, event, .. } = &kept.given;
                match side {
                    0 if kind.keeps_left() => out.row(cut(kept.due), key, Some(event), None),
                    1 if kind.keeps_right() => out.row(cut(kept.due), key, None, Some(event)),
                    _ => {}
                }
            }
            out.next(element.what.clone());
            continue;
        };
        if given.at < time {
            counts.late += 1;
            continue;
        }
        let due = i128::from(given.at) + if given.side == 0 { after } else { before };
        let mut partners: Vec<&mut Kept> = kept
            .iter_mut()
            .filter(|other| other.given.side != given.side && other.given.key == given.key)
            .filter(|other| {
                let (left, right) =
                    if given.side == 0 { (&given, &other.given) } else { (&other.given, &given) };
                let ahead = i128::from(right.at) - i128::from(left.at);
                -before <= ahead && ahead <= after
            })
            .collect();
        partners.sort_by_key(|other| other.given.at);
        let done = !partners.is_empty();
        for other in partners {
            other.done = true;
            let at = given.at.max(other.given.at);
            let (left, right) = if given.side == 0 { (&given, &other.given) } else { (&other.given, &given) };
            out.row(at, &given.key, Some(&left.event), Some(&right.event));
        }
        kept.push(Kept { given, due, done });
    }
}

fn table(both: Vec<(usize, Element)>, kind: Kind, ttl: Option<u64>, out: &mut Out) {
    let mut rows: Vec<(Key, i64, Event)> = Vec::new();
    let mut time = i64::MIN;
    for (side, element) in both {
        out.begin(&element);
        let Some(Given { side, at, key, event }) = given(side, &element) else {
            if let What::Mark(mark) = element.what {
                time = mark;
            }
            out.next(element.what.clone());
            continue;
        };
        if side == 1 {
            rows.retain(|(other, ..)| *other != key);
            rows.extend(change(event).map(|row| (key, at, row)));
            continue;
        }
        let lives = |last: i64| ttl.is_none_or(|ttl| i128::from(last) + i128::from(ttl) > i128::from(time));
        match rows.iter().find(|(other, last, _)| *other == key && lives(*last)) {
            Some((.., row)) => out.row(at, &key, Some(&event), Some(row)),
            None if kind.keeps_left() => out.row(at, &key, Some(&event), None),
            None => {}
        }
    }
}
