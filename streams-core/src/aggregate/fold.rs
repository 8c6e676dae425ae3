//! `fold(start, |acc, r| ..)`, as on iterators, and `fold_merge`, which says also how two results join.

use crate::aggregate::{Aggregate, AggregateError, Kept, Start, type_name};

/// See [`fold`].
#[derive(Debug, Clone, Copy)]
pub struct Fold<T, S, F> {
    start: Start<T, S>,
    step: F,
}

/// See [`fold_merge`].
#[derive(Debug, Clone, Copy)]
pub struct FoldMerge<T, S, F, M> {
    fold: Fold<T, S, F>,
    join: M,
}

/// Goes from `start` over all records in the order of their arrival, as `Iterator::fold` does.
///
/// It stands in `tumbling` windows and in `running`, which see all records of a window or key one after the
/// other. Windows that are put together from parts would need to join two results, and refuse it at compile
/// time: use [`fold_merge`] or [`reduce`](super::reduce).
/// **State** one value of the type of `start`.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Reading { sensor: u32, value: f64 }
///
/// #[stream_job]
/// fn smooth(readings: Stream<Reading>) -> Stream<f64> {
///     readings
///         .key_by(|r| r.sensor)
///         .running(forever())
///         .aggregate(fold(0.0, |smoothed, r| 0.5 * smoothed + 0.5 * r.value))
/// }
///
/// let mut job = Harness::new(smooth);
/// for value in [8.0, 4.0, 2.0] {
///     job.push("readings", Reading { sensor: 1, value });
/// }
/// assert_eq!(job.take::<f64>("smooth"), [4.0, 4.0, 3.0]);
/// ```
pub fn fold<T, S: Kept<M>, F: Fn(S, &T) -> S, M>(start: Start<T, S>, step: F) -> S::Proven<Fold<T, S, F>> {
    S::proven(Fold { start, step })
}

/// A [`fold`] that stands in every window, because it says how what was folded over two parts becomes what is
/// folded over both; every part begins with `start`.
///
/// `join` must be associative and agree with `step`: joining what two halves give is what all records give.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Hit { host: String, bytes: u64, at: i64 }
///
/// #[stream_job]
/// fn large(hits: Stream<Hit>) -> Stream<u64> {
///     hits.event_time(|h| h.at, out_of_order(secs(0)))
///         .key_by(|h| h.host.clone())
///         .window(hopping(secs(2), secs(1)))
///         .aggregate(fold_merge(0_u64, |n, h| n + u64::from(h.bytes > 9), |n, more| n + more))
/// }
///
/// let mut job = Harness::new(large);
/// for (at, bytes) in [(0, 10), (1_000, 5), (1_500, 20)] {
///     job.push("hits", Hit { host: "h".to_owned(), bytes, at });
/// }
/// job.end();
/// assert_eq!(job.take::<u64>("large"), [1, 2, 1]);
/// ```
pub fn fold_merge<T, S: Kept<P>, F: Fn(S, &T) -> S, M: Fn(S, S) -> S, P>(
    start: Start<T, S>,
    step: F,
    join: M,
) -> S::Proven<FoldMerge<T, S, F, M>> {
    S::proven(FoldMerge { fold: Fold { start, step }, join })
}

/// The state is `None` only while the user's closure has it.
impl<T: 'static, S: Kept + Sync, F: Fn(S, &T) -> S + Send + Sync + 'static> Aggregate<T> for Fold<T, S, F> {
    type State = Option<S>;
    type Out = S;

    fn signature() -> String {
        format!("fold({})", type_name::<S>())
    }

    #[inline(always)]
    fn init(&self) -> Option<S> {
        Some(self.start.0.clone())
    }

    #[inline(always)]
    fn add(&self, state: &mut Option<S>, value: &T) {
        *state = state.take().map(|folded| (self.step)(folded, value));
    }

    fn merge(&self, _state: &mut Option<S>, _behind: Option<S>) {
        unreachable!("a `fold` stands in no window that is put together from parts")
    }

    fn finish(&self, state: Option<S>) -> Result<S, AggregateError> {
        state.ok_or(AggregateError::Empty("fold"))
    }
}

impl<T: 'static, S: Kept + Sync, F, M> Aggregate<T> for FoldMerge<T, S, F, M>
where
    F: Fn(S, &T) -> S + Send + Sync + 'static,
    M: Fn(S, S) -> S + Send + Sync + 'static,
{
    type State = Option<S>;
    type Out = S;

    fn signature() -> String {
        Fold::<T, S, F>::signature()
    }

    #[inline(always)]
    fn init(&self) -> Option<S> {
        self.fold.init()
    }

    #[inline(always)]
    fn add(&self, state: &mut Option<S>, value: &T) {
        self.fold.add(state, value);
    }

    fn merge(&self, state: &mut Option<S>, behind: Option<S>) {
        *state = match (state.take(), behind) {
            (Some(front), Some(behind)) => Some((self.join)(front, behind)),
            (front, behind) => front.or(behind),
        };
    }

    fn finish(&self, state: Option<S>) -> Result<S, AggregateError> {
        self.fold.finish(state)
    }
}
