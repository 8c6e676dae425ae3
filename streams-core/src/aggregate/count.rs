//! `count()`: how many records.

use crate::aggregate::{Aggregate, AggregateError};

/// See [`count`].
#[derive(Debug, Clone, Copy)]
pub struct Count;

/// How many records, as `u64`.
#[must_use]
pub const fn count() -> Count {
    Count
}

impl<T> Aggregate<T> for Count {
    type State = u64;
    type Out = u64;

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
