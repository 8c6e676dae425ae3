//! Aggregates: how many values become one, in one pass over the data.
//!
//! The struct literal given to `aggregate` is split by `#[stream_job]`: the calls named here are gathered into
//! one tuple, which is one value of state; the rest of the literal computes the result from theirs.
//!
//! | word | its value | what is kept |
//! |---|---|---|
//! | [`count()`](count()), [`sum`], [`avg`], [`min`], [`max`] | as they say | one or two numbers |
//! | [`first`], [`last`] | the value that arrived first, last | one value |
//! | [`min_by`], [`max_by`] | the value where another is smallest, largest | both |
//! | [`top_k`] | the k largest values | k values |
//! | [`collect`] | all values, up to a limit | all values |
//! | [`count_distinct`] | how many different values | every different value |
//! | [`approx_count_distinct`] | the same within some percent | up to 4 KiB |
//! | [`quantile`], [`quantiles`] | the median and the like, within one percent | 64 counters for each doubling |
//! | [`reduce`], [`fold`], [`fold_merge`] | by a function of one's own | one value |
//! | [`acc`] | by an [`Accumulator`] of one's own | what it says |
//!
//! A state of two parts of a window is merged into that of the whole, so every merge is associative; a `fold`,
//! which has none, is refused where it would be needed ([`Mergeable`]). An aggregate that has no value (a sum
//! that does not fit, too many values to collect) makes its result a dead letter with operator, window and key.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

mod acc;
mod approx_distinct;
mod argument;
mod avg;
mod collect;
mod count;
mod distinct;
mod ends;
mod extreme;
mod extreme_by;
mod fold;
mod kept;
mod number;
mod parts;
mod quantile;
mod reduce;
mod sum;
mod top_k;

#[cfg(test)]
mod tests;

pub use acc::{Acc, Accumulator, acc};
pub use approx_distinct::{ApproxCountDistinct, approx_count_distinct};
pub use argument::{Argument, Limit, Rank, checked_limit, checked_rank, checked_ranks};
pub use avg::{Avg, avg};
pub use collect::{Collect, collect};
pub use count::{Count, count};
pub use distinct::{CountDistinct, count_distinct};
pub use ends::{First, Last, first, last};
pub use extreme::{Extreme, Max, Min, max, min};
pub use extreme_by::{MaxBy, MinBy, max_by, min_by};
pub use fold::{Fold, FoldMerge, fold, fold_merge};
pub use kept::{Distinct, Kept};
pub use number::Number;
pub use parts::{Mergeable, StandsIn};
pub use quantile::{Measure, Quantile, Quantiles, quantile, quantiles};
pub use reduce::{Reduce, reduce};
pub use sum::{Sum, sum};
pub use top_k::{TopK, top_k};

/// Why an aggregate has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// The exact sum does not fit the type of the summed values.
    #[error("the sum {sum} does not fit `{of}`; sum a wider type, e.g. `sum(|r| r.field{})`", wider(of))]
    Overflow {
        /// The exact sum, or about how much it is.
        sum: String,
        /// The type.
        of: &'static str,
    },
    /// Nothing was aggregated.
    #[error("`{0}` of no value")]
    Empty(&'static str),
    /// More values than were to be collected.
    #[error("`collect` has more than {0} values; give it a larger limit, or keep less with e.g. `top_k`")]
    TooMany(usize),
    /// A value's `Serialize` refused, so that it could not be counted.
    #[error("`approx_count_distinct` cannot encode a value: {0}")]
    Encode(String),
}

/// One aggregate over values of type `T`.
///
/// `merge` must be associative and agree with `add`: state that was merged equals state to which all values
/// were added in the same order.
pub trait Aggregate<T>: Send + Sync + 'static {
    /// What is kept while the window is open.
    type State: Serialize + DeserializeOwned + Clone + Send + std::fmt::Debug + 'static;
    /// Its value when the window closes.
    type Out;

    /// Whether workers of one process bring the records of a key together before they send them to each other: a state
    /// that was merged is, to the bit, the state to which all values were added, and merging costs no more than adding
    /// a value. The closures then run for records too that turn out to be late.
    const COMBINES: bool = false;

    /// What its state is a state of, e.g. `sum(u64)`: another one cannot go on with it.
    fn signature() -> String;
    /// The state of no values.
    fn init(&self) -> Self::State;
    /// Adds one value.
    fn add(&self, state: &mut Self::State, value: &T);
    /// Adds the values of another state, which come behind those here.
    fn merge(&self, state: &mut Self::State, behind: Self::State);
    /// The aggregate's value.
    ///
    /// # Errors
    /// When there is none; the result that needs it becomes a dead letter.
    fn finish(&self, state: Self::State) -> Result<Self::Out, AggregateError>;

    /// The value so far, for a result that is given while the state goes on.
    ///
    /// # Errors
    /// As [`Self::finish`].
    #[inline(always)]
    fn value(&self, state: &Self::State) -> Result<Self::Out, AggregateError> {
        self.finish(state.clone())
    }
}

