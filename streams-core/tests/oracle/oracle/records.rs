//! Windows of records in the oracle: count windows and global ones.

use crate::event::Event;
use crate::menu::{Group, Key};
use crate::oracle::aggregates::{cut, result};
use crate::oracle::{Counts, Element, Mutation, What};
use crate::plan::{Fields, Records};

/// What a key has.
struct Pile {
    key: Key,
    /// All records, or those since the last result.
    rows: Vec<Event>,
    n: u64,
    fresh: bool,
    /// Its largest event time, or the event time at which it was last heard of.
    heard: i128,
}

const EARLY: u64 = 0;
const FINAL: u64 = 1;

struct Counting<'a> {
    records: Records,
    fields: Fields,
    counts: &'a mut Counts,
    piles: Vec<Pile>,
}

/// The results of all keys.
pub(super) fn records_of(
    elements: &[Element],
    records: Records,
    mutation: Mutation,
    fields: Fields,
    counts: &mut Counts,
) -> Vec<Element> {
    let mut time = i128::from(i64::MIN);
    let mut counting = Counting { records, fields, counts, piles: Vec::new() };
    let mut out = Vec::new();
    for element in elements {
        let mut results = Vec::new();
        match &element.what {
            What::Record { at, key, event } => {
                let key = key.as_ref().expect("windows are keyed");
                counting.take(*at, key, event, time, &mut results);
            }
            What::Mark(mark) => {
                let mark = i128::from(*mark);
                // A quiet key that is forgotten at the moment of early results is forgotten first.
                let planted = i128::from(mutation == Mutation::Quiet);
                let ttl = records.ttl_ms.map(|ttl_ms| i128::from(ttl_ms.max(1)) + planted);
                if let Some(early_ms) = records.early_ms.map(i128::from) {
                    let moment = time - time.rem_euclid(early_ms) + early_ms;
                    if moment <= mark {
                        counting.forget(ttl, moment, &mut results);
                        counting.early(moment, &mut results);
                    }
                }
                counting.forget(ttl, mark, &mut results);
                time = mark;
            }
            What::End => counting.end(time, &mut results),
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
    out
}

impl Counting<'_> {
    fn give(&mut self, pile: &Pile, at: i128, fired: u64, results: &mut Vec<What>) {
        let group = Group { key: &pile.key, start: 0, end: 0, fired, rows: &pile.rows };
        if let Some(event) = result(self.fields, &group, self.counts) {
            results.push(What::Record { at: cut(at), key: Some(pile.key.clone()), event });
        }
    }

    fn take(&mut self, at: i64, key: &Key, event: &Event, time: i128, results: &mut Vec<What>) {
        let at = i128::from(at);
        let known = self.piles.iter().position(|pile| pile.key == *key);
        let mut pile = match known {
            Some(known) => self.piles.remove(known),
            None => Pile { key: key.clone(), rows: Vec::new(), n: 0, fresh: false, heard: at },
        };
        pile.heard = pile.heard.max(at).max(time);
        pile.rows.push(event.clone());
        pile.n += 1;
        pile.fresh = true;
        if Some(pile.n) == self.records.full {
            return self.give(&pile, at, FINAL, results);
        }
        if self.records.every.is_some_and(|every| pile.n.is_multiple_of(every)) {
            self.give(&pile, at, EARLY, results);
            pile.fresh = false;
            if self.records.discarding {
                pile.rows.clear();
            }
        }
        self.piles.push(pile);
    }

    fn has_result(&self, pile: &Pile) -> bool {
        pile.fresh || !self.records.discarding
    }

    fn forget(&mut self, ttl: Option<i128>, until: i128, results: &mut Vec<What>) {
        let Some(ttl) = ttl else { return };
        let (mut due, rest): (Vec<Pile>, Vec<Pile>) =
            std::mem::take(&mut self.piles).into_iter().partition(|pile| pile.heard + ttl <= until);
        self.piles = rest;
        due.sort_by(|a, b| (a.heard, &a.key).cmp(&(b.heard, &b.key)));
        for pile in due.iter().filter(|pile| self.has_result(pile)).collect::<Vec<_>>() {
            self.give(pile, pile.heard + ttl - 1, FINAL, results);
        }
    }

    fn early(&mut self, moment: i128, results: &mut Vec<What>) {
        let mut piles = std::mem::take(&mut self.piles);
        piles.sort_by(|a, b| a.key.cmp(&b.key));
        for pile in piles.iter_mut().filter(|pile| pile.fresh) {
            self.give(pile, moment - 1, EARLY, results);
            pile.fresh = false;
            if self.records.discarding {
                pile.rows.clear();
            }
        }
        self.piles = piles;
    }

    fn end(&mut self, time: i128, results: &mut Vec<What>) {
        let mut piles = std::mem::take(&mut self.piles);
        piles.sort_by(|a, b| a.key.cmp(&b.key));
        for pile in piles.iter().filter(|pile| self.has_result(pile)).collect::<Vec<_>>() {
            self.give(pile, pile.heard.max(time), FINAL, results);
        }
    }
}
