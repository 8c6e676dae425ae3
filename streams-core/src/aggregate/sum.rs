//! `sum(|r| r.field)`: exact for integers, compensated for floats.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Number, type_name};

/// See [`sum`].
#[derive(Debug, Clone, Copy)]
pub struct Sum<T, F, R>(ByRef<T, F, R>);

/// The sum of what the closure gives. A sum of integers that does not fit their type is an error with a place,
/// never a wrapped number; floats are summed with their rounding error carried along.
pub fn sum<T, F: Fn(&T) -> R, R: Number>(of: ByRef<T, F, R>) -> Sum<T, F, R> {
    Sum(of)
}

impl<T: 'static, F: Fn(&T) -> R + Send + 'static, R: Number> Aggregate<T> for Sum<T, F, R> {
    type State = R::Total;
    type Out = R;

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
