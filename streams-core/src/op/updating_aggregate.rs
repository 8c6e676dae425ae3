//! `window(..)` with `early` or `lateness`: several results per key and window.
//!
//! It has the panes of [`window_aggregate`](super::window_aggregate) and keeps them for longer. It is an operator
//! of its own so that windows with one result do not pay for what only these do.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregates;
use crate::context::Context;
use crate::effects::Origin;
use crate::key::Key;
use crate::op::late::{LateOperator, Nowhere};
use crate::op::window_aggregate::spans::{Cut, Spans};
use crate::op::window_aggregate::tags::{clamp, pane_tag};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::{Fired, UNTIMED, Window};
use crate::window::Updates;

mod rows;
#[cfg(test)]
mod tests;

/// Aggregates the records of each key in each window, with early results and updates.
///
/// **State** one accumulator per key and pane, dropped when the watermark reaches the end of the last window over
/// the pane plus the lateness; the watermark. **Time** a window gives its final result when the watermark reaches
/// its end, as in [`WindowAggregate`](super::window_aggregate::WindowAggregate). With `early(t)`, at each multiple
/// of `t` that the watermark passes each key of an open window with records that no result holds gives one, in the
/// same order. With `lateness(d)`, a record of a window that is over and not older than `d` gives a result at once:
/// an update, or the final one where its key had none. All results of a window have the event time end − 1 ms, so
/// that updates lie behind the watermark. A record is late, and counted, when the last window it belongs to was
/// over for the lateness. `End` gives the final results of all open windows.
#[derive(Debug)]
pub struct UpdatingAggregate<K, T, A: Aggregates<T>, F> {
    id: OperatorId,
    aggregates: A,
    finish: F,
    spans: Spans,
    updates: Updates,
    panes: BTreeMap<i64, Pane<K, A::State>>,
    /// Nothing happens before event time reaches this.
    next_ms: i64,
    watermark_ms: i64,
    late: u64,
    /// Panes with rows in the store that were dropped since the last checkpoint.
    dropped: Vec<i64>,
    /// Panes from here on may have rows in the store that are not in memory; `None` when all are here.
    unread_ms: Option<i64>,
    _value: PhantomData<fn(T)>,
}

#[derive(Debug)]
struct Pane<K, S> {
    rows: HashMap<K, Slot<S>>,
    /// Whether rows may have changed since the last checkpoint.
    touched: bool,
    /// Whether the store has rows of it.
    saved: bool,
    /// Whether a row may be fresh.
    fresh: bool,
    first_end: i128,
}

#[derive(Debug)]
struct Slot<S> {
    kept: Kept<S>,
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    state: S,
    /// Whether it has records that no result holds.
    fresh: bool,
}

/// Earlier than every window.
const BEFORE_TIME: i128 = i128::MIN / 4;

impl<K: Key, T, A: Aggregates<T>, F> UpdatingAggregate<K, T, A, F> {
    pub(crate) fn new(id: &'static str, cut: Cut, updates: Updates, aggregates: A, finish: F) -> Self {
        Self {
            id: OperatorId::new(id),
            aggregates,
            finish,
            spans: Spans::new(cut),
            updates,
            panes: BTreeMap::new(),
            next_ms: i64::MAX,
            watermark_ms: UNTIMED,
            late: 0,
            dropped: Vec::new(),
            unread_ms: None,
            _value: PhantomData,
        }
    }

    fn lateness(&self) -> i128 {
        i128::from(self.updates.lateness_ms)
    }

    /// When the pane's time is over for good.
    fn over(&self, pane: i64) -> i128 {
        self.spans.last_end(pane) + self.lateness()
    }

    /// The first multiple of `early` behind `after`.
    fn next_early(&self, after: i128) -> Option<i128> {
        let early_ms = i128::from(self.updates.early_ms?);
        Some((after.div_euclid(early_ms) + 1) * early_ms)
    }

    /// The first end behind `after` of a window that has a pane.
    fn next_end(&self, after: i128) -> Option<i128> {
        // Panes that begin before this belong to windows that have ended by then.
        let from = clamp(after - self.spans.size());
        let mut panes = self.panes.range(from..).map(|(&start, _)| start);
        let first = panes.find(|&start| self.spans.last_end(start) > after)?;
        Some(self.spans.next_end(first, after))
    }

    /// When something happens next, if no record comes.
    fn next(&self, after: i128) -> i64 {
        let end = self.next_end(after);
        let over = self.panes.first_key_value().map(|(&start, _)| self.over(start));
        let fresh = self.unread_ms.is_some() || self.panes.values().any(|pane| pane.fresh);
        let early = if fresh { self.next_early(after) } else { None };
        let unread = self.unread_ms.map(|unread_ms| {
            let pane = self.spans.pane(unread_ms.max(clamp(after)));
            self.spans.next_end(pane, after)
        });
        let first = [end, over, early, unread].into_iter().flatten().min();
        first.map_or(i64::MAX, clamp)
    }

