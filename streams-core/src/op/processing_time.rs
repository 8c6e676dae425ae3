//! `processing_time`: the time at which a record came in, as the time of everything behind.

use crate::context::Context;
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// Gives each record the time at which it came in; the watermark follows the clock, with records and without.
///
/// The clock is the driver's, which says what time it is in front of each batch and every now and then; no operator
/// asks one. What a record is given travels with it, so whatever lies behind a shuffle is a function of its queue as
/// ever. The stage in front is not, since a record that is read again comes in at another time: it is *held*, what
/// it gives out leaves with the commit that fixes it.
///
/// **State** the watermark. **Time** the watermark is the time that was said last, and never falls, also where the
/// clock goes back; a record has the time of the watermark, so none is late in front of a shuffle. A renewed time
/// (`event_time` behind it) is refused by nothing and means what it says.
/// `NewSplit` and `CheckPoint` load and save the watermark.
#[derive(Debug, Clone, Copy)]
pub struct ProcessingTime {
    id: OperatorId,
    watermark_ms: i64,
}

impl ProcessingTime {
    pub(crate) fn new() -> Self {
        Self { id: OperatorId::new("processing_time"), watermark_ms: UNTIMED }
    }

    fn advance<R, C: Context, N: Push<R, C>>(&mut self, now_ms: i64, next: &mut N, cx: &mut C) {
        if now_ms > self.watermark_ms {
            self.watermark_ms = now_ms;
            next.watermark(now_ms, cx);
        }
    }
}

impl<K, T> Operator<Rec<K, T>> for ProcessingTime {
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let now_ms = cx.base().now_ms;
        self.advance(now_ms, next, cx);
        next.push(Rec { ts: self.watermark_ms, ..record }, cx);
    }

    /// What comes from outside is no time of this stream.
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, _at_ms: i64, _next: &mut N, _cx: &mut C) {}

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, "processing_time") {
                    self.watermark_ms = watermark_ms;
                }
            }
            System::CheckPoint(saver) => saver.put_value(self.id, "processing_time", &self.watermark_ms),
            System::Clock => {
                let now_ms = cx.base().now_ms;
                self.advance(now_ms, next, cx);
            }
            // It is never quiet: time goes on without records.
            System::Idle | System::Active => return,
            System::Reach(reach) => reach.clock = true,
            System::Observe(gauges) if self.watermark_ms != UNTIMED => {
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
