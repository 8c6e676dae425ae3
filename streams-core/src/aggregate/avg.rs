//! `avg(|r| r.field)`: the mean as `f64`, from the exact sum.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Number, type_name};

/// See [`avg`].
#[derive(Debug, Clone, Copy)]
pub struct Avg<T, F, R>(ByRef<T, F, R>);

/// The mean of what the closure gives, as `f64`; of `Duration`s in seconds.
///
/// It is the exact sum of integers, or the compensated one of floats, divided by their number; so it cannot
/// overflow. **State** that of [`sum`](super::sum) and a count.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Request { host: String, bytes: u64 }
///
/// #[stream_job]
/// fn size(requests: Stream<Request>) -> Stream<f64> {
///     requests.key_by(|r| r.host.clone()).running(forever()).aggregate(avg(|r| r.bytes))
/// }
///
/// let mut job = Harness::new(size);
/// for bytes in [u64::MAX, u64::MAX] {
///     job.push("requests", Request { host: "h".to_owned(), bytes });
/// }
/// assert_eq!(job.take::<f64>("size"), [u64::MAX as f64, u64::MAX as f64]);
/// ```
pub fn avg<T, F: Fn(&T) -> R, R: Number>(of: ByRef<T, F, R>) -> R::Proven<Avg<T, F, R>> {
    R::proven(Avg(of))
}

impl<T: 'static, F: Fn(&T) -> R + Send + Sync + 'static, R: Number> Aggregate<T> for Avg<T, F, R> {
    type State = (R::Total, u64);
    type Out = f64;

    const COMBINES: bool = R::EXACT;

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
