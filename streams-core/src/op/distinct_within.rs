//! `distinct_within`: of the records of a key that are near to each other in event time, the first to arrive.

use std::marker::PhantomData;
use std::time::Duration;

use crate::aggregate::type_name;
use crate::context::Context;
use crate::key::Key;
use crate::op::keyed_rows::{KeyedRows, is_forgotten};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::as_ms;

/// Passes a record on unless one of the same key was passed on whose time is less than the length away, before
/// or behind; what is held back is counted.
///
/// **State** the times of the passed records of a key that are still needed, one as a rule, dropped when the
/// watermark reaches the last of them plus the length. **Time** watermarks pass unchanged; a record keeps its
/// event time. A record that is late (behind the watermark) is compared with what is still kept, so one that
/// comes too late by the length or more may pass a second time.
/// A row is looked up, written and forgotten as `running` does with its own (`op/keyed_rows.rs`); `NewSplit`,
/// `CheckPoint` and `RemoveSplit` load, write and drop the rows.
#[derive(Debug)]
pub struct DistinctWithin<K, T> {
    rows: KeyedRows<K, Vec<i64>>,
    length_ms: i64,
    repeated: u64,
    _value: PhantomData<fn(T)>,
}

impl<K: Key, T> DistinctWithin<K, T> {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            rows: KeyedRows::new("distinct_within"),
            length_ms: as_ms(length),
            repeated: 0,
            _value: PhantomData,
        }
    }
}

/// What the rows are a state of. Another length goes on with them.
fn signature<K>() -> String {
    format!("distinct within a time by {}", type_name::<K>())
}

impl<K: Key, T> Operator<Rec<K, T>> for DistinctWithin<K, T> {
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        let (length_ms, watermark_ms) = (self.length_ms, self.rows.watermark_ms);
        let row = self.rows.at(&record.key, cx.base(), Vec::new);
        // When a row is dropped depends on checkpoints and restarts, so one that is over counts for nothing.
        let is_kept = |passed_ms: &i64| !is_forgotten(*passed_ms, length_ms, watermark_ms);
        let is_near = |passed_ms: &i64| passed_ms.abs_diff(record.ts) < length_ms.unsigned_abs();
        if row.value.iter().any(|passed_ms| is_near(passed_ms) && is_kept(passed_ms)) {
            self.repeated += 1;
            return;
        }
        row.value.retain(is_kept);
        row.value.push(record.ts);
        row.changed = true;
        next.push(record, cx);
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        let length_ms = self.length_ms;
        let is_over =
            |passed: &Vec<i64>| passed.iter().all(|passed_ms| is_forgotten(*passed_ms, length_ms, at_ms));
        self.rows.advance(at_ms, Some(length_ms), is_over);
        next.watermark(at_ms, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        if let System::Drain(effects) = message {
            effects.repeated += std::mem::take(&mut self.repeated);
        }
        self.rows.hear(message, signature::<K>);
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.rows.id = OperatorId::new(id);
    }
}
