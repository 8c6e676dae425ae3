//! Windows and running aggregates of the oracle: find the records that belong together, then go over them.

use crate::event::Event;
use crate::menu::{BYTES, FLOATS, Group, INSTANTS, Key, SIGNED, TEXTS, UNSIGNED};
use crate::oracle::{Counts, Element, Mutation, What};
use crate::plan::{FIELDS, Fields};

/// How time is cut, and what is wrong with it on purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    pub(crate) size: i128,
    pub(crate) slide: i128,
    pub(crate) mutation: Mutation,
}

impl Windows {
    /// Start and end of every window that holds `at`, the last one first.
    pub(crate) fn around(self, at: i64) -> Vec<(i128, i128)> {
        let (at, slide) = (i128::from(at), self.slide);
        let length = if self.mutation == Mutation::WindowEnd { self.size + 1 } else { self.size };
        // A division cuts towards zero, so a start above `at` is one too far.
        let mut start = at / slide * slide;
        if start > at {
            start -= slide;
        }
        let mut found = Vec::new();
        while start + length > at {
            found.push((start, start + length));
            start -= slide;
        }
        found
    }

    /// The number of the part of time around `at` that no window divides: parts are as long as the longest time
    /// that goes into size and slide.
    fn part(self, at: i64) -> i128 {
        let longest = (1..=self.slide).rev().find(|n| self.size % n == 0 && self.slide % n == 0);
        i128::from(at).div_euclid(longest.unwrap_or(1))
    }

    /// Whether a window that ends at `end` fires when event time reaches `mark`.
    pub(crate) fn fires(self, end: i128, mark: i64) -> bool {
        let mark = i128::from(mark);
        if self.mutation == Mutation::Firing { end < mark } else { end <= mark }
    }

    pub(crate) fn is_late(self, last_end: i128, mark: i64) -> bool {
        let mark = i128::from(mark);
        if self.mutation == Mutation::Lateness { last_end < mark } else { last_end <= mark }
    }
}

/// One window of one key.
struct Pile {
    end: i128,
    start: i128,
    key: Key,
    /// In order of their parts, the numbers of which stand beside them.
    rows: Vec<Event>,
    parts: Vec<i128>,
}

impl Pile {
    /// Puts a record behind those of its part and all before it.
    fn put(&mut self, part: i128, event: Event) {
        let at = self.parts.iter().position(|other| *other > part).unwrap_or(self.parts.len());
        self.parts.insert(at, part);
        self.rows.insert(at, event);
    }
}

/// The results of all windows and the late records, each with event time.
pub(crate) fn windows(
    elements: &[Element],
    spans: Windows,
    fields: Fields,
    counts: &mut Counts,
) -> (Vec<Element>, Vec<Element>) {
    let (mut piles, late) = gather(elements, spans, counts);
    piles.sort_by(|a, b| (a.end, a.start, &a.key).cmp(&(b.end, b.start, &b.key)));
    let mut out = Vec::new();
    for element in elements {
        let due: Vec<Pile> = match element.what {
            What::Record { .. } => continue,
            What::Mark(mark) => {
                let (due, rest) = piles.into_iter().partition(|pile| spans.fires(pile.end, mark));
                piles = rest;
                due
            }
            What::End => std::mem::take(&mut piles),
        };
        // Results come in front of what made them fire; those of one element come before its late ones.
        let mut number = 0;
        let mut next = |what| {
            let mut child = element.child(0, what);
            child.path.push(number);
            number += 1;
            out.push(child);
        };
        for pile in due {
            let group = Group {
                key: &pile.key,
                start: cut(pile.start),
                end: cut(pile.end),
                fired: 1,
                rows: &pile.rows,
            };
            if let Some(event) = result(fields, &group, counts) {
                next(What::Record { at: cut(pile.end - 1), key: Some(pile.key), event });
            }
        }
        next(element.what.clone());
    }
    (out, late)
}

