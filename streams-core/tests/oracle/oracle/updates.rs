//! Windows of the oracle that give more than one result, and sessions: a list of what is open, gone through in full
//! at every step.

use crate::event::Event;
use crate::menu::{Group, Key};
use crate::oracle::aggregates::{cut, result};
use crate::oracle::{Counts, Element, Mutation, What};
use crate::plan::{Cut, Fields, Span};

/// One window of one key.
struct Pile {
    start: i128,
    end: i128,
    key: Key,
    /// All records, or those since the last result; in windows that overlap in order of their parts.
    rows: Vec<(i128, Event)>,
    /// Whether a record came since the last result.
    fresh: bool,
    /// Whether it, or a part of it, was over.
    fired: bool,
}

/// One evaluation of such a window.
pub(super) struct Cutting {
    cut: Cut,
    mutation: Mutation,
    fields: Fields,
    piles: Vec<Pile>,
    time: i128,
}

const EARLY: u64 = 0;
const FINAL: u64 = 1;
const UPDATE: u64 = 2;

impl Cutting {
    pub(super) fn new(cut: Cut, mutation: Mutation, fields: Fields) -> Self {
        Self { cut, mutation, fields, piles: Vec::new(), time: i128::from(i64::MIN) }
    }

    /// The results and the late records.
    pub(super) fn run(mut self, elements: &[Element], counts: &mut Counts) -> (Vec<Element>, Vec<Element>) {
        let (mut out, mut late) = (Vec::new(), Vec::new());
        for element in elements {
            let mut results = Vec::new();
            match &element.what {
                What::Record { at, key, event } => {
                    let key = key.as_ref().expect("windows are keyed");
                    if !self.take(i128::from(*at), key, event, &mut results, counts) {
                        counts.late += 1;
                        late.push(element.child(1, element.what.clone()));
                    }
                }
                What::Mark(mark) => {
                    self.pass(i128::from(*mark), &mut results, counts);
                    late.push(element.child(1, element.what.clone()));
                }
                What::End => {
                    self.finals(i128::MAX, &mut results, counts);
                    self.piles.clear();
                    late.push(element.child(1, element.what.clone()));
                }
            }
            if !matches!(element.what, What::Record { .. }) {
                results.push(element.what.clone());
            }
            for (number, what) in results.into_iter().enumerate() {
                let mut child = element.child(0, what);
                child.path.push(number);
                out.push(child);
            }
        }
        (out, late)
    }

    fn lateness(&self) -> i128 {
        let planted = i128::from(self.mutation == Mutation::Allowance);
        i128::from(self.cut.lateness_ms) + planted
    }

    /// Event time reaches `mark`: what ends up to the first moment of early results, these, then what ends later.
    fn pass(&mut self, mark: i128, results: &mut Vec<What>, counts: &mut Counts) {
        if let Some(early_ms) = self.cut.early_ms.map(i128::from) {
            let mut moment = self.time - self.time.rem_euclid(early_ms) + early_ms;
            if self.mutation == Mutation::Early {
                moment += 1;
            }
            if moment <= mark {
                self.finals(moment, results, counts);
                let time = self.time;
                self.show(|pile| (pile.end > time && pile.fresh).then_some(EARLY), results, counts);
            }
        }
        self.finals(mark, results, counts);
        let (time, lateness) = (self.time, self.lateness());
        self.piles.retain(|pile| pile.end + lateness > time);
    }

    /// Event time goes to `mark`; what ends on the way gives its final result.
    fn finals(&mut self, mark: i128, results: &mut Vec<What>, counts: &mut Counts) {
        let (time, discarding) = (self.time, self.cut.discarding);
        let ends = |pile: &Pile| pile.end > time && pile.end <= mark;
        self.show(
            |pile| {
                let fired = if pile.fired { UPDATE } else { FINAL };
                (ends(pile) && (pile.fresh || !discarding)).then_some(fired)
            },
            results,
            counts,
        );
        for pile in self.piles.iter_mut().filter(|pile| ends(pile)) {
            pile.fired = true;
        }
        if mark < i128::MAX {
            self.time = mark;
        }
    }

