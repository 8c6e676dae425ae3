//! `count()`: how many records.

use crate::aggregate::{Aggregate, AggregateError};

/// See [`count`].
#[derive(Debug, Clone, Copy)]
pub struct Count;

/// How many records, as `u64`. **State** 8 bytes.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Hit { host: String }
///
/// #[stream_job]
/// fn per_host(hits: Stream<Hit>) -> Stream<(String, u64)> {
///     hits.key_by(|h| h.host.clone()).running(forever()).aggregate((key(), count()))
/// }
///
/// let mut job = Harness::new(per_host);
/// for host in ["a", "b", "a"] {
///     job.push("hits", Hit { host: host.to_owned() });
/// }
/// let counts = [("a", 1), ("b", 1), ("a", 2)].map(|(host, n)| (host.to_owned(), n));
/// assert_eq!(job.take::<(String, u64)>("per_host"), counts);
/// ```
#[must_use]
pub const fn count() -> Count {
    Count
}

impl<T> Aggregate<T> for Count {
    type State = u64;
    type Out = u64;

    const COMBINES: bool = true;

    fn signature() -> String {
        "count".to_owned()
    }

    #[inline(always)]
    fn init(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn add(&self, state: &mut u64, _value: &T) {
        *state += 1;
    }

    #[inline(always)]
    fn merge(&self, state: &mut u64, behind: u64) {
        *state += behind;
    }

    #[inline(always)]
    fn finish(&self, state: u64) -> Result<u64, AggregateError> {
        Ok(state)
    }
}
