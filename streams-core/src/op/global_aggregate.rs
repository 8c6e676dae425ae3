//! `window(count_window(..))` and `window(global(..))`: results after a number of records, and at moments of event
//! time, without windows of event time.

use std::marker::PhantomData;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregates;
use crate::context::Context;
use crate::effects::Origin;
use crate::key::Key;
use crate::op::order;
use crate::op::timers::Timers;
use crate::op::window_aggregate::tags::clamp;
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::{Fired, Occasion, UNTIMED};

mod rows;

/// What makes a key give a result.
#[derive(Debug, Clone, Copy)]
pub struct Triggers {
    /// The window is over when it has this many records.
    pub(crate) full: Option<u64>,
    /// Every so many records give an early result.
    pub(crate) every: Option<u64>,
    /// Multiples of this give early results.
    pub(crate) early_ms: Option<i64>,
    /// A result holds the records since the one before.
    pub(crate) discarding: bool,
    /// A key is forgotten when it has been quiet for this long.
    pub(crate) ttl_ms: Option<i64>,
}

/// Aggregates the records of each key, a number at a time or all.
///
/// **State** one accumulator, two numbers and the largest event time per key; dropped when a count window is full,
/// and when the watermark reaches the largest event time plus the `ttl`, which gives the final result. With a `ttl`,
/// in the store a second row, by which what is due is found; the watermark. **Time** the result that a record
/// completes has the event time of that record; one of `early(t)` the multiple of `t` that the watermark passes
/// − 1 ms, in order of key; one of a key that is forgotten the time at which it is − 1 ms, in order of (time, key).
/// Watermarks pass behind them. No record is late: one that lies behind the watermark keeps its key as long as if it
/// had the watermark's time. `End` gives the final results of all keys, in order of key, with the largest event time
/// of the window or the watermark, whichever is larger.
#[derive(Debug)]
pub struct GlobalAggregate<K, T, A: Aggregates<T>, F> {
    id: OperatorId,
    aggregates: A,
    finish: F,
    triggers: Triggers,
    /// Whether a window gives results before it is forgotten.
    gives_early: bool,
    rows: HashMap<K, Row<A::State>>,
    /// When to look at which key; too early for keys with newer records.
    timers: Timers<K>,
    /// Nothing happens before event time reaches this.
    next_ms: i64,
    watermark_ms: i64,
    /// Whether a row may be fresh; known where there are early results.
    fresh: bool,
    /// Keys with rows in the store that were dropped since the last checkpoint, and when they were due.
    dropped: Vec<(K, i64)>,
    /// Keys that are due behind this may be in the store and not in memory; `None` when all are here.
    unread_ms: Option<i64>,
    _value: PhantomData<fn(T)>,
}

#[derive(Debug)]
struct Row<S> {
    kept: Kept<S>,
    changed: bool,
    /// When it is due, as the store has it.
    saved: Option<i64>,
    /// When somebody looks at it.
    armed: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    state: S,
    /// How many records the window has had.
    n: u64,
    /// How many of them no result holds.
    fresh: u64,
    /// The largest event time of the window's records, not below the watermark at which the last one came.
    last_ms: i64,
    /// Where it stands in the order of what is due.
    due_ms: i64,
}

impl<S> Row<S> {
    /// A window without records.
    fn new(state: S, last_ms: i64, armed: Option<i64>) -> Self {
        let kept = Kept { state, n: 0, fresh: 0, last_ms, due_ms: 0 };
        Self { kept, changed: false, saved: None, armed }
    }
}

/// When a key is forgotten that was last heard of at this time; none where event time cannot come so far.
fn due(ttl_ms: Option<i64>, last_ms: i64) -> Option<i64> {
    last_ms.checked_add(ttl_ms?)
}

impl Triggers {
    /// Whether the end of a window with this gives a result.
    fn has_result<S>(self, kept: &Kept<S>) -> bool {
        if self.discarding { kept.fresh > 0 } else { kept.n > 0 }
    }

    /// What the number of records that a window has by now gives.
    fn counted<T, A: Aggregates<T>>(
        self,
        kept: &mut Kept<A::State>,
        aggregates: &A,
    ) -> Option<(A::State, Fired)> {
        let full = self.full == Some(kept.n);
        if !full && self.every.is_none_or(|every| !kept.n.is_multiple_of(every)) {
            return None;
        }
        kept.fresh = 0;
        if full {
            kept.n = 0;
            if self.ttl_ms.is_none() {
                kept.last_ms = UNTIMED;
            }
        }
        let state = match full || self.discarding {
            true => std::mem::replace(&mut kept.state, aggregates.init()),
            false => kept.state.clone(),
        };
        Some((state, if full { Fired::Final } else { Fired::Early }))
    }
}

