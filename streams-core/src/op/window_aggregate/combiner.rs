//! A window's aggregate in two halves, in front of a shuffle and behind it.
//!
//! Within a parcel records of one key and pane become one row. A row stands where the first of its records stood, so
//! the others come earlier than they would, in front of watermarks that rose in between. Nothing can tell: a row takes
//! no more records once the end of any window lies between, so that the same windows have fired at both places, and
//! a record is late at both or at neither. What is late by the sender's own watermark travels as it is.

use std::any::Any;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_map::Entry;

use super::WindowAggregate;
use super::pane::stored;
use super::spans::Spans;
use super::tags::clamp;
use crate::aggregate::Aggregates;
use crate::context::{Context, Cx};
use crate::exchange::combined::{Combined, Combiner, Combines};
use crate::exchange::{in_order, is_worth_keeping, trade};
use crate::key::{self, Key, Shuffled};
use crate::op::late::Nowhere;
use crate::push::Push;
use crate::record::Rec;
use crate::time::Window;

/// What travels.
#[derive(Debug)]
pub(super) enum Row<K, T, S> {
    /// Records of a key in a pane that came one behind the other to one place, and how many.
    Records { pane_ms: i64, key: K, state: S, records: u64 },
    /// One that is late, unless other senders hold event time back.
    Late(Box<Rec<K, T>>),
}

/// The half in front of the shuffle.
#[derive(Debug)]
pub struct WindowCombiner<K, T, A: Aggregates<T>> {
    aggregates: Arc<A>,
    spans: Spans,
    rows: Vec<Row<K, T, A::State>>,
    /// By row, the machine that it is for.
    owners: Vec<u32>,
    /// In front of the row of this number event time rises so far.
    marks: Vec<(usize, i64)>,
    /// Rows in front take no more records.
    from: usize,
    /// By hash of key and pane, which row was the last of it, unless one of another key or pane has come since.
    places: Box<[u32; PLACES]>,
    hasher: DefaultHashBuilder,
    /// The pane of the last record, of no length where it is to be looked at again; and what its rows' hashes begin
    /// with.
    pane_ms: i64,
    pane_len_ms: u64,
    pane_hash: u64,
    /// From here on a window is over that was not when the row `from` was begun.
    over_ms: i64,
    bins: Vec<Bin<K, T, A::State>>,
    scratch: Vec<u8>,
}

/// What goes to one machine: rows, and their marks.
#[derive(Debug)]
struct Bin<K, T, S> {
    rows: Vec<Row<K, T, S>>,
    marks: Vec<(usize, i64)>,
}

/// A few times as many as a parcel tends to have keys; a power of two.
const PLACES: usize = 2_048;

impl<K: Key, T, A: Aggregates<T>> WindowCombiner<K, T, A> {
    pub(super) fn new(aggregates: Arc<A>, spans: Spans, n_machines: usize) -> Self {
        let bin = || Bin { rows: Vec::new(), marks: Vec::new() };
        Self {
            aggregates,
            spans,
            rows: Vec::new(),
            owners: Vec::new(),
            marks: Vec::new(),
            from: 0,
            places: Box::new([0; PLACES]),
            hasher: DefaultHashBuilder::default(),
            pane_ms: 0,
            pane_len_ms: 0,
            pane_hash: 0,
            over_ms: i64::MIN,
            bins: std::iter::repeat_with(bin).take(n_machines).collect(),
            scratch: Vec::new(),
        }
    }

    /// A window is over: what comes now must not be added to what came before.
    #[cold]
    fn close(&mut self, at_ms: i64) {
        self.over_ms = clamp(self.spans.next_end(self.spans.pane(at_ms), i128::from(at_ms)));
        self.from = self.rows.len();
        self.pane_len_ms = 0;
    }

    /// A record belongs to another pane than the one before; whether that one has a window that is not over.
    #[inline(never)]
    fn turn(&mut self, at_ms: i64, ts: i64) -> bool {
        let pane_ms = self.spans.pane(ts);
        if self.spans.last_end(pane_ms) <= i128::from(at_ms) {
            return false;
        }
        self.pane_ms = pane_ms;
        self.pane_len_ms = self.spans.pane_len(pane_ms);
        self.pane_hash = self.hasher.hash_one(pane_ms);
        true
    }

    /// Begins a row with the record, that may be found at this place.
    #[inline(never)]
    fn begin(&mut self, place: usize, record: Rec<K, T>, cx: &mut Cx) {
        let Some(owner) = self.owner(&record.key, cx) else { return };
        if let Some(place) = self.places.get_mut(place) {
            // Rows behind the last that has such a number are not found again, and that is all.
            *place = self.rows.len() as u32;
        }
        let mut state = self.aggregates.init();
        self.aggregates.add(&mut state, &record.val);
        self.owners.push(owner);
        self.rows.push(Row::Records { pane_ms: self.pane_ms, key: record.key, state, records: 1 });
    }

    #[cold]
    fn push_late(&mut self, record: Rec<K, T>, cx: &mut Cx) {
        if let Some(owner) = self.owner(&record.key, cx) {
            self.owners.push(owner);
            self.rows.push(Row::Late(Box::new(record)));
        }
    }