/// Puts every record into all its windows that have not fired, or among the late ones.
fn gather(elements: &[Element], spans: Windows, counts: &mut Counts) -> (Vec<Pile>, Vec<Element>) {
    let mut piles: Vec<Pile> = Vec::new();
    let mut late = Vec::new();
    let mut time = i64::MIN;
    for element in elements {
        let (at, key, event) = match &element.what {
            What::Record { at, key, event } => (*at, key.as_ref().expect("windows are keyed"), event),
            What::Mark(mark) => {
                time = *mark;
                late.push(element.child(1, What::Mark(*mark)));
                continue;
            }
            What::End => {
                late.push(element.child(1, What::End));
                continue;
            }
        };
        let around = spans.around(at);
        let last_end = around.first().expect("every time is in a window").1;
        if spans.is_late(last_end, time) {
            counts.late += 1;
            late.push(element.child(1, element.what.clone()));
            continue;
        }
        for (start, end) in around.into_iter().filter(|&(_, end)| !spans.fires(end, time)) {
            match piles.iter_mut().find(|pile| pile.start == start && pile.key == *key) {
                Some(pile) => pile.put(spans.part(at), event.clone()),
                None => {
                    let (rows, parts) = (vec![event.clone()], vec![spans.part(at)]);
                    piles.push(Pile { end, start, key: key.clone(), rows, parts });
                }
            }
        }
    }
    (piles, late)
}

/// One result per record, over the records of its key that have not been forgotten.
pub(crate) fn running(
    elements: &[Element],
    ttl: Option<i128>,
    fields: Fields,
    counts: &mut Counts,
) -> Vec<Element> {
    // Key, largest time, records.
    let mut known: Vec<(Key, i64, Vec<Event>)> = Vec::new();
    let mut time = i64::MIN;
    let mut out = Vec::new();
    for element in elements {
        let (at, key, event) = match &element.what {
            What::Record { at, key, event } => (*at, key.as_ref().expect("running is keyed"), event),
            What::Mark(mark) => {
                time = *mark;
                out.push(element.clone());
                continue;
            }
            What::End => {
                out.push(element.clone());
                continue;
            }
        };
        if let Some(ttl) = ttl {
            known.retain(|(other, last, _)| other != key || i128::from(*last) + ttl > i128::from(time));
        }
        if !known.iter().any(|(other, ..)| other == key) {
            known.push((key.clone(), at, Vec::new()));
        }
        let found = known.iter_mut().find(|(other, ..)| other == key);
        let (_, last, rows) = found.expect("the key was put there if it was missing");
        *last = at.max(*last);
        rows.push(event.clone());
        let group = Group { key, start: 0, end: 0, fired: 1, rows };
        if let Some(event) = result(fields, &group, counts) {
            out.push(Element {
                path: element.path.clone(),
                what: What::Record { at, key: Some(key.clone()), event },
            });
        }
    }
    out
}

/// The literal of the aggregate; no result when one of its parts has no value.
pub(super) fn result(fields: Fields, group: &Group<'_>, counts: &mut Counts) -> Option<Event> {
    let parts = (
        (BYTES[fields.k].run)(group),
        (TEXTS[fields.s].run)(group),
        (SIGNED[fields.v].run)(group),
        (UNSIGNED[fields.u].run)(group),
        (FLOATS[fields.f].run)(group),
        (INSTANTS[fields.at].run)(group),
    );
    let present = [
        parts.0.is_some(),
        parts.1.is_some(),
        parts.2.is_some(),
        parts.3.is_some(),
        parts.4.is_some(),
        parts.5.is_some(),
    ];
    for ((kind, text), present) in FIELDS.into_iter().zip(fields.texts()).zip(present) {
        counts.reach((kind, text), if present { [1, 0, 0] } else { [0, 0, 1] });
    }
    let (Some(k), Some(s), Some(v), Some(u), Some(f), Some(at)) = parts else {
        counts.rejects += 1;
        return None;
    };
    Some(Event { k, s, v, u, f, at })
}

/// The nearest time that there is.
pub(crate) fn cut(at: i128) -> i64 {
    i64::try_from(at).unwrap_or(if at > 0 { i64::MAX } else { i64::MIN })
}
