//! Sessions: windows that last as long as records follow one another.

use std::time::Duration;

use crate::aggregate::Aggregates;
use crate::key::Key;
use crate::op::session_aggregate::SessionAggregate;
use crate::time::{Window, as_ms};
use crate::window::{FRACTION, Updates, Updating, WindowSpec, Windowed, has_fraction};

/// Windows of records of a key that are less than `gap` apart: `[first, last + gap)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    gap: Duration,
}

/// A window per key that goes on as long as the next record is less than `gap` away, in either direction; a record
/// between two sessions makes one of them. A record exactly `gap` behind the last one begins a new session, since
/// windows do not hold their end.
#[must_use]
pub const fn session(gap: Duration) -> Session {
    Session { gap }
}

pub(super) const fn session_problem(spec: Session) -> Option<&'static str> {
    if has_fraction(spec.gap) {
        return Some(FRACTION);
    }
    if as_ms(spec.gap) == 0 {
        return Some("session gap must be at least a millisecond; write e.g. `session(mins(30))`");
    }
    None
}

impl WindowSpec for Session {
    fn problem(&self) -> Option<&'static str> {
        session_problem(*self)
    }
}

/// The window itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when the window is impossible; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_session(spec: Session) -> Session {
    match session_problem(spec) {
        None => spec,
        Some(problem) => panic!("{}", problem),
    }
}

impl Windowed for Session {
    type Span = Window;
    type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = SessionAggregate<K, T, A, F>;

    fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
        self,
        id: &'static str,
        aggregates: A,
        finish: F,
    ) -> SessionAggregate<K, T, A, F> {
        let once = Updates { lateness_ms: 0, early_ms: None, discarding: false };
        SessionAggregate::new(id, as_ms(self.gap), once, aggregates, finish)
    }
}

impl Windowed for Updating<Session> {
    type Span = Window;
    type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = SessionAggregate<K, T, A, F>;

    fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
        self,
        id: &'static str,
        aggregates: A,
        finish: F,
    ) -> SessionAggregate<K, T, A, F> {
        SessionAggregate::new(id, as_ms(self.window.gap), self.updates(), aggregates, finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sessions_say_what_to_write() {
        assert_eq!(session(Duration::from_millis(1)).problem(), None);
        let problems = [
            session(Duration::ZERO).problem(),
            session(Duration::from_micros(10)).problem(),
            session(Duration::ZERO).lateness(Duration::from_secs(1)).problem(),
            session(Duration::from_secs(1)).discarding().problem(),
        ];
        assert!(problems.iter().all(|problem| problem.is_some_and(|text| text.contains("write e.g."))));
    }
}
