//! `window(..).aggregate(..)`: one result per key and window of event time.
//!
//! Time is cut into panes, the largest spans of which every window is a whole number (a tumbling window is one
//! pane). A record goes into one pane, whatever the overlap of the windows; a window that fires merges its
//! panes. This is the slicing of Li et al., "No Pane, No Gain", SIGMOD Record 34(1), 2005.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use serde::de::DeserializeOwned;

use crate::aggregate::{Aggregates, type_name};
use crate::bug::{Bug, planted};
use crate::codec;
use crate::context::{Context, Cx};
use crate::effects::Origin;
use crate::error::CodecError;
use crate::exchange::combined::Combined;
use crate::inspect::Find;
use crate::key::Key;
use crate::op::late::{LateOperator, Nowhere};
use crate::op::order;
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::{OperatorId, Page, Saver};
use crate::time::{Fired, UNTIMED, Window};

mod combiner;
mod look_ahead;
mod marks;
mod pane;
pub(crate) mod spans;
pub(crate) mod tags;
#[cfg(test)]
mod tests;

use marks::Marks;
use pane::{Pane, Rows};
use spans::{Cut, Spans};
use tags::{clamp, in_pane, pane_of, pane_tag};

/// Aggregates the records of each key in each window.
///
/// **State** one accumulator per key and pane, dropped when the last window over the pane has fired; the
/// watermark. **Time** a window fires when the watermark reaches its end (exclusive): results in order of
/// (end, start, key), each with event time end − 1 ms, in front of the watermark that fired them. A record is
/// late, and counted, when the last window it belongs to has fired. `End` fires every window that has records.
#[derive(Debug)]
pub struct WindowAggregate<K, T, A: Aggregates<T>, F> {
    id: OperatorId,
    aggregates: Arc<A>,
    finish: F,
    spans: Spans,
    // The pane of the last record: its rows are here and not in `panes`. Almost every record belongs to it,
    // so one comparison stands for the search of the pane.
    hot_start_ms: i64,
    hot_len_ms: u64,
    hot: Rows<K, A::State>,
    hot_changed: Option<Marks>,
    panes: BTreeMap<i64, Pane<K, A::State>>,
    next_fire_ms: i64,
    watermark_ms: i64,
    late: u64,
    /// The emptied table of a pane that fired, for the next one: windows tend to have as many keys as the
    /// ones before, and a table that is large enough is not hashed again while it grows.
    spare: Rows<K, A::State>,
    /// Panes with rows in the store that were dropped since the last checkpoint.
    dropped: Vec<i64>,
    /// Panes from here on may have rows in the store that are not in memory; `None` when all are here.
    unread_ms: Option<i64>,
    _value: PhantomData<fn(T)>,
}

impl<K: Key, T, A: Aggregates<T>, F> WindowAggregate<K, T, A, F> {
    pub(crate) fn new(id: &'static str, cut: Cut, aggregates: A, finish: F) -> Self {
        Self {
            id: OperatorId::new(id),
            aggregates: Arc::new(aggregates),
            finish,
            spans: Spans::new(cut),
            hot_start_ms: 0,
            hot_len_ms: 0,
            hot: HashMap::new(),
            hot_changed: None,
            panes: BTreeMap::new(),
            next_fire_ms: i64::MAX,
            watermark_ms: UNTIMED,
            late: 0,
            spare: HashMap::new(),
            dropped: Vec::new(),
            unread_ms: None,
            _value: PhantomData,
        }
    }

    /// What the state is a state of.
    fn signature(&self) -> String {
        format!("{} of ({}) by {}", self.spans, A::signature(), type_name::<K>())
    }

    /// Makes the pane of `ts` the hot one; `false` when its last window has fired.
    #[inline(never)]
    fn turn(&mut self, ts: i64) -> bool {
        let start = self.spans.pane(ts);
        if self.spans.last_end(start) <= i128::from(self.watermark_ms) {
            return false;
        }
        self.cool();
        let spare = &mut self.spare;
        let pane = self.panes.entry(start).or_insert_with(|| Pane::new(std::mem::take(spare)));
        pane.disorder();
        pane.touched = true;
        self.hot = std::mem::take(&mut pane.rows);
        self.hot_changed = pane.changed.take();
        self.hot_start_ms = start;
        self.hot_len_ms = self.spans.pane_len(start);
        let fires = self.spans.next_end(start, i128::from(self.watermark_ms));
        self.next_fire_ms = self.next_fire_ms.min(clamp(fires));
        true
    }

    /// Puts the rows of the hot pane back to the others.
    fn cool(&mut self) {
        if self.hot_len_ms > 0
            && let Some(pane) = self.panes.get_mut(&self.hot_start_ms)
        {
            pane.rows = std::mem::take(&mut self.hot);
            pane.changed = self.hot_changed.take();
        }
        self.hot_len_ms = 0;
    }

