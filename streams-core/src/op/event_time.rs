//! `event_time`: says when a record happened, and makes the watermark from it; `store_time`: that it happened when
//! the broker stored it.

use std::marker::PhantomData;

use crate::context::{Context, Cx};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::{TimeBound, UNTIMED, as_ms};

/// Reads each record's event time; the watermark follows the largest one at the given distance.
///
/// **State** the largest time seen and the watermark given. **Time** the watermark is
/// `largest time - bound`, includes the record that raises it, and goes out in front of that record. A record whose
/// time lies too far ahead is refused and moves nothing ([`crate::time::OutOfOrder::at_most_ahead`]).
#[derive(Debug, Clone, Copy)]
pub struct EventTime<F, B> {
    id: OperatorId,
    f: F,
    bound_ms: i64,
    ahead_ms: i64,
    /// There is an event time before this one, whose watermarks mean nothing here.
    renewed: bool,
    max_ms: i64,
    watermark_ms: i64,
    _bound: PhantomData<fn() -> B>,
}

impl<F, B: TimeBound> EventTime<F, B> {
    pub(crate) fn new(f: F, bound: B, renewed: bool) -> Self {
        Self::named("event_time", f, bound, renewed)
    }

    pub(crate) fn named(id: &'static str, f: F, bound: B, renewed: bool) -> Self {
        let id = OperatorId::new(id);
        let (bound, ahead) = bound.lengths();
        let (bound_ms, ahead_ms) = (as_ms(bound), as_ms(ahead));
        Self {
            id,
            f,
            bound_ms,
            ahead_ms,
            renewed,
            max_ms: UNTIMED,
            watermark_ms: UNTIMED,
            _bound: PhantomData,
        }
    }

    /// Why a record of time `ts` is refused.
    fn refuse(&self, ts: i64, cx: &Cx) -> Option<String> {
        let (stored_ms, ahead_ms) = (cx.stored_ms, self.ahead_ms);
        let too_far = stored_ms != UNTIMED && i128::from(ts) - i128::from(stored_ms) > i128::from(ahead_ms);
        too_far.then(|| {
            format!(
                "its event time {ts} lies more than {ahead_ms} ms ahead of {stored_ms}, when it was stored"
            )
        })
    }
}

/// Where the time of a record comes from.
pub trait ReadTime<T> {
    /// Its time in ms; none, and why, where it has none.
    ///
    /// # Errors
    /// Why the record has no time, for a person to read; it becomes a reject.
    fn read(&self, value: &T, cx: &Cx) -> Result<i64, &'static str>;
}

#[diagnostic::do_not_recommend]
impl<T, F: Fn(&T) -> i64> ReadTime<T> for F {
    #[inline(always)]
    fn read(&self, value: &T, _cx: &Cx) -> Result<i64, &'static str> {
        Ok(self(value))
    }
}

/// `store_time`: when the broker stored the record.
#[derive(Debug, Clone, Copy)]
pub struct Stored;

impl<T> ReadTime<T> for Stored {
    #[inline(always)]
    fn read(&self, _value: &T, cx: &Cx) -> Result<i64, &'static str> {
        match cx.stored_ms {
            UNTIMED => Err(
                "no broker stored it, so it has no store time; read it from a topic, or give it a time with `.event_time(..)`",
            ),
            stored_ms => Ok(stored_ms),
        }
    }
}

impl<K, T, F: ReadTime<T>, B: TimeBound> Operator<Rec<K, T>> for EventTime<F, B> {
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, mut record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let ts = match self.f.read(&record.val, cx.base()) {
            Ok(ts) => ts,
            Err(why) => return cx.base().reject(self.id.name(), why.to_owned(), None),
        };
        if B::AHEAD
            && let Some(error) = self.refuse(ts, cx.base())
        {
            return cx.base().reject(self.id.name(), error, None);
        }
        if ts > self.max_ms {
            self.max_ms = ts;
            let at_ms = ts.saturating_sub(self.bound_ms);
            // Lower only behind a watermark that was given from outside.
            if at_ms > self.watermark_ms {
                self.watermark_ms = at_ms;
                next.watermark(at_ms, cx);
            }
        }
        // In place: a large record is not copied for its time.
        record.ts = ts;
        next.push(record, cx);
    }

    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        if !self.renewed && at_ms > self.watermark_ms {
            self.watermark_ms = at_ms;
            next.watermark(at_ms, cx);
        }
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        match message {
            System::NewSplit(loader) => {
                if let Some((max_ms, watermark_ms)) = loader.value(self.id, "event_time") {
                    self.max_ms = max_ms;
                    self.watermark_ms = watermark_ms;
                }
            }
            System::CheckPoint(saver) => {
                saver.put_value(self.id, "event_time", &(self.max_ms, self.watermark_ms))
            }
            System::Observe(gauges) if self.max_ms != UNTIMED => {
                let lowest = gauges.watermark_ms.unwrap_or(i64::MAX);
                gauges.watermark_ms = Some(lowest.min(self.watermark_ms));
            }
            _ => {}
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}
