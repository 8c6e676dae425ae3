//! What the values of an aggregate must be so that they can be kept in state.

use std::fmt::Debug;
use std::hash::Hash;

use crate::proof::{Fails, Holds, Never};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value that an aggregate keeps as it is.
#[diagnostic::on_unimplemented(
    message = "an aggregate cannot keep values of type `{Self}`",
    label = "gives `{Self}`, which cannot be kept",
    note = "give an owned and encodable value, e.g. a number or a `String`; for a type of one's own add `#[record]` and `#[derive(Debug)]`"
)]
pub trait Kept<M = Holds>: Clone + Serialize + DeserializeOwned + Send + Debug + 'static {
    crate::proof::told_once!(Kept<M>);
}

#[diagnostic::do_not_recommend]
impl<V: Clone + Serialize + DeserializeOwned + Send + Debug + 'static> Kept<Holds> for V {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<V: Never + Clone + Serialize + DeserializeOwned + Send + Debug + 'static> Kept<Fails> for V {
    crate::proof::holds!();
}

/// A value that is surely the same as another one or not.
#[diagnostic::on_unimplemented(
    message = "distinct values of type `{Self}` cannot be counted",
    label = "gives `{Self}`, whose values are not surely equal or different",
    note = "give an owned, hashable, ordered and encodable value; a float is none, so round it to an integer first, e.g. `(r.price * 100.0).round() as i64`"
)]
pub trait Distinct<M = Holds>:
    Hash + Ord + Clone + Serialize + DeserializeOwned + Send + Debug + 'static
{
    crate::proof::told_once!(Distinct<M>);
}

#[diagnostic::do_not_recommend]
impl<V: Hash + Ord + Clone + Serialize + DeserializeOwned + Send + Debug + 'static> Distinct<Holds> for V {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<V: Never + Hash + Ord + Clone + Serialize + DeserializeOwned + Send + Debug + 'static> Distinct<Fails>
    for V
{
    crate::proof::holds!();
}
