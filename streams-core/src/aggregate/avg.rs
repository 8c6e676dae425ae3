//! `avg(|r| r.field)`: the mean as `f64`, from the exact sum.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Number, type_name};

/// See [`avg`].
#[derive(Debug, Clone, Copy)]
pub struct Avg<T, F, R>(ByRef<T, F, R>);

/// The mean of what the closure gives, as `f64`; of `Duration`s in seconds.
pub fn avg<T, F: Fn(&T) -> R, R: Number>(of: ByRef<T, F, R>) -> Avg<T, F, R> {
    Avg(of)
}

impl<T: 'static, F: Fn(&T) -> R + Send + 'static, R: Number> Aggregate<T> for Avg<T, F, R> {
    type State = (R::Total, u64);
    type Out = f64;

    fn signature() -> String {
        format!("avg({})", type_name::<R>())
    }

    #[inline(always)]
    fn init(&self) -> Self::State {
        (R::Total::default(), 0)
    }

    #[inline(always)]
    fn add(&self, (total, count): &mut Self::State, value: &T) {
        R::add(total, (self.0.f)(value));
        *count += 1;
    }

    fn merge(&self, (total, count): &mut Self::State, behind: Self::State) {
        R::merge(total, behind.0);
        *count += behind.1;
    }

    fn finish(&self, (total, count): Self::State) -> Result<f64, AggregateError> {
        if count == 0 {
            return Err(AggregateError::Empty("avg"));
        }
        Ok(R::to_f64(&total) / count as f64)
    }
}
