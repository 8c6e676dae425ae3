//! `min(|r| r.field)` and `max(|r| r.field)`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::aggregate::{Aggregate, AggregateError, ByRef, type_name};
use crate::proof::{Fails, Holds, Never};

/// A type that `min` and `max` take.
#[diagnostic::on_unimplemented(
    message = "`min` and `max` cannot compare values of type `{Self}`",
    label = "gives `{Self}`, which has no order or cannot be kept",
    note = "give an owned, ordered and encodable value, e.g. a number or a `String`"
)]
pub trait Extreme<M = Holds>:
    PartialOrd + Clone + Serialize + DeserializeOwned + Send + std::fmt::Debug + 'static
{
    crate::proof::told_once!(Extreme<M>);
}

#[diagnostic::do_not_recommend]
impl<R: PartialOrd + Clone + Serialize + DeserializeOwned + Send + std::fmt::Debug + 'static> Extreme<Holds>
    for R
{
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<R: Never + PartialOrd + Clone + Serialize + DeserializeOwned + Send + std::fmt::Debug + 'static>
    Extreme<Fails> for R
{
    crate::proof::holds!();
}

/// Whether a value is comparable with itself, as NaN and what contains one are not.
#[inline(always)]
pub(super) fn is_ordered<R: PartialOrd>(value: &R) -> bool {
    value.partial_cmp(value).is_some()
}

/// Whether `value` takes the place of `best`. What is not ordered gives way to what is, and to nothing else.
#[inline(always)]
pub(super) fn replaces<R: PartialOrd>(value: &R, best: &R, better: impl Fn(&R, &R) -> bool) -> bool {
    (better(value, best) || !is_ordered(best)) && is_ordered(value)
}

macro_rules! extremes {
    ($($function:ident $name:ident $operator:tt $doc:literal $example:literal),*) => {$(
        #[doc = concat!("See [`", stringify!($function), "`].")]
        #[derive(Debug, Clone, Copy)]
        pub struct $name<T, F, R>(ByRef<T, F, R>);

        #[doc = $doc]
        ///
        /// **Order** of equal values the first to arrive counts (as in [`first`](super::first)). Values that contain
        /// a NaN count as NaN; all others must be comparable with each other. **State** one value.
        ///
        /// # Examples
        /// ```
        /// use streams_core::{prelude::*, testing::Harness};
        ///
        /// #[record]
        /// struct Reading { sensor: u32, value: f64 }
        ///
        /// #[stream_job]
        /// fn extreme(readings: Stream<Reading>) -> Stream<f64> {
        #[doc = concat!("    readings.key_by(|r| r.sensor).running(forever()).aggregate(", stringify!($function), "(|r| r.value))")]
        /// }
        ///
        /// let mut job = Harness::new(extreme);
        /// for value in [2.0, f64::NAN, 3.0, 1.0] {
        ///     job.push("readings", Reading { sensor: 1, value });
        /// }
        #[doc = concat!("assert_eq!(job.take::<f64>(\"extreme\"), ", $example, ");")]
        /// ```
        pub fn $function<T, F: Fn(&T) -> R, R: Extreme<M>, M>(of: ByRef<T, F, R>) -> R::Proven<$name<T, F, R>> {
            R::proven($name(of))
        }

        impl<T: 'static, F: Fn(&T) -> R + Send + Sync + 'static, R: Extreme> Aggregate<T> for $name<T, F, R> {
            type State = Option<R>;
            type Out = R;

            const COMBINES: bool = true;

            fn signature() -> String {
                format!(concat!(stringify!($function), "({})"), type_name::<R>())
            }

            #[inline(always)]
            fn init(&self) -> Option<R> {
                None
            }

            #[inline(always)]
            fn add(&self, state: &mut Option<R>, value: &T) {
                self.merge(state, Some((self.0.f)(value)));
            }

            #[inline(always)]
            fn merge(&self, state: &mut Option<R>, behind: Option<R>) {
                let Some(value) = behind else { return };
                match state {
                    Some(best) if !replaces(&value, best, |a, b| a $operator b) => {}
                    _ => *state = Some(value),
                }
            }

            fn finish(&self, state: Option<R>) -> Result<R, AggregateError> {
                state.ok_or(AggregateError::Empty(stringify!($function)))
            }
        }
    )*};
}

extremes!(
    min Min < "The smallest of what the closure gives; NaN only when there is nothing else." "[2.0, 2.0, 2.0, 1.0]",
    max Max > "The largest of what the closure gives; NaN only when there is nothing else." "[2.0, 2.0, 3.0, 3.0]"
);
