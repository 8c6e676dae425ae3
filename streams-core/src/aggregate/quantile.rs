//! `quantile(0.99, |r| r.ms)` and `quantiles([0.5, 0.99], |r| r.ms)`: within one percent.

use std::time::Duration;

use crate::aggregate::{Aggregate, AggregateError, ByRef};

mod sketch;

use sketch::Sketch;

/// A number that has quantiles.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` have no quantiles",
    label = "gives `{Self}`, not a number",
    note = "`quantile` and `quantiles` take integers, floats and `Duration`; for an `Option` use `.filter(..)` and `.unwrap_or(..)`"
)]
pub trait Measure: 'static {
    crate::proof::told_once!(Measure);

    /// As the nearest float; a `Duration` in seconds.
    fn to_f64(self) -> f64;
}

macro_rules! measures {
    ($($int:ty),*) => {$(
        impl Measure for $int {
            crate::proof::holds!();

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

measures!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

impl Measure for Duration {
    crate::proof::holds!();

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.as_secs_f64()
    }
}

/// See [`quantile`].
#[derive(Debug, Clone, Copy)]
pub struct Quantile<T, F, R> {
    rank: f64,
    of: ByRef<T, F, R>,
}

/// See [`quantiles`].
#[derive(Debug, Clone, Copy)]
pub struct Quantiles<T, F, R, const N: usize> {
    ranks: [f64; N],
    of: ByRef<T, F, R>,
}

/// The value below which about the given part of all values lies, as `f64`: 0.5 is the median, 0.99 what 99 of
/// 100 are below, 0 the smallest and 1 the largest value. A `Duration` counts in seconds.
///
/// Of `n` values in ascending order it is the one with the number ⌊rank · (n − 1)⌋, counted from zero, within
/// a relative error of 1/129 (0.78 %), the smallest and the largest value exactly. It is a DDSketch (Masson,
/// Rim, Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", PVLDB
/// 12(12), 2019) with 64 buckets for every doubling, taken from the bits of the float, so that the result is
/// the same on every machine, in any order and however windows are put together.
/// Numbers nearer to zero than 2.3·10⁻³⁰⁸ count as zero; NaN counts only when there is nothing else.
/// **State** one counter for every bucket that has values: 640 for values from 1 to 1,000, all of them written
/// again at a checkpoint after a value has come.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Request { host: String, ms: u64 }
///
/// #[stream_job]
/// fn latency(requests: Stream<Request>) -> Stream<f64> {
///     requests.key_by(|r| r.host.clone()).running(forever()).aggregate(quantile(0.99, |r| r.ms))
/// }
///
/// let mut job = Harness::new(latency);
/// let request = |ms| Request { host: "h".to_owned(), ms };
/// job.push_all("requests", (1..=1_000).map(request).collect());
/// let found = job.take::<f64>("latency").pop().unwrap();
/// assert!((found - 990.0).abs() <= 990.0 / 129.0, "{found}");
/// ```
pub fn quantile<T, F: Fn(&T) -> R, R: Measure>(
    rank: f64,
    of: ByRef<T, F, R>,
) -> R::Proven<Quantile<T, F, R>> {
    R::proven(Quantile { rank, of })
}

/// Several quantiles of the same values in one pass, as an array; each as [`quantile`] gives it.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Request { host: String, ms: f64 }
///
/// #[stream_job]
/// fn latency(requests: Stream<Request>) -> Stream<[f64; 3]> {
///     requests
///         .key_by(|r| r.host.clone())
///         .running(forever())
///         .aggregate(quantiles([0.0, 0.5, 1.0], |r| r.ms))
/// }
///
/// let mut job = Harness::new(latency);
/// for ms in [7.5, 0.25, 32.0] {
///     job.push("requests", Request { host: "h".to_owned(), ms });
/// }
/// let [smallest, median, largest] = job.take::<[f64; 3]>("latency").pop().unwrap();
/// assert_eq!((smallest, largest), (0.25, 32.0));
/// assert!((median - 7.5).abs() <= 7.5 / 129.0, "{median}");
/// ```
pub fn quantiles<T, F: Fn(&T) -> R, R: Measure, const N: usize>(
    ranks: [f64; N],
    of: ByRef<T, F, R>,
) -> R::Proven<Quantiles<T, F, R, N>> {
    R::proven(Quantiles { ranks, of })
}

fn signature() -> String {
    "quantiles".to_owned()
}

impl<T: 'static, F: Fn(&T) -> R + Send + Sync + 'static, R: Measure> Aggregate<T> for Quantile<T, F, R> {
    type State = Sketch;
    type Out = f64;

    fn signature() -> String {
        signature()
    }

    fn init(&self) -> Sketch {
        Sketch::default()
    }

    #[inline(always)]
    fn add(&self, state: &mut Sketch, value: &T) {
        state.add((self.of.f)(value).to_f64());
    }

    fn merge(&self, state: &mut Sketch, behind: Sketch) {
        state.merge(behind);
    }

    fn finish(&self, state: Sketch) -> Result<f64, AggregateError> {
        self.value(&state)
    }

    fn value(&self, state: &Sketch) -> Result<f64, AggregateError> {
        state.quantile(self.rank).ok_or(AggregateError::Empty("quantile"))
    }
}

impl<T: 'static, F, R: Measure, const N: usize> Aggregate<T> for Quantiles<T, F, R, N>
where
    F: Fn(&T) -> R + Send + Sync + 'static,
{
    type State = Sketch;
    type Out = [f64; N];

    fn signature() -> String {
        signature()
    }

    fn init(&self) -> Sketch {
        Sketch::default()
    }

    #[inline(always)]
    fn add(&self, state: &mut Sketch, value: &T) {
        state.add((self.of.f)(value).to_f64());
    }

    fn merge(&self, state: &mut Sketch, behind: Sketch) {
        state.merge(behind);
    }

    fn finish(&self, state: Sketch) -> Result<[f64; N], AggregateError> {
        self.value(&state)
    }

    fn value(&self, state: &Sketch) -> Result<[f64; N], AggregateError> {
        let mut values = [0.0; N];
        for (value, rank) in values.iter_mut().zip(self.ranks) {
            *value = state.quantile(rank).ok_or(AggregateError::Empty("quantiles"))?;
        }
        Ok(values)
    }
}
