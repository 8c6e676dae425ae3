//! Event time, windows' bounds and the words for lengths of time.
//!
//! Times are `i64` milliseconds since the Unix epoch, negative ones allowed; nothing here reads a clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time of a record that has none yet, and of a watermark before the first record.
pub const UNTIMED: i64 = i64::MIN;

/// Why a window gives a result; `fired()` in an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fired {
    /// The window is still open, and `early(..)` asks for what there is.
    Early,
    /// The window is over.
    Final,
    /// The window was over and has given its final result; a record came within the lateness.
    Update,
}

/// Why a window without bounds gives a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occasion {
    /// Why there is a result.
    pub fired: Fired,
}

/// A half-open span of event time `[start, end)` in milliseconds, and why it gives a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    /// The first millisecond inside.
    pub start: i64,
    /// The first millisecond behind.
    pub end: i64,
    /// Why there is a result.
    pub fired: Fired,
}

/// How far records may be behind the largest event time seen, made by [`out_of_order`]. `AHEAD` says whether there
/// is a bound in the other direction too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfOrder<const AHEAD: bool = false> {
    pub(crate) bound: Duration,
    pub(crate) ahead: Duration,
}

/// How far event times may be from one another; made by [`out_of_order`].
pub trait TimeBound: Copy + Send + 'static {
    /// Whether records may be too far ahead.
    const AHEAD: bool;
    /// How far behind the largest time seen, and how far ahead of the time of storage.
    fn lengths(self) -> (Duration, Duration);
}

impl<const AHEAD: bool> TimeBound for OutOfOrder<AHEAD> {
    const AHEAD: bool = AHEAD;

    fn lengths(self) -> (Duration, Duration) {
        (self.bound, self.ahead)
    }
}

/// Records may be up to `bound` behind the largest event time seen; the watermark follows at that distance.
#[must_use]
pub const fn out_of_order(bound: Duration) -> OutOfOrder {
    OutOfOrder { bound, ahead: Duration::ZERO }
}

impl OutOfOrder {
    /// Refuses records whose event time lies more than `most` ahead: they are dead-lettered and counted, and one
    /// absurd timestamp does not make every later record late.
    ///
    /// Measured against the time at which the broker stored the message, which is the same whenever it is read
    /// again; never against a clock. Records that no broker stored (of files, of tests) have no such time, and none
    /// of them is refused. Only for the first `event_time`, in front of `key_by`: behind a shuffle the record is not
    /// the message any more.
    #[must_use]
    pub const fn at_most_ahead(self, most: Duration) -> OutOfOrder<true> {
        OutOfOrder { bound: self.bound, ahead: most }
    }
}

/// `n` milliseconds.
#[must_use]
pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// `n` seconds.
#[must_use]
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// `n` minutes.
#[must_use]
pub const fn mins(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(60))
}

/// `n` hours.
#[must_use]
pub const fn hours(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(3_600))
}

/// `n` days of 24 hours.
#[must_use]
pub const fn days(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(86_400))
}

/// Whole milliseconds of a length, at most `i64::MAX`; a fraction of a millisecond is cut off.
#[must_use]
pub(crate) const fn as_ms(length: Duration) -> i64 {
    let ms = length.as_millis();
    if ms > i64::MAX as u128 { i64::MAX } else { ms as i64 }
}

/// The start of the epoch-aligned span of `size_ms` that holds `ts_ms`, not below `i64::MIN`.
#[must_use]
pub(crate) const fn align(ts_ms: i64, size_ms: i64) -> i64 {
    // Near the ends of time the start may not be representable; it is then the end of time itself.
    match ts_ms.checked_sub(ts_ms.rem_euclid(size_ms)) {
        Some(start) => start,
        None => i64::MIN,
    }
}