/// All aggregates of one operator: a tuple of [`Aggregate`]s.
pub trait Aggregates<T>: Send + Sync + 'static {
    /// The tuple of their states.
    type State: Serialize + DeserializeOwned + Clone + Send + std::fmt::Debug + 'static;
    /// The tuple of their values.
    type Out;

    /// Whether all have [`Aggregate::COMBINES`].
    const COMBINES: bool;

    /// The signatures of all, in order.
    fn signature() -> String;
    /// The state of no values.
    fn init(&self) -> Self::State;
    /// Adds one value.
    fn add(&self, state: &mut Self::State, value: &T);
    /// Adds the values of another state, which come behind those here.
    fn merge(&self, state: &mut Self::State, behind: Self::State);
    /// The values.
    ///
    /// # Errors
    /// The first aggregate without a value.
    fn finish(&self, state: Self::State) -> Result<Self::Out, AggregateError>;

    /// The values so far.
    ///
    /// # Errors
    /// As [`Self::finish`].
    fn value(&self, state: &Self::State) -> Result<Self::Out, AggregateError>;
}

/// Only the fact that there was a record, as in `aggregate(key())`.
impl<T> Aggregates<T> for () {
    type State = ();
    type Out = ();

    const COMBINES: bool = true;

    fn signature() -> String {
        "nothing".to_owned()
    }

    fn init(&self) {}

    fn add(&self, (): &mut (), _value: &T) {}

    fn merge(&self, (): &mut (), (): ()) {}

    fn finish(&self, (): ()) -> Result<(), AggregateError> {
        Ok(())
    }

    fn value(&self, (): &()) -> Result<(), AggregateError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<T, $($name: Aggregate<T>),*> Aggregates<T> for ($($name,)*) {
            type State = ($($name::State,)*);
            type Out = ($($name::Out,)*);

            const COMBINES: bool = $($name::COMBINES)&&*;

            fn signature() -> String {
                [$($name::signature()),*].join(", ")
            }

            #[inline(always)]
            fn init(&self) -> Self::State {
                ($(self.$index.init(),)*)
            }

            #[inline(always)]
            fn add(&self, state: &mut Self::State, value: &T) {
                $(self.$index.add(&mut state.$index, value);)*
            }

            #[inline]
            fn merge(&self, state: &mut Self::State, behind: Self::State) {
                $(self.$index.merge(&mut state.$index, behind.$index);)*
            }

            #[inline]
            fn finish(&self, state: Self::State) -> Result<Self::Out, AggregateError> {
                Ok(($(self.$index.finish(state.$index)?,)*))
            }

            #[inline]
            fn value(&self, state: &Self::State) -> Result<Self::Out, AggregateError> {
                Ok(($(self.$index.value(&state.$index)?,)*))
            }
        }

        impl<$($name: Mergeable),*> StandsIn<crate::window::Hopping> for ($($name,)*) {}
        impl<$($name: Mergeable),*> StandsIn<crate::window::Session> for ($($name,)*) {}
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, D 2);
tuples!(A 0, B 1, D 2, E 3);
tuples!(A 0, B 1, D 2, E 3, F 4);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5, H 6);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5, H 6, I 7);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5, H 6, I 7, J 8);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10);
tuples!(A 0, B 1, D 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11);

/// What to sum as instead.
fn wider(of: &str) -> &'static str {
    match of {
        "i128" | "u128" => " as f64",
        "Duration" => ".as_secs_f64()",
        _ => " as i128",
    }
}

/// The name of a type without the paths of its modules, so that moving a type changes no signature.
pub(crate) fn type_name<T>() -> String {
    short_name(std::any::type_name::<T>())
}

/// The same of a name that is known.
pub(crate) fn short_name(full: &str) -> String {
    let mut short = String::new();
    for part in full.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    short
}

/// A closure over records of a known type, made by [`Typer::by_ref`].
#[derive(Debug, Clone, Copy)]
pub struct ByRef<T, F, R> {
    pub(crate) f: F,
    _types: PhantomData<fn(&T) -> R>,
}

/// Knows the type of a stream's records, so that closures inside an aggregate need no annotation.
#[derive(Debug, Clone, Copy)]
pub struct Typer<T>(pub(crate) PhantomData<fn(T)>);

impl<T> Typer<T> {
    /// The closure with its argument's type fixed.
    #[inline(always)]
    pub fn by_ref<R, F: Fn(&T) -> R>(&self, f: F) -> ByRef<T, F, R> {
        ByRef { f, _types: PhantomData }
    }

    /// A value that a closure over it and a record goes on from.
    #[inline(always)]
    pub fn start<S>(&self, start: S) -> Start<T, S> {
        Start(start, PhantomData)
    }
}

/// What a `fold` over records of a known type begins with, made by [`Typer::start`].
#[derive(Debug, Clone, Copy)]
pub struct Start<T, S>(pub(crate) S, PhantomData<fn(&T)>);