    fn owner(&mut self, key: &K, cx: &mut Cx) -> Option<u32> {
        match key::owner(key, self.bins.len(), &mut self.scratch) {
            Ok(owner) => Some(owner as u32),
            Err(error) => {
                cx.reject("key_by", format!("the key cannot be encoded: {error}"), None);
                None
            }
        }
    }
}

impl<K, T, A> Combiner<Rec<K, T>> for WindowCombiner<K, T, A>
where
    K: Key,
    T: Shuffled,
    A: Aggregates<T>,
{
    const EXISTS: bool = A::COMBINES;

    #[inline(always)]
    fn push(&mut self, at_ms: i64, record: Rec<K, T>, cx: &mut Cx) {
        if record.ts.wrapping_sub(self.pane_ms) as u64 >= self.pane_len_ms && !self.turn(at_ms, record.ts) {
            return self.push_late(record, cx);
        }
        let place = (self.hasher.hash_one(&record.key) ^ self.pane_hash) as usize % PLACES;
        let row = self.places.get(place).map_or(0, |row| *row as usize);
        if row >= self.from
            && let Some(Row::Records { pane_ms, key, state, records }) = self.rows.get_mut(row)
            && *pane_ms == self.pane_ms
            && *key == record.key
        {
            *records += 1;
            return self.aggregates.add(state, &record.val);
        }
        self.begin(place, record, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64) {
        self.marks.push((self.rows.len(), at_ms));
        if at_ms >= self.over_ms {
            self.close(at_ms);
        }
    }

    fn sort(&mut self) {
        let len = self.rows.len();
        in_order(
            &mut self.bins,
            self.rows.drain(..).zip(self.owners.drain(..)),
            self.marks.drain(..),
            |bins, at_ms| bins.iter_mut().for_each(|bin| bin.marks.push((bin.rows.len(), at_ms))),
            |bins, (row, owner)| {
                if let Some(bin) = bins.get_mut(owner as usize) {
                    bin.rows.push(row);
                }
            },
        );
        if !is_worth_keeping::<Row<K, T, A::State>>(self.rows.capacity(), len) {
            (self.rows, self.owners) = (Vec::new(), Vec::new());
        }
        self.from = 0;
        self.pane_len_ms = 0;
    }

    fn len(&self, owner: usize) -> usize {
        self.bins.get(owner).map_or(0, |bin| bin.rows.len())
    }

    fn drain(&mut self, owner: usize, rows: &mut Option<Box<dyn Any + Send>>, marks: &mut Vec<(usize, i64)>) {
        let Some(bin) = self.bins.get_mut(owner) else { return };
        if !bin.rows.is_empty() {
            let emptied = rows.take().and_then(|rows| rows.downcast::<Vec<Row<K, T, A::State>>>().ok());
            let mut emptied = emptied.unwrap_or_default();
            std::mem::swap(&mut bin.rows, &mut *emptied);
            *rows = Some(emptied);
        }
        trade(&mut bin.marks, marks);
    }
}

impl<K: Key, T: Shuffled, A: Aggregates<T>, F> Combines<Rec<K, T>> for WindowAggregate<K, T, A, F> {
    type Combiner = WindowCombiner<K, T, A>;

    fn combiner(&self, n_machines: usize) -> Option<Self::Combiner> {
        A::COMBINES.then(|| WindowCombiner::new(Arc::clone(&self.aggregates), self.spans, n_machines))
    }
}

impl<K: Key, T: 'static, A: Aggregates<T>, F> WindowAggregate<K, T, A, F> {
    fn take_row<C: Context>(&mut self, row: Row<K, T, A::State>, cx: &mut C) {
        let (pane_ms, key, mut state, records) = match row {
            Row::Records { pane_ms, key, state, records } => (pane_ms, key, state, records),
            Row::Late(record) => return self.take(*record, &mut Nowhere, cx),
        };
        if pane_ms.wrapping_sub(self.hot_start_ms) as u64 >= self.hot_len_ms && !self.turn(pane_ms) {
            self.late += records;
            return;
        }
        if let Some(changed) = &mut self.hot_changed {
            changed.set(&key);
        }
        match self.hot.entry(key) {
            Entry::Occupied(mut known) => self.aggregates.merge(known.get_mut(), state),
            Entry::Vacant(new) => {
                if let Some(stored) = stored(self.id, self.unread_ms, self.hot_start_ms, new.key(), cx.base())
                {
                    let behind = std::mem::replace(&mut state, stored);
                    self.aggregates.merge(&mut state, behind);
                }
                new.insert(state);
            }
        }
    }

    /// Takes what the combiners on the sending side have made of records.
    #[inline(never)]
    pub(super) fn take_combined<R, C, N>(&mut self, combined: Combined<'_>, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        combined.drain(
            &mut (self, next, cx),
            |(it, next, cx), at_ms| it.advance(at_ms, *next, *cx),
            |(it, _, cx), row| it.take_row(row, *cx),
        );
    }
}