impl<K: Key, T, A: Aggregates<T>, F> GlobalAggregate<K, T, A, F> {
    pub(crate) fn new(id: &'static str, triggers: Triggers, aggregates: A, finish: F) -> Self {
        Self {
            id: OperatorId::new(id),
            aggregates,
            finish,
            triggers,
            gives_early: triggers.full.is_some() || triggers.every.is_some() || triggers.early_ms.is_some(),
            rows: HashMap::new(),
            timers: Timers::new(triggers.ttl_ms.unwrap_or_default()),
            next_ms: i64::MAX,
            watermark_ms: UNTIMED,
            fresh: false,
            dropped: Vec::new(),
            unread_ms: None,
            _value: PhantomData,
        }
    }

    fn now(&self) -> i128 {
        i128::from(self.watermark_ms)
    }

    /// The first multiple of `early` behind `after`.
    fn next_early(&self, after: i128) -> Option<i128> {
        let early_ms = i128::from(self.triggers.early_ms?);
        Some((after.div_euclid(early_ms) + 1) * early_ms)
    }

    /// Some row has something that is in no result.
    fn freshen(&mut self) {
        if !self.fresh
            && let Some(early) = self.next_early(self.now())
        {
            self.fresh = true;
            self.next_ms = self.next_ms.min(clamp(early));
        }
    }

    /// When the first key is to be looked at.
    fn first_timer(&mut self) -> Option<i64> {
        let (rows, ttl_ms) = (&mut self.rows, self.triggers.ttl_ms);
        self.timers.first(|at, key| {
            let row = rows.get_mut(key).filter(|row| row.armed == Some(at))?;
            row.armed = due(ttl_ms, row.kept.last_ms);
            row.armed
        })
    }

    /// When something happens next, if no record comes.
    fn next(&mut self, after: i128) -> i64 {
        let timer = self.first_timer().map(i128::from);
        let unread_ms = self.unread_ms.filter(|_| self.triggers.ttl_ms.is_some());
        let unread = unread_ms.map(|unread_ms| after.max(i128::from(unread_ms)) + 1);
        let fresh = self.fresh || self.unread_ms.is_some();
        let early = if fresh { self.next_early(after) } else { None };
        let first = [timer, unread, early].into_iter().flatten().min();
        first.map_or(i64::MAX, clamp)
    }

    /// Puts down when somebody looks at a key that was last heard of at this time.
    fn arm(&mut self, key: &K, last_ms: i64) -> Option<i64> {
        let at_ms = due(self.triggers.ttl_ms, last_ms)?;
        self.timers.push(at_ms, key.clone());
        self.next_ms = self.next_ms.min(at_ms);
        Some(at_ms)
    }

    fn give<R, C, N>(&self, key: K, at_ms: i64, fired: Fired, state: A::State, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Occasion, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        match self.aggregates.finish(state) {
            Ok(values) => {
                let val = (self.finish)(&key, Occasion { fired }, values);
                next.push(Rec { ts: at_ms, key, val }, cx);
            }
            Err(error) => {
                let key = serde_json::to_string(&key).ok();
                cx.base().reject_result(self.id.name(), error.to_string(), key);
            }
        }
    }

    /// Event time goes from the watermark to `until`.
    #[inline(never)]
    fn pass<R, C, N>(&mut self, until: i64, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Occasion, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let to = i128::from(until);
        let early = self.next_early(self.now()).filter(|early| *early <= to);
        match early {
            // A fresh row may lie anywhere.
            Some(_) => self.read_all(cx.base()),
            None => self.read_until(to, cx.base()),
        }
        // What fails behind a firing is no fault of the record that happened to be running.
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        if let Some(early) = early {
            self.forget(early, next, cx);
            // Behind this multiple nothing is fresh, so that the ones behind it give nothing.
            for (key, state) in self.early() {
                self.give(key, clamp(early - 1), Fired::Early, state, next, cx);
            }
        }
        self.forget(to, next, cx);
        self.next_ms = self.next(to);
        cx.base().origin = origin;
    }

