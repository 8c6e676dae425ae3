//! `sum(|r| r.field)`: exact for integers, compensated for floats.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Number, type_name};

/// See [`sum`].
#[derive(Debug, Clone, Copy)]
pub struct Sum<T, F, R>(ByRef<T, F, R>);

/// The sum of what the closure gives, as the type that it gives.
///
/// Sums of integers and `Duration`s are exact: they are kept in more bits than any number of values can fill, so
/// that order and the parts of a window do not matter, and only a result can fail to fit. Floats carry their
/// rounding error along (see `number.rs`): the parts of an overlapping window are summed one by one and then
/// together, in the order of their times.
/// **State** 16 bytes, 24 for 128-bit integers.
/// **Errors** a sum that does not fit its type is never a wrapped number: the result is a dead letter with
/// operator, window, key and the exact sum. The records are not to blame, one by one, and are not refused: what
/// comes later may bring the sum back, and in `running` the next result is right again.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Change { account: u32, amount: i8 }
///
/// #[stream_job]
/// fn balance(changes: Stream<Change>) -> Stream<i8> {
///     changes.key_by(|c| c.account).running(forever()).aggregate(sum(|c| c.amount))
/// }
///
/// let mut job = Harness::new(balance);
/// for amount in [100, 100, -90] {
///     job.push("changes", Change { account: 1, amount });
/// }
/// assert_eq!(job.take::<i8>("balance"), [100, 110]);
/// assert!(job.rejects()[0].error.contains("the sum 200 does not fit `i8`"));
/// ```
pub fn sum<T, F: Fn(&T) -> R, R: Number>(of: ByRef<T, F, R>) -> R::Proven<Sum<T, F, R>> {
    R::proven(Sum(of))
}

impl<T: 'static, F: Fn(&T) -> R + Send + Sync + 'static, R: Number> Aggregate<T> for Sum<T, F, R> {
    type State = R::Total;
    type Out = R;

    const COMBINES: bool = R::EXACT;

    fn signature() -> String {
        format!("sum({})", type_name::<R>())
    }

    #[inline(always)]
    fn init(&self) -> R::Total {
        R::Total::default()
    }

    #[inline(always)]
    fn add(&self, state: &mut R::Total, value: &T) {
        R::add(state, (self.0.f)(value));
    }

    #[inline(always)]
    fn merge(&self, state: &mut R::Total, behind: R::Total) {
        R::merge(state, behind);
    }

    #[inline(always)]
    fn finish(&self, state: R::Total) -> Result<R, AggregateError> {
        R::finish(state)
    }
}
