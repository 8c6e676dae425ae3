//! The wall clock, for people: when something was committed. It decides nothing that a job computes.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in ms since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "it is shown and compared with nothing")]
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
