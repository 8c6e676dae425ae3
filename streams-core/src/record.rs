//! The element that flows through a pipeline: a value with its event time and its key.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::proof::{Fails, Holds, Never};

/// Marks a stream that has no key yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NoKey;

/// The stream has no event time yet.
#[derive(Debug, Clone, Copy)]
pub struct NoTime;

/// The stream has event time.
#[derive(Debug, Clone, Copy)]
pub struct EventTimed;

/// What a stream knows of time: [`NoTime`] or [`EventTimed`].
pub trait TimeMark {
    /// Whether it has event time.
    const TIMED: bool;
}

impl TimeMark for NoTime {
    const TIMED: bool = false;
}

impl TimeMark for EventTimed {
    const TIMED: bool = true;
}

/// One element of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rec<K, T> {
    /// Event time in ms, [`crate::time::UNTIMED`] before `event_time`.
    pub ts: i64,
    /// The key given by `key_by`, [`NoKey`] before it.
    pub key: K,
    /// The user's value.
    pub val: T,
}

/// What the fields of a record can be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` stands in a record and cannot be stored",
    label = "`{Self}` is no record itself",
    note = "add `#[record]` to `{Self}`; a type of another crate has a feature `serde`, or needs `#[serde(with = \"..\")]` at the field"
)]
pub trait Stored<M = Holds>: Clone + Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Serialize + DeserializeOwned> Stored<Holds> for T {}

#[diagnostic::do_not_recommend]
impl<T: Never + Clone + Serialize + DeserializeOwned> Stored<Fails> for T {}

/// Says of the type of a field what the derived implementations would say of each other.
pub fn stored<T: Stored<M>, M>() {}

/// What `#[record]` tells about a type: its name and its fields with the ids that encodings carry.
pub trait Schema {
    /// The type's name.
    const NAME: &'static str;
    /// Field id (FNV-1a of the name), name and type as written; variants of an enum.
    const FIELDS: &'static [(u32, &'static str, &'static str)];
}
