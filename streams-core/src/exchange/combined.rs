//! Records of one key that are brought together before they cross a shuffle between machines of one process.
//!
//! An aggregate whose states are small and merge exactly
//! ([`Aggregate::COMBINES`](crate::aggregate::Aggregate::COMBINES)) needs of the records that one parcel brings for a
//! key and a part of time nothing but their state. So its [`Combiner`] (the word is that of Dean and Ghemawat, OSDI
//! 2004) stands at the sending end and adds them up, and the parcel has a row where it had many records. Through topics
//! nothing is combined: what is sent there must be the same messages again whatever the batches are.

use std::any::Any;

use crate::aggregate::Aggregates;
use crate::context::Cx;
use crate::exchange::{in_order, is_worth_keeping};
use crate::key::Key;
use crate::op::global_aggregate::GlobalAggregate;
use crate::op::session_aggregate::SessionAggregate;
use crate::op::updating_aggregate::UpdatingAggregate;
use crate::record::Rec;

/// The sending half of an operator that stands behind a shuffle.
pub trait Combiner<R>: Send + 'static {
    /// Whether there ever is one.
    const EXISTS: bool = true;

    /// Takes in a record of a sender whose event time has come to `at_ms`.
    fn push(&mut self, at_ms: i64, record: R, cx: &mut Cx);

    /// Event time of the sender has come to `at_ms`.
    fn watermark(&mut self, at_ms: i64);

    /// Sorts by machine what has come since the last time.
    fn sort(&mut self);

    /// How many rows there are for this machine, among the sorted ones.
    fn len(&self, owner: usize) -> usize;

    /// Hands the rows for this machine over, for memory of the same kind that was emptied, if there is any; and in
    /// front of which of them event time rose how far.
    fn drain(&mut self, owner: usize, rows: &mut Option<Box<dyn Any + Send>>, marks: &mut Vec<(usize, i64)>);
}

/// An operator that may stand right behind a `key_by`.
pub trait Combines<R> {
    /// Its sending half.
    type Combiner: Combiner<R>;

    /// Its sending half in front of so many machines; none where each record is to come as it is.
    fn combiner(&self, n_machines: usize) -> Option<Self::Combiner>;
}

/// The combiner of those that have none.
#[derive(Debug, Clone, Copy)]
pub enum Never {}

impl<R> Combiner<R> for Never {
    const EXISTS: bool = false;

    fn push(&mut self, _at_ms: i64, _record: R, _cx: &mut Cx) {
        match *self {}
    }

    fn watermark(&mut self, _at_ms: i64) {
        match *self {}
    }

    fn sort(&mut self) {
        match *self {}
    }

    fn len(&self, _owner: usize) -> usize {
        match *self {}
    }

    fn drain(&mut self, _: usize, _: &mut Option<Box<dyn Any + Send>>, _: &mut Vec<(usize, i64)>) {
        match *self {}
    }
}

macro_rules! never {
    ($($aggregate:ident)*) => {$(
        impl<K: Key, T, A: Aggregates<T>, F> Combines<Rec<K, T>> for $aggregate<K, T, A, F> {
            type Combiner = Never;

            fn combiner(&self, _n_machines: usize) -> Option<Never> {
                None
            }
        }
    )*};
}

// What these make of a record depends on the ones in front of it.
never!(GlobalAggregate SessionAggregate UpdatingAggregate);

/// What one parcel brings to the operator whose combiner made it: rows of its own type.
#[derive(Debug)]
pub struct Combined<'a> {
    pub(crate) rows: &'a mut (dyn Any + Send),
    /// In front of the row of this number event time rises so far.
    pub(crate) marks: &'a [(usize, i64)],
}

impl Combined<'_> {
    /// Empties the rows of this type, one by one, and tells where event time rises.
    pub(crate) fn drain<S, R: 'static>(
        self,
        to: &mut S,
        rise: impl Fn(&mut S, i64),
        take: impl Fn(&mut S, R),
    ) {
        let rows =
            self.rows.downcast_mut::<Vec<R>>().expect("the combiner of the same operator made the rows");
        let len = rows.len();
        in_order(to, rows.drain(..), self.marks.iter().copied(), rise, take);
        if !is_worth_keeping::<R>(rows.capacity(), len) {
            *rows = Vec::new();
        }
    }
}

/// A combiner, and whether it is worth its while.
#[derive(Debug)]
pub(crate) struct Combining<B> {
    combiner: B,
    /// How many records it has taken since the last drain.
    records: usize,
    /// For how many more drains records go as they are.
    rest: u32,
}

/// For so many drains records go as they are where fewer than half of them joined one in front.
const REST: u32 = 15;

impl<B> Combining<B> {
    pub(crate) fn new(combiner: B) -> Self {
        Self { combiner, records: 0, rest: 0 }
    }

    /// The combiner for one more record, where it is at work.
    #[inline(always)]
    pub(crate) fn at_work(&mut self) -> Option<&mut B> {
        if self.rest > 0 {
            return None;
        }
        self.records += 1;
        Some(&mut self.combiner)
    }

    /// The combiner, where it has taken what goes out now.
    pub(crate) fn taken(&mut self) -> Option<&mut B> {
        (self.rest == 0).then_some(&mut self.combiner)
    }

    /// Behind a drain that gave out so many rows or records.
    pub(crate) fn drained(&mut self, n_out: usize) {
        if n_out == 0 {
            return;
        }
        let is_idle = self.rest == 0 && n_out > self.records / 2;
        self.rest = if is_idle { REST } else { self.rest.saturating_sub(1) };
        self.records = 0;
    }
}