    /// Gives a result of each window for which `why` says why, in order.
    fn show(&mut self, why: impl Fn(&Pile) -> Option<u64>, results: &mut Vec<What>, counts: &mut Counts) {
        self.piles.sort_by(|a, b| (a.end, a.start, &a.key).cmp(&(b.end, b.start, &b.key)));
        for pile in &mut self.piles {
            let Some(fired) = why(pile) else { continue };
            let (start, end, key) = (cut(pile.start), cut(pile.end), &pile.key);
            let rows: Vec<Event> = pile.rows.iter().map(|(_, event)| event.clone()).collect();
            if let Some(event) = result(self.fields, &Group { key, start, end, fired, rows: &rows }, counts) {
                let at = cut(pile.end - 1);
                results.push(What::Record { at, key: Some(pile.key.clone()), event });
            }
            pile.fresh = false;
            if self.cut.discarding {
                pile.rows.clear();
            }
        }
    }

    /// Puts a record where it belongs; `false` when it is late.
    fn take(
        &mut self,
        at: i128,
        key: &Key,
        event: &Event,
        results: &mut Vec<What>,
        counts: &mut Counts,
    ) -> bool {
        let (time, lateness) = (self.time, self.lateness());
        let is_over = |end: i128| end + lateness <= time;
        let touched = match self.cut.span {
            Span::Session { gap_ms } => {
                let gap = i128::from(gap_ms);
                let own = (at, at + gap);
                let touching = i128::from(self.mutation == Mutation::Gap);
                let (mut joined, rest): (Vec<Pile>, Vec<Pile>) =
                    std::mem::take(&mut self.piles).into_iter().partition(|pile| {
                        pile.key == *key && pile.start < own.1 + touching && own.0 < pile.end + touching
                    });
                self.piles = rest;
                if joined.is_empty() && is_over(own.1) {
                    return false;
                }
                joined.sort_by_key(|pile| pile.start);
                let start = joined.iter().map(|pile| pile.start).chain([own.0]).min().expect("there is one");
                let end = joined.iter().map(|pile| pile.end).chain([own.1]).max().expect("there is one");
                let fired = joined.iter().any(|pile| pile.fired);
                let mut rows: Vec<(i128, Event)> = joined.into_iter().flat_map(|pile| pile.rows).collect();
                rows.push((0, event.clone()));
                self.piles.push(Pile { start, end, key: key.clone(), rows, fresh: true, fired });
                vec![start]
            }
            Span::Fixed { size_ms, slide_ms, offset_ms } => {
                let (size, offset) = (i128::from(size_ms), i128::from(offset_ms));
                let slide = i128::from(slide_ms.unwrap_or(size_ms));
                // Every window around, by trying from one that begins too late.
                let latest = (at / slide + 3) * slide + offset;
                let starts = (0..size / slide + 8).map(|n| latest - n * slide);
                let around: Vec<i128> = starts
                    .filter(|&start| start <= at && at < start + size && !is_over(start + size))
                    .collect();
                // No window divides a part, which is as long as the longest time that goes into size and slide.
                let longest = (1..=slide).rev().find(|n| size % n == 0 && slide % n == 0).unwrap_or(1);
                let part = (at - offset).div_euclid(longest);
                for &start in &around {
                    let found = self.piles.iter_mut().find(|pile| pile.start == start && pile.key == *key);
                    match found {
                        Some(pile) => {
                            let behind = pile.rows.iter().position(|(other, _)| *other > part);
                            pile.rows.insert(behind.unwrap_or(pile.rows.len()), (part, event.clone()));
                            pile.fresh = true;
                        }
                        None => self.piles.push(Pile {
                            start,
                            end: start + size,
                            key: key.clone(),
                            rows: vec![(part, event.clone())],
                            fresh: true,
                            fired: false,
                        }),
                    }
                }
                around
            }
        };
        // Windows that were over give a result at once.
        let is_due = |pile: &Pile| pile.end <= time && pile.key == *key && touched.contains(&pile.start);
        self.show(|pile| is_due(pile).then_some(if pile.fired { UPDATE } else { FINAL }), results, counts);
        for pile in self.piles.iter_mut().filter(|pile| is_due(pile)) {
            pile.fired = true;
        }
        !touched.is_empty()
    }
}
