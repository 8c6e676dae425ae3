//! `event_time`: says when a record happened, and makes the watermark from it.

use crate::context::{Context, Cx};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::{OutOfOrder, UNTIMED, as_ms};

/// Reads each record's event time; the watermark follows the largest one at the given distance.
///
/// **State** the largest time seen and the watermark given. **Time** the watermark is
/// `largest time - bound`, includes the record that raises it, and goes out in front of that record. A record whose
/// time lies too far ahead is refused and moves nothing ([`OutOfOrder::at_most_ahead`]).
#[derive(Debug, Clone, Copy)]
pub struct EventTime<F, const AHEAD: bool> {
    id: OperatorId,
    f: F,
    bound_ms: i64,
    ahead_ms: i64,
    /// There is an event time before this one, whose watermarks mean nothing here.
    renewed: bool,
    max_ms: i64,
    watermark_ms: i64,
}

impl<F, const AHEAD: bool> EventTime<F, AHEAD> {
    pub(crate) fn new(f: F, bound: OutOfOrder<AHEAD>, renewed: bool) -> Self {
        let id = OperatorId::new("event_time");
        let (bound_ms, ahead_ms) = (as_ms(bound.bound), as_ms(bound.ahead));
        Self { id, f, bound_ms, ahead_ms, renewed, max_ms: UNTIMED, watermark_ms: UNTIMED }
    }

    /// Why a record of time `ts` is refused.
    fn refuse(&self, ts: i64, cx: &Cx) -> Option<String> {
        let (from_ms, what) = match cx.stored_ms {
            UNTIMED => (self.max_ms, "the largest event time before it"),
            stored_ms => (stored_ms, "the time at which it was stored"),
        };
        let ahead_ms = self.ahead_ms;
        let too_far = from_ms != UNTIMED && i128::from(ts) - i128::from(from_ms) > i128::from(ahead_ms);
        too_far
            .then(|| format!("its event time {ts} lies more than {ahead_ms} ms ahead of {what}, {from_ms}"))
    }
}

impl<K, T, F: Fn(&T) -> i64, const AHEAD: bool> Operator<Rec<K, T>> for EventTime<F, AHEAD> {
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let ts = (self.f)(&record.val);
        if AHEAD && let Some(error) = self.refuse(ts, cx.base()) {
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
        next.push(Rec { ts, key: record.key, val: record.val }, cx);
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
