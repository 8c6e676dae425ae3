//! `running(..).aggregate(..)`: one result per record, over all records of its key so far.

use std::marker::PhantomData;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::aggregate::{Aggregates, type_name};
use crate::context::Context;
use crate::key::Key;
use crate::op::keyed_rows::{KeyedRows, is_forgotten};
use crate::push::{Operator, Push, System};
use crate::record::{EventTimed, NoTime, Rec};
use crate::state::OperatorId;
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
        RunningAggregate { rows: KeyedRows::new(id), aggregates, finish, ttl_ms: self.0, _value: PhantomData }
    }
}

/// Aggregates all records of a key so far and gives the result with each of them.
///
/// **State** one accumulator and the largest event time per key, dropped when the watermark reaches that time
/// plus the `ttl`. **Time** watermarks pass unchanged; a result has the event time of its record.
#[derive(Debug)]
pub struct RunningAggregate<K, T, A: Aggregates<T>, F> {
    rows: KeyedRows<K, Kept<A::State>>,
    aggregates: A,
    finish: F,
    ttl_ms: Option<i64>,
    _value: PhantomData<fn(T)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    state: S,
    last_ms: i64,
}

/// What the rows are a state of. Another `ttl` goes on with them.
fn signature<K, T, A: Aggregates<T>>() -> String {
    format!("running ({}) by {}", A::signature(), type_name::<K>())
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
        let watermark_ms = self.rows.watermark_ms;
        let fresh = || Kept { state: aggregates.init(), last_ms: UNTIMED };
        let row = self.rows.at(&record.key, cx.base(), fresh);
        let kept = &mut row.value;
        if let Some(ttl_ms) = self.ttl_ms
            && is_forgotten(kept.last_ms, ttl_ms, watermark_ms)
        {
            *kept = fresh();
        }
        row.changed = true;
        kept.last_ms = kept.last_ms.max(record.ts);
        aggregates.add(&mut kept.state, &record.val);
        match aggregates.value(&kept.state) {
            Ok(values) => {
                let window = Window { start: UNTIMED, end: UNTIMED, fired: Fired::Final };
                let val = (self.finish)(&record.key, window, values);
                next.push(Rec { ts: record.ts, key: record.key, val }, cx);
            }
            Err(error) => {
                let key = serde_json::to_string(&record.key).ok();
                cx.base().reject_result(self.rows.id.name(), error.to_string(), key);
            }
        }
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        let ttl_ms = self.ttl_ms;
        let is_over =
            |kept: &Kept<A::State>| ttl_ms.is_some_and(|ttl_ms| is_forgotten(kept.last_ms, ttl_ms, at_ms));
        self.rows.advance(at_ms, ttl_ms, is_over);
        next.watermark(at_ms, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        self.rows.hear(message, signature::<K, T, A>);
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.rows.id = OperatorId::new(id);
    }
}
