//! The element that flows through a pipeline: a value with its event time and its key.

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

/// What `#[record]` tells about a type: its name and its fields with the ids that encodings carry.
pub trait Schema {
    /// The type's name.
    const NAME: &'static str;
    /// Field id (FNV-1a of the name), name and type as written; variants of an enum.
    const FIELDS: &'static [(u32, &'static str, &'static str)];
}
