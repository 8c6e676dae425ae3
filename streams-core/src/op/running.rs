//! `running(..).aggregate(..)`: one result per record, over all records of its key so far.

use std::marker::PhantomData;
use std::time::Duration;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::aggregate::{Aggregates, type_name};
use crate::bug::{Bug, planted};
use crate::codec;
use crate::context::Context;
use crate::key::Key;
use crate::push::{Operator, Push, System};
use crate::record::{EventTimed, NoTime, Rec};
use crate::state::{OperatorId, Page, Saver};
use crate::time::{Fired, UNTIMED, Window, as_ms};
use crate::window::{Running, Windowed};

/// Keys are kept as long as the job lives.
#[derive(Debug, Clone, Copy)]
pub struct Forever;

/// A key is forgotten when event time has passed its last record by this much.
#[derive(Debug, Clone, Copy)]
pub struct Ttl(Duration);

/// Keeps every key: state grows with the number of different keys.
#[must_use]
pub const fn forever() -> Forever {
    Forever
}

/// Forgets a key that has had no record for `length` of event time.
#[must_use]
pub const fn ttl(length: Duration) -> Ttl {
    Ttl(length)
}

/// How long the state of a key is kept; `Tm` is what the stream knows of time.
#[diagnostic::on_unimplemented(
    message = "this stream has no event time",
    label = "`ttl` counts in event time",
    note = "write `.event_time(|r| r.at, out_of_order(secs(5)))` before it, or keep every key with `forever()`"
)]
pub trait Retention<Tm>: Copy + 'static {
    /// In ms; `None` is for ever.
    fn ttl_ms(self) -> Option<i64>;
}

impl Retention<NoTime> for Forever {
    fn ttl_ms(self) -> Option<i64> {
        None
    }
}

impl Retention<EventTimed> for Forever {
    fn ttl_ms(self) -> Option<i64> {
        None
    }
}

impl Retention<EventTimed> for Ttl {
    fn ttl_ms(self) -> Option<i64> {
        Some(as_ms(self.0))
    }
}

impl Windowed for Running<Option<i64>> {
    type Span = Window;
    type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = RunningAggregate<K, T, A, F>;

    fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
        self,
        id: &'static str,
        aggregates: A,
        finish: F,
    ) -> RunningAggregate<K, T, A, F> {
        RunningAggregate {
            id: OperatorId::new(id),
            aggregates,
            finish,
            ttl_ms: self.0,
            rows: HashMap::new(),
            watermark_ms: UNTIMED,
            sweep_ms: UNTIMED,
            dropped: Vec::new(),
            loading: false,
            _value: PhantomData,
        }
    }
}

/// Aggregates all records of a key so far and gives the result with each of them.
///
/// **State** one accumulator and the largest event time per key, dropped when the watermark reaches that time
/// plus the `ttl`. **Time** watermarks pass unchanged; a result has the event time of its record.
#[derive(Debug)]
pub struct RunningAggregate<K, T, A: Aggregates<T>, F> {
    id: OperatorId,
    aggregates: A,
    finish: F,
    ttl_ms: Option<i64>,
    rows: HashMap<K, Row<A::State>>,
    watermark_ms: i64,
    /// When keys are looked through for ones to forget. When that is changes no result.
    sweep_ms: i64,
    dropped: Vec<K>,
    /// Not all rows are in memory. Those of keys that were dropped meanwhile may come again with a page that was
    /// read before; their time is over, so they say nothing and are dropped again.
    loading: bool,
    _value: PhantomData<fn(T)>,
}

#[derive(Debug)]
struct Row<S> {
    kept: Kept<S>,
    changed: bool,
    saved: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    state: S,
    last_ms: i64,
}

/// Whether event time has passed `last_ms` by the `ttl`. Counted back from the watermark, because the sum of
/// the other two may lie behind the end of time, which no watermark reaches.
#[inline(always)]
pub(super) fn is_forgotten(last_ms: i64, ttl_ms: i64, watermark_ms: i64) -> bool {
    watermark_ms.checked_sub(ttl_ms).is_some_and(|oldest_ms| last_ms <= oldest_ms)
}

