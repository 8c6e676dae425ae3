//! `acc(MyAccumulator, |r| r.field)`: an aggregate of the user's own.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::aggregate::{Aggregate, AggregateError, ByRef, type_name};
use crate::proof::{Fails, Holds, Never};

/// An aggregate of one's own over values of type `V`.
///
/// `merge` must be associative and agree with `add`: a state that was merged equals the state to which all
/// values were added in the same order. What is kept is encoded into the snapshot, so it must not contain
/// anything whose order or content differs from run to run, such as a `HashSet`.
pub trait Accumulator<V>: Send + Sync + 'static {
    /// What is kept while the window is open.
    type State: Serialize + DeserializeOwned + Clone + Send + std::fmt::Debug + 'static;
    /// The value when the window closes.
    type Out;

    /// Whether workers of one process bring the records of a key together before they send them to each other. For
    /// states of a few numbers, if one that was merged is, to the bit, the one to which all values were added, as with
    /// sums of integers and not with those of floats. `add` is then called for records too that turn out to be late.
    const COMBINES: bool = false;

    /// The state of no values.
    fn init(&self) -> Self::State;
    /// Adds one value.
    fn add(&self, state: &mut Self::State, value: V);
    /// Adds the values of another state, which come behind those here.
    fn merge(&self, state: &mut Self::State, behind: Self::State);
    /// The value.
    fn finish(&self, state: Self::State) -> Self::Out;
}

/// A type that [`acc`] takes: an [`Accumulator`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not aggregate values of type `{V}`",
    label = "no accumulator for `{V}`",
    note = "implement `Accumulator<{V}>` for `{Self}`"
)]
pub trait Accumulates<V, M = Holds> {
    crate::proof::told_once!(Accumulates<V, M>);
}

#[diagnostic::do_not_recommend]
impl<A: Accumulator<V>, V> Accumulates<V, Holds> for A {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<A: Never, V> Accumulates<V, Fails> for A {
    crate::proof::holds!();
}

/// See [`acc`].
#[derive(Debug, Clone, Copy)]
pub struct Acc<A, T, F, V>(A, ByRef<T, F, V>);

/// Aggregates what the closure gives by an [`Accumulator`] of one's own.
///
/// **State** what the accumulator keeps. **Order** as in [`first`](super::first).
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Reading { sensor: u32, value: f64 }
///
/// /// The span between the smallest and the largest value.
/// struct Span;
///
/// impl Accumulator<f64> for Span {
///     type State = (f64, f64);
///     type Out = f64;
///
///     fn init(&self) -> (f64, f64) {
///         (f64::INFINITY, f64::NEG_INFINITY)
///     }
///
///     fn add(&self, (low, high): &mut (f64, f64), value: f64) {
///         *low = low.min(value);
///         *high = high.max(value);
///     }
///
///     fn merge(&self, state: &mut (f64, f64), (low, high): (f64, f64)) {
///         *state = (state.0.min(low), state.1.max(high));
///     }
///
///     fn finish(&self, (low, high): (f64, f64)) -> f64 {
///         high - low
///     }
/// }
///
/// #[stream_job]
/// fn span(readings: Stream<Reading>) -> Stream<f64> {
///     readings.key_by(|r| r.sensor).running(forever()).aggregate(acc(Span, |r| r.value))
/// }
///
/// let mut job = Harness::new(span);
/// for value in [2.0, 1.5, 4.0] {
///     job.push("readings", Reading { sensor: 1, value });
/// }
/// assert_eq!(job.take::<f64>("span"), [0.0, 0.5, 2.5]);
/// ```
pub fn acc<A: Accumulates<V, M>, T, F: Fn(&T) -> V, V, M>(
    accumulator: A,
    of: ByRef<T, F, V>,
) -> A::Proven<Acc<A, T, F, V>> {
    A::proven(Acc(accumulator, of))
}

impl<A, T: 'static, F, V: 'static> Aggregate<T> for Acc<A, T, F, V>
where
    A: Accumulator<V>,
    F: Fn(&T) -> V + Send + Sync + 'static,
{
    type State = A::State;
    type Out = A::Out;

    const COMBINES: bool = A::COMBINES;

    fn signature() -> String {
        format!("acc({})", type_name::<A>())
    }

    #[inline(always)]
    fn init(&self) -> A::State {
        self.0.init()
    }

    #[inline(always)]
    fn add(&self, state: &mut A::State, value: &T) {
        self.0.add(state, (self.1.f)(value));
    }

    #[inline(always)]
    fn merge(&self, state: &mut A::State, behind: A::State) {
        self.0.merge(state, behind);
    }

    #[inline(always)]
    fn finish(&self, state: A::State) -> Result<A::Out, AggregateError> {
        Ok(self.0.finish(state))
    }
}
