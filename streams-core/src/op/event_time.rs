//! `event_time`: says when a record happened, and makes the watermark from it.

use crate::context::Context;
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// Reads each record's event time; the watermark follows the largest one at the given distance.
///
/// **State** the largest time seen and the watermark given. **Time** the watermark is
/// `largest time - bound`, includes the record that raises it, and goes out in front of that record.
#[derive(Debug, Clone, Copy)]
pub struct EventTime<F> {
    id: OperatorId,
    f: F,
    bound_ms: i64,
    /// There is an event time before this one, whose watermarks mean nothing here.
    renewed: bool,
    max_ms: i64,
    watermark_ms: i64,
}

impl<F> EventTime<F> {
    pub(crate) fn new(f: F, bound_ms: i64, renewed: bool) -> Self {
        let id = OperatorId::new("event_time");
        Self { id, f, bound_ms, renewed, max_ms: UNTIMED, watermark_ms: UNTIMED }
    }
}

impl<K, T, F: Fn(&T) -> i64> Operator<Rec<K, T>> for EventTime<F> {
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let ts = (self.f)(&record.val);
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