    /// What the key has in the window that ends at `end`.
    fn state_of(&self, key: &K, end: i128) -> Option<A::State> {
        let panes = self.panes.range(clamp(end - self.spans.size())..);
        let panes = panes.take_while(|(start, _)| i128::from(**start) < end);
        let mut parts = panes.filter_map(|(_, pane)| pane.rows.get(key));
        let mut state = parts.next()?.kept.state.clone();
        for part in parts {
            self.aggregates.merge(&mut state, part.kept.state.clone());
        }
        Some(state)
    }

    /// The keys of the window that ends at `end`, in order.
    fn keys(&self, end: i128, only_fresh: bool) -> Vec<K> {
        let panes = self.panes.range(clamp(end - self.spans.size())..);
        let panes = panes.take_while(|(start, _)| i128::from(**start) < end);
        let mut keys = Vec::new();
        for (_, pane) in panes.filter(|(_, pane)| pane.fresh || !only_fresh) {
            let rows = pane.rows.iter().filter(|(_, slot)| slot.kept.fresh || !only_fresh);
            keys.extend(rows.map(|(key, _)| key.clone()));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The key's records in the pane are in a result; its state goes where results are discarded.
    fn settle(&mut self, pane: i64, key: &K) {
        let Some(pane) = self.panes.get_mut(&pane) else { return };
        let Some(slot) = pane.rows.get_mut(key) else { return };
        slot.kept.fresh = false;
        slot.changed = true;
        pane.touched = true;
        if self.updates.discarding {
            slot.kept.state = self.aggregates.init();
        }
    }

    /// Gives the result of a key in the window that ends at `end`.
    fn give<R, C, N>(&self, key: K, end: i128, fired: Fired, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let Some(state) = self.state_of(&key, end) else { return };
        let window = Window { start: clamp(end - self.spans.size()), end: clamp(end), fired };
        match self.aggregates.finish(state) {
            Ok(values) => {
                let val = (self.finish)(&key, window, values);
                next.push(Rec { ts: clamp(end - 1), key, val }, cx);
            }
            Err(error) => {
                let error = format!("in the window [{}, {}): {error}", window.start, window.end);
                cx.base().reject_result(self.id.name(), error, serde_json::to_string(&key).ok());
            }
        }
    }

    /// Gives the results of all keys of a window.
    fn give_all<R, C, N>(&mut self, end: i128, fired: Fired, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let only_fresh = self.updates.discarding || fired == Fired::Early;
        for key in self.keys(end, only_fresh) {
            if self.updates.discarding {
                self.give(key.clone(), end, fired, next, cx);
                self.settle(clamp(end - self.spans.size()), &key);
            } else {
                self.give(key, end, fired, next, cx);
            }
        }
    }

    /// Event time goes from the watermark to `until`, or the input ends.
    #[inline(never)]
    fn pass<R, C, N>(&mut self, until: Option<i64>, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let (mut from, to) = (i128::from(self.watermark_ms), until.map_or(i128::MAX, i128::from));
        let early = self.next_early(from).filter(|early| until.is_some() && *early <= to);
        // A fresh row may lie in any pane.
        self.read_until(if early.is_some() { i128::MAX } else { to }, cx.base());
        // What fails behind a firing is no fault of the record that happened to be running.
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        if let Some(early) = early {
            self.finals(from, early, next, cx);
            // Behind this multiple nothing is fresh, so that the ones behind it give nothing.
            let mut after = early;
            while let Some(end) = self.next_end(after) {
                self.give_all(end, Fired::Early, next, cx);
                after = end;
            }
            for pane in self.panes.values_mut().filter(|pane| pane.fresh) {
                pane.fresh = false;
                pane.touched = true;
                for slot in pane.rows.values_mut().filter(|slot| slot.kept.fresh) {
                    slot.kept.fresh = false;
                    slot.changed = true;
                }
            }
            from = early;
        }
        self.finals(from, to, next, cx);
        while let Some(oldest) = self.panes.first_key_value().map(|(&start, _)| start) {
            if self.over(oldest) > to {
                break;
            }
            if self.panes.remove(&oldest).is_some_and(|pane| pane.saved) {
                self.dropped.push(oldest);
            }
        }
        // The end of the input leaves nothing, and event time where it is.
        self.next_ms = self.next(until.map_or(i128::from(self.watermark_ms), i128::from));
        cx.base().origin = origin;
    }

    /// Gives the final results of the windows that end behind `from` and not behind `to`.
    fn finals<R, C, N>(&mut self, from: i128, to: i128, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let mut after = from;
        while let Some(end) = self.next_end(after).filter(|end| *end <= to) {
            self.give_all(end, Fired::Final, next, cx);
            after = end;
        }
    }

    #[inline(always)]
    fn take<R, C, L, N>(&mut self, record: Rec<K, T>, late: &mut L, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        L: Push<Rec<K, T>, C>,
        N: Push<Rec<K, R>, C>,
    {
        let start = self.spans.pane(record.ts);
        if !self.panes.contains_key(&start) && !self.open(start) {
            return late.push(record, cx);
        }
        let Some(pane) = self.panes.get_mut(&start) else { return };
        let is_over = pane.first_end <= i128::from(self.watermark_ms);
        // Only updates need the key again.
        let again = is_over.then(|| record.key.clone());
        let mut is_new = false;
        let slot = match pane.rows.entry(record.key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let stored: Option<Kept<A::State>> = match self.unread_ms {
                    Some(unread_ms) if start >= unread_ms => {
                        cx.base().fetch(self.id, &pane_tag(start), new.key())
                    }
                    _ => None,
                };
                is_new = stored.is_none();
                let kept = stored.unwrap_or_else(|| Kept { state: self.aggregates.init(), fresh: false });
                new.insert(Slot { kept, changed: false })
            }
        };
        self.aggregates.add(&mut slot.kept.state, &record.val);
        slot.changed = true;
        slot.kept.fresh = true;
        pane.touched = true;
        if !std::mem::replace(&mut pane.fresh, true)
            && let Some(early) = self.next_early(i128::from(self.watermark_ms))
        {
            self.next_ms = self.next_ms.min(clamp(early));
        }
        if let Some(key) = again {
            self.update(start, &key, is_new, next, cx);
        }
    }

    /// Begins the pane that begins at `start`; `false` when its time is over.
    #[inline(never)]
    fn open(&mut self, start: i64) -> bool {
        let now = i128::from(self.watermark_ms);
        if self.over(start) <= now {
            self.late += 1;
            return false;
        }
        let first_end = self.spans.next_end(start, BEFORE_TIME);
        let pane = Pane { rows: HashMap::new(), touched: false, saved: false, fresh: false, first_end };
        self.panes.insert(start, pane);
        let end = if self.spans.last_end(start) > now { self.spans.next_end(start, now) } else { i128::MAX };
        self.next_ms = self.next_ms.min(clamp(end.min(self.over(start))));
        true
    }

    /// A record has come into a pane of which windows were over: they give results again.
    #[inline(never)]
    fn update<R, C, N>(&mut self, pane: i64, key: &K, is_new: bool, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let (now, last_end) = (i128::from(self.watermark_ms), self.spans.last_end(pane));
        let mut end = self.spans.next_end(pane, BEFORE_TIME);
        let lateness = self.lateness();
        while end <= now && end <= last_end {
            if end + lateness > now {
                self.read_until(end, cx.base());
                let others = self.panes.range(clamp(end - self.spans.size())..);
                let mut others = others.take_while(|(start, _)| i128::from(**start) < end);
                let was =
                    !is_new || others.any(|(&start, other)| start != pane && other.rows.contains_key(key));
                let fired = if was { Fired::Update } else { Fired::Final };
                self.give(key.clone(), end, fired, next, cx);
            }
            end = self.spans.next_end(pane, end);
        }
        // Windows that are still open have not seen the record.
        if last_end <= now {
            self.settle(pane, key);
        }
    }

    #[inline(always)]
    fn advance<R, C, N>(&mut self, at_ms: i64, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        if at_ms >= self.next_ms {
            self.pass(Some(at_ms), next, cx);
        }
        self.watermark_ms = at_ms;
        next.watermark(at_ms, cx);
    }
}

impl<K: Key, T, A, F, R> Operator<Rec<K, T>> for UpdatingAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    type Out = Rec<K, R>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        self.take(record, &mut Nowhere, next, cx);
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        self.advance(at_ms, next, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        if matches!(message, System::End) {
            self.pass(None, next, cx);
        } else {
            self.hear(message);
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}

impl<K: Key, T, A, F, R> LateOperator<Rec<K, T>> for UpdatingAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    #[inline(always)]
    fn push_late<C, L, N>(&mut self, record: Rec<K, T>, late: &mut L, next: &mut N, cx: &mut C)
    where
        C: Context,
        L: Push<Rec<K, T>, C>,
        N: Push<Rec<K, R>, C>,
    {
        self.take(record, late, next, cx);
    }
}