    /// Fires every window that ends at or before `until`.
    #[inline(never)]
    fn fire<R, C, N>(&mut self, until: i128, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        self.cool();
        self.read_until(until, cx.base());
        // What fails behind a firing is no fault of the record that happened to be running.
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        let mut fired = i128::from(self.watermark_ms);
        while let Some((&first, _)) = self.panes.first_key_value() {
            let end = self.spans.next_end(first, fired);
            if end > until {
                break;
            }
            self.emit(end, next, cx);
            fired = end;
        }
        self.next_fire_ms = self.next_fire(fired.max(until.min(i128::from(i64::MAX))));
        cx.base().origin = origin;
    }

    /// When the first window ends that ends after `fired` and has records, as far as that is known.
    fn next_fire(&self, fired: i128) -> i64 {
        let first = self.panes.first_key_value();
        let here = first.map_or(i64::MAX, |(&pane, _)| clamp(self.spans.next_end(pane, fired)));
        let Some(unread_ms) = self.unread_ms else { return here };
        // A window that ends later and holds an older pane than this one holds this one too.
        let pane = self.spans.pane(unread_ms.max(clamp(fired)));
        here.min(clamp(self.spans.next_end(pane, fired)))
    }

    /// Reads the rows of the panes that begin in front of `until` and are not here yet; what is here is newer.
    fn read_until(&mut self, until: i128, cx: &mut Cx) {
        let Some(from_ms) = self.unread_ms else { return };
        let all = until > i128::from(i64::MAX);
        if until <= i128::from(from_ms) {
            return;
        }
        let to = pane_tag(clamp(until));
        let panes = &mut self.panes;
        cx.fetch_range(self.id, &pane_tag(from_ms), (!all).then_some(&to), &mut |key, value| {
            put_aside(panes, key, value)
        });
        self.unread_ms = (!all).then(|| clamp(until));
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        let Some(mut unread_ms) = self.unread_ms else { return };
        self.cool();
        let panes = &mut self.panes;
        page.rows(self.id, &mut |key, value| {
            let (start, _) = pane_of(key)?;
            // The rows of older panes are all here, or have fired.
            if start >= unread_ms || planted(Bug::PageOverwrites) {
                put_aside(panes, key, value)?;
                // A page begins where the one before ended, so that no row in front of this one is to come.
                unread_ms = unread_ms.max(start);
            }
            Ok(())
        });
        self.unread_ms = Some(unread_ms);
    }

    /// Gives out the results of the window that ends at `end` and drops the panes that it was the last for.
    fn emit<R, C, N>(&mut self, end: i128, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let start = clamp(end - self.spans.size());
        let window = Window { start, end: clamp(end), fired: Fired::Final };
        let mut rows: Vec<(K, A::State)> = Vec::new();
        let mut panes = 0;
        while let Some(oldest) = self.panes.first_entry() {
            // Panes are dropped from the oldest on, since an older pane is never needed longer.
            if self.spans.last_end(*oldest.key()) > end {
                break;
            }
            let (start, mut pane) = oldest.remove_entry();
            if pane.saved {
                self.dropped.push(start);
            }
            panes += 1;
            rows.reserve(pane.rows.len());
            let len = pane.rows.len();
            rows.extend(pane.in_order.into_iter().chain(pane.rows.drain()));
            keep_table(&mut self.spare, pane.rows, len);
        }
        for (&start, pane) in &mut self.panes {
            if i128::from(start) >= end {
                break;
            }
            panes += 1;
            let len = pane.rows.len();
            pane.order();
            keep_table(&mut self.spare, std::mem::take(&mut pane.rows), len);
            rows.reserve(pane.in_order.len());
            rows.extend_from_slice(&pane.in_order);
        }
        if planted(Bug::HashOrder) {
            // As the table gives them.
            rows.into_iter().for_each(|row| self.give(row, clamp(end - 1), window, next, cx));
        } else if panes == 1 {
            order::by_key(rows, |row| self.give(row, clamp(end - 1), window, next, cx));
        } else {
            // Stable, so that the parts of one key stay in the order of their panes; and fast, since the panes are
            // in order already, but for one that is new.
            rows.sort_by(|(a, _), (b, _)| a.cmp(b));
            let mut rows = rows.into_iter().peekable();
            while let Some((key, mut state)) = rows.next() {
                while let Some((_, part)) = rows.next_if(|(other, _)| *other == key) {
                    self.aggregates.merge(&mut state, part);
                }
                self.give((key, state), clamp(end - 1), window, next, cx);
            }
        }
    }

    /// Gives out the result of a key, with its time.
    #[inline]
    fn give<R, C, N>(&self, (key, state): (K, A::State), ts: i64, window: Window, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        match self.aggregates.finish(state) {
            Ok(values) => {
                let val = (self.finish)(&key, window, values);
                next.push(Rec { ts, key, val }, cx);
            }
            Err(error) => {
                let error = format!("in the window [{}, {}): {error}", window.start, window.end);
                cx.base().reject_result(self.id.name(), error, serde_json::to_string(&key).ok());
            }
        }
    }

