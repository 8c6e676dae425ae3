//! Aggregates: how many values become one, in one pass over the data.
//!
//! The struct literal given to `aggregate` is split by `#[stream_job]`: the calls named here are gathered into
//! one tuple, which is one value of state; the rest of the literal computes the result from theirs.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

mod acc;
mod avg;
mod count;
mod extreme;
mod number;
mod sum;

pub use acc::{Acc, Accumulator, acc};
pub use avg::{Avg, avg};
pub use count::{Count, count};
pub use extreme::{Extreme, Max, Min, max, min};
pub use number::Number;
pub use sum::{Sum, sum};

/// Why an aggregate has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// The exact sum does not fit the type of the summed values.
    #[error("the sum {sum} does not fit `{of}`; sum a wider type, e.g. `sum(|r| r.field as i128)`")]
    Overflow {
        /// The exact sum.
        sum: String,
        /// The type.
        of: &'static str,
    },
    /// Nothing was aggregated.
    #[error("`{0}` of no value")]
    Empty(&'static str),
}

/// One aggregate over values of type `T`.
///
/// `merge` must be associative and agree with `add`: state that was merged equals state to which all values
/// were added in the same order.
pub trait Aggregate<T>: Send + 'static {
    /// What is kept while the window is open.
    type State: Serialize + DeserializeOwned + Clone + Send + std::fmt::Debug + 'static;
    /// Its value when the window closes.
    type Out;

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
}

/// All aggregates of one operator: a tuple of [`Aggregate`]s.
pub trait Aggregates<T>: Send + 'static {
    /// The tuple of their states.
    type State: Serialize + DeserializeOwned + Clone + Send + std::fmt::Debug + 'static;
    /// The tuple of their values.
    type Out;

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
}

/// Only the fact that there was a record, as in `aggregate(key())`.
impl<T> Aggregates<T> for () {
    type State = ();
    type Out = ();

    fn signature() -> String {
        "nothing".to_owned()
    }

    fn init(&self) {}

    fn add(&self, (): &mut (), _value: &T) {}

    fn merge(&self, (): &mut (), (): ()) {}

    fn finish(&self, (): ()) -> Result<(), AggregateError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<T, $($name: Aggregate<T>),*> Aggregates<T> for ($($name,)*) {
            type State = ($($name::State,)*);
            type Out = ($($name::Out,)*);

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
        }
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

/// The name of a type without the paths of its modules, so that moving a type changes no signature.
pub(crate) fn type_name<T>() -> String {
    let full = std::any::type_name::<T>();
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
}