/// In front of the key of every row.
const ROWS: &[u8] = b"r";

impl<K: Key, T, A: Aggregates<T>, F> RunningAggregate<K, T, A, F> {
    /// What the state is a state of. Another `ttl` goes on with it.
    fn signature(&self) -> String {
        format!("running ({}) by {}", A::signature(), type_name::<K>())
    }

    fn sweep(&mut self, ttl_ms: i64) {
        let (watermark_ms, dropped) = (self.watermark_ms, &mut self.dropped);
        self.rows.retain(|key, row| {
            let keep = !is_forgotten(row.kept.last_ms, ttl_ms, watermark_ms);
            if !keep && row.saved {
                dropped.push(key.clone());
            }
            keep
        });
        self.sweep_ms = watermark_ms.saturating_add(ttl_ms.max(1));
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        if !self.loading {
            return;
        }
        let rows = &mut self.rows;
        page.rows(self.id, &mut |key, value| {
            let key: K = codec::key_from_slice(key.get(ROWS.len()..).unwrap_or_default())?;
            if !rows.contains_key(&key) || planted(Bug::PageOverwrites) {
                rows.insert(key, Row { kept: codec::from_slice(value)?, changed: false, saved: true });
            }
            Ok(())
        });
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        for key in self.dropped.drain(..) {
            saver.delete(self.id, ROWS, &key);
        }
        for (key, row) in self.rows.iter_mut().filter(|(_, row)| row.changed) {
            row.changed = false;
            row.saved = true;
            saver.put(self.id, ROWS, key, &row.kept);
        }
        saver.put_value(self.id, &self.signature(), &self.watermark_ms);
    }
}

impl<K: Key, T, A, F, R> Operator<Rec<K, T>> for RunningAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    type Out = Rec<K, R>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let aggregates = &self.aggregates;
        let fresh = || Row {
            kept: Kept { state: aggregates.init(), last_ms: UNTIMED },
            changed: false,
            saved: false,
        };
        // A known key is not cloned.
        let row = match self.rows.get_mut(&record.key) {
            Some(row) => row,
            None => {
                let stored = match self.loading {
                    true => cx.base().fetch(self.id, ROWS, &record.key),
                    false => None,
                };
                let stored = stored.map(|kept| Row { kept, changed: false, saved: true });
                self.rows.entry(record.key.clone()).or_insert_with(|| stored.unwrap_or_else(fresh))
            }
        };
        if let Some(ttl_ms) = self.ttl_ms
            && is_forgotten(row.kept.last_ms, ttl_ms, self.watermark_ms)
        {
            row.kept.state = aggregates.init();
            row.kept.last_ms = UNTIMED;
        }
        row.changed = true;
        row.kept.last_ms = row.kept.last_ms.max(record.ts);
        aggregates.add(&mut row.kept.state, &record.val);
        match aggregates.value(&row.kept.state) {
            Ok(values) => {
                let window = Window { start: UNTIMED, end: UNTIMED, fired: Fired::Final };
                let val = (self.finish)(&record.key, window, values);
                next.push(Rec { ts: record.ts, key: record.key, val }, cx);
            }
            Err(error) => {
                let key = serde_json::to_string(&record.key).ok();
                cx.base().reject_result(self.id.name(), error.to_string(), key);
            }
        }
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        self.watermark_ms = at_ms;
        if let Some(ttl_ms) = self.ttl_ms
            && at_ms >= self.sweep_ms
        {
            self.sweep(ttl_ms);
        }
        next.watermark(at_ms, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &self.signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let rows = &mut self.rows;
                let all = loader.rows(self.id, &mut |key, value| {
                    let key = key.get(ROWS.len()..).unwrap_or_default();
                    let kept = codec::from_slice(value)?;
                    rows.insert(codec::key_from_slice(key)?, Row { kept, changed: false, saved: true });
                    Ok(())
                });
                self.loading = !all;
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => {
                self.loading = false;
                // Rows that came in pages may be ones that a sweep would have dropped.
                self.sweep_ms = UNTIMED;
            }
            System::CheckPoint(saver) => self.save(saver),
            System::RemoveSplit => self.rows.clear(),
            _ => {}
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}