    /// Gives the final results of keys that have been quiet for too long when event time reaches `to`.
    fn forget<R, C, N>(&mut self, to: i128, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Occasion, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        while self.first_timer().is_some_and(|at_ms| i128::from(at_ms) <= to) {
            let Some((at_ms, key)) = self.timers.pop() else { break };
            let Entry::Occupied(mut found) = self.rows.entry(key) else { continue };
            let row = found.get_mut();
            if row.armed != Some(at_ms) {
                continue;
            }
            row.armed = due(self.triggers.ttl_ms, row.kept.last_ms);
            if row.armed != Some(at_ms) {
                if let Some(later_ms) = row.armed {
                    self.timers.push(later_ms, found.key().clone());
                }
                continue;
            }
            if self.unread_ms.is_none() {
                let (key, Row { kept, saved, .. }) = found.remove_entry();
                self.dropped.extend(saved.map(|saved| (key.clone(), saved)));
                if self.triggers.has_result(&kept) {
                    self.give(key, at_ms.saturating_sub(1), Fired::Final, kept.state, next, cx);
                }
            } else {
                // As long as rows are read, an empty one says that what the store has is old.
                let empty = Row::new(self.aggregates.init(), UNTIMED, None);
                let Row { kept, saved, .. } = std::mem::replace(row, Row { changed: true, ..empty });
                row.saved = saved;
                let key = found.key().clone();
                if self.triggers.has_result(&kept) {
                    self.give(key, at_ms.saturating_sub(1), Fired::Final, kept.state, next, cx);
                }
            }
        }
    }

    /// The keys that have something fresh, in order, with what they give.
    fn early(&mut self) -> Vec<(K, A::State)> {
        self.fresh = false;
        let mut found = Vec::new();
        for (key, row) in self.rows.iter_mut().filter(|(_, row)| row.kept.fresh > 0) {
            let state = match self.triggers.discarding {
                true => std::mem::replace(&mut row.kept.state, self.aggregates.init()),
                false => row.kept.state.clone(),
            };
            row.kept.fresh = 0;
            row.changed = true;
            found.push((key.clone(), state));
        }
        let mut in_order = Vec::with_capacity(found.len());
        order::by_key(found, |row| in_order.push(row));
        in_order
    }

    /// The input has ended.
    fn end<R, C, N>(&mut self, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Occasion, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        self.read_all(cx.base());
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        let rows: Vec<_> = self.rows.drain().collect();
        order::by_key(rows, |(key, row)| {
            self.dropped.extend(row.saved.map(|saved| (key.clone(), saved)));
            if self.triggers.has_result(&row.kept) {
                let at_ms = row.kept.last_ms.max(self.watermark_ms);
                self.give(key, at_ms, Fired::Final, row.kept.state, next, cx);
            }
        });
        self.timers.clear();
        self.fresh = false;
        self.next_ms = self.next(self.now());
        cx.base().origin = origin;
    }
}

impl<K: Key, T, A, F, R> Operator<Rec<K, T>> for GlobalAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Occasion, A::Out) -> R,
{
    type Out = Rec<K, R>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let heard_ms = record.ts.max(self.watermark_ms);
        // A known key is not cloned, and looked up once.
        let row = match self.rows.get_mut(&record.key) {
            // Without a `ttl` nothing has to be put down for a window that begins.
            Some(row) if row.kept.n > 0 || self.triggers.ttl_ms.is_none() => row,
            _ => {
                self.begin(record.key.clone(), record.ts, cx.base());
                let Some(row) = self.rows.get_mut(&record.key) else { return };
                row
            }
        };
        let kept = &mut row.kept;
        row.changed = true;
        kept.last_ms = kept.last_ms.max(heard_ms);
        kept.n += 1;
        kept.fresh += 1;
        self.aggregates.add(&mut kept.state, &record.val);
        if self.gives_early {
            if let Some((state, fired)) = self.triggers.counted(kept, &self.aggregates) {
                return self.give(record.key, record.ts, fired, state, next, cx);
            }
            self.freshen();
        }
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        if at_ms >= self.next_ms {
            self.pass(at_ms, next, cx);
        }
        self.watermark_ms = at_ms;
        next.watermark(at_ms, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        if matches!(message, System::End) {
            self.end(next, cx);
        } else {
            self.hear(message);
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}