    #[inline(always)]
    fn take<C, L>(&mut self, record: Rec<K, T>, late: &mut L, cx: &mut C)
    where
        C: Context,
        L: Push<Rec<K, T>, C>,
    {
        // One unsigned comparison tests both ends.
        if record.ts.wrapping_sub(self.hot_start_ms) as u64 >= self.hot_len_ms && !self.turn(record.ts) {
            self.late += 1;
            return late.push(record, cx);
        }
        let aggregates = &*self.aggregates;
        if let Some(changed) = &mut self.hot_changed {
            changed.set(&record.key);
        }
        let state = match self.hot.entry(record.key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let stored = pane::stored(self.id, self.unread_ms, self.hot_start_ms, new.key(), cx.base());
                new.insert(stored.unwrap_or_else(|| aggregates.init()))
            }
        };
        aggregates.add(state, &record.val);
    }

    #[inline(always)]
    fn advance<R, C, N>(&mut self, at_ms: i64, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        if at_ms >= self.next_fire_ms {
            if planted(Bug::FiringCarriesNew) {
                next.watermark(at_ms, cx);
            }
            self.fire(i128::from(at_ms), next, cx);
        }
        self.watermark_ms = at_ms;
        next.watermark(at_ms, cx);
    }

    #[inline(never)]
    fn hear<R, C, N>(&mut self, message: &mut System<'_>, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &self.signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let panes = &mut self.panes;
                let all = loader.rows(self.id, &mut |key, value| put_aside(panes, key, value));
                self.unread_ms = (!all).then_some(i64::MIN);
                self.next_fire_ms = self.next_fire(i128::from(self.watermark_ms));
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => self.unread_ms = None,
            System::CheckPoint(saver) => self.save(saver),
            System::End => self.fire(i128::MAX, next, cx),
            System::RemoveSplit => {
                self.hot_len_ms = 0;
                self.hot = HashMap::new();
                self.hot_changed = None;
                self.panes.clear();
                self.next_fire_ms = i64::MAX;
            }
            System::Drain(effects) => effects.late += std::mem::take(&mut self.late),
            System::Ahead(ahead) => self.look_ahead(ahead),
            System::Inspect(inquiry) => inquiry.ask::<K, A::State>(self.id, Find::Anywhere, &in_pane),
            System::Observe(_)
            | System::Tables(_)
            | System::Refresh
            | System::Clock
            | System::Idle
            | System::Active
            | System::Absent
            | System::Reach(_) => {}
            System::Combined(_) => unreachable!("rows come to the aggregate that combines them"),
        }
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        self.cool();
        for start in self.dropped.drain(..) {
            saver.delete_all(self.id, &pane_tag(start));
        }
        for (&start, pane) in self.panes.iter_mut().filter(|(_, pane)| pane.touched) {
            let tag = pane_tag(start);
            pane.save(|key, state| saver.put(self.id, &tag, key, state));
        }
        saver.put_value(self.id, &self.signature(), &self.watermark_ms);
    }
}

/// Keeps an emptied table that had `len` rows, if it is worth more than the one that is kept.
fn keep_table<K, S>(spare: &mut Rows<K, S>, table: Rows<K, S>, len: usize) {
    // A table that was mostly empty is not worth its memory.
    if table.capacity() > spare.capacity() && table.capacity() / 4 <= len {
        *spare = table;
    }
}

/// Puts a stored row into its pane, unless the key is there already.
fn put_aside<K: Key, S: DeserializeOwned>(
    panes: &mut BTreeMap<i64, Pane<K, S>>,
    key: &[u8],
    value: &[u8],
) -> Result<(), CodecError> {
    let (start, key) = pane_of(key)?;
    let pane = panes.entry(start).or_insert_with(|| Pane::new(HashMap::new()));
    pane.put_aside(codec::key_from_slice(key)?, || codec::from_slice(value))
}

impl<K: Key, T: 'static, A, F, R> Operator<Rec<K, T>> for WindowAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    type Out = Rec<K, R>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, _next: &mut N, cx: &mut C) {
        self.take(record, &mut Nowhere, cx);
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
        if let System::Combined(combined) = message {
            let Combined { rows, marks } = combined;
            return self.take_combined(Combined { rows: &mut **rows, marks }, next, cx);
        }
        self.hear(message, next, cx);
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}

impl<K: Key, T: 'static, A, F, R> LateOperator<Rec<K, T>> for WindowAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    #[inline(always)]
    fn push_late<C, L, N>(&mut self, record: Rec<K, T>, late: &mut L, _next: &mut N, cx: &mut C)
    where
        C: Context,
        L: Push<Rec<K, T>, C>,
        N: Push<Rec<K, R>, C>,
    {
        self.take(record, late, cx);
    }
}
