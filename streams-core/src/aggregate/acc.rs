//! `acc(MyAccumulator, |r| r.field)`: an aggregate of the user's own.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::aggregate::{Aggregate, AggregateError, ByRef, type_name};

/// An aggregate of one's own over values of type `V`.
///
/// `merge` must be associative and agree with `add`: a state that was merged equals the state to which all
/// values were added in the same order. What is kept is encoded into the snapshot, so it must not contain
/// anything whose order or content differs from run to run, such as a `HashSet`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not aggregate values of type `{V}`",
    label = "no accumulator for `{V}`",
    note = "implement `Accumulator<{V}>` for `{Self}`"
)]
pub trait Accumulator<V>: Send + 'static {
    /// What is kept while the window is open.
    type State: Serialize + DeserializeOwned + Clone + Send + std::fmt::Debug + 'static;
    /// The value when the window closes.
    type Out;

    /// The state of no values.
    fn init(&self) -> Self::State;
    /// Adds one value.
    fn add(&self, state: &mut Self::State, value: V);
    /// Adds the values of another state, which come behind those here.
    fn merge(&self, state: &mut Self::State, behind: Self::State);
    /// The value.
    fn finish(&self, state: Self::State) -> Self::Out;
}

/// See [`acc`].
#[derive(Debug, Clone, Copy)]
pub struct Acc<A, T, F, V>(A, ByRef<T, F, V>);

/// Aggregates what the closure gives by an [`Accumulator`] of one's own.
pub fn acc<A: Accumulator<V>, T, F: Fn(&T) -> V, V>(accumulator: A, of: ByRef<T, F, V>) -> Acc<A, T, F, V> {
    Acc(accumulator, of)
}

impl<A, T: 'static, F, V: 'static> Aggregate<T> for Acc<A, T, F, V>
where
    A: Accumulator<V>,
    F: Fn(&T) -> V + Send + 'static,
{
    type State = A::State;
    type Out = A::Out;

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
