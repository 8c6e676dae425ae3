//! Windows that event time does not cut: of a number of records, and the one that holds all of a key.

use std::time::Duration;

use crate::aggregate::Aggregates;
use crate::key::Key;
use crate::op::global_aggregate::{GlobalAggregate, Triggers};
use crate::op::running::Retention;
use crate::record::EventTimed;
use crate::time::Occasion;
use crate::window::{Updating, WindowSpec, Windowed};

/// Windows of a number of records each, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct CountWindow<R> {
    n: u64,
    retention: R,
}

/// One window that holds all records of its key.
#[derive(Debug, Clone, Copy)]
pub struct Global<R> {
    every: Option<u64>,
    discarding: bool,
    retention: R,
}

/// Windows of `n` records of a key each. A key that has been quiet for the `ttl` is forgotten, and gives the result
/// of the records that are there; with `forever()` they wait for more. The end of the input gives them too.
#[must_use]
pub const fn count_window<R>(n: u64, retention: R) -> CountWindow<R> {
    CountWindow { n, retention }
}

/// One window per key. It gives its final result when the key has been quiet for the `ttl`, or when the input ends;
/// `every(n)` and `early(t)` ask for results in between.
#[must_use]
pub const fn global<R>(retention: R) -> Global<R> {
    Global { every: None, discarding: false, retention }
}

impl<R> Global<R> {
    /// Gives a result with every `n`-th record of a key.
    #[must_use]
    pub const fn every(mut self, n: u64) -> Self {
        self.every = Some(n);
        self
    }

    /// Each result holds the records since the one before, instead of all records of the key.
    #[must_use]
    pub const fn discarding(mut self) -> Self {
        self.discarding = true;
        self
    }
}

impl<R: Copy> Global<R> {
    /// See [`Updating::early`].
    #[must_use]
    pub const fn early(self, every: Duration) -> Updating<Self> {
        Updating::new(self, global_problem(&self)).early(every)
    }
}

impl<R: Copy> CountWindow<R> {
    /// See [`Updating::early`].
    #[must_use]
    pub const fn early(self, every: Duration) -> Updating<Self> {
        Updating::new(self, count_problem(&self)).early(every)
    }

    /// See [`Updating::discarding`].
    #[must_use]
    pub const fn discarding(self) -> Updating<Self> {
        Updating::new(self, count_problem(&self)).discarding()
    }
}

const fn count_problem<R>(spec: &CountWindow<R>) -> Option<&'static str> {
    match spec.n {
        0 => Some("a window of no records never ends; write e.g. `count_window(100, forever())`"),
        _ => None,
    }
}

const fn global_problem<R>(spec: &Global<R>) -> Option<&'static str> {
    match spec.every {
        Some(0) => Some("no record is the zeroth; write e.g. `global(forever()).every(100)`"),
        _ => None,
    }
}

macro_rules! checked {
    ($($name:ident, $spec:ident, $problem:ident);*) => {$(
        /// The window itself, checked while the user's crate is compiled.
        ///
        /// # Panics
        /// At compile time, when the window is impossible; the message says what to write.
        #[must_use]
        #[track_caller]
        pub const fn $name<R: Copy>(spec: $spec<R>) -> $spec<R> {
            match $problem(&spec) {
                None => spec,
                Some(problem) => panic!("{}", problem),
            }
        }

        impl<R: Retention<EventTimed>> WindowSpec for $spec<R> {
            fn problem(&self) -> Option<&'static str> {
                $problem(self)
            }
        }
    )*};
}

checked!(checked_count, CountWindow, count_problem; checked_global, Global, global_problem);

/// At least a millisecond, so that a key is not forgotten before it is heard of.
fn ttl_ms<R: Retention<EventTimed>>(retention: R) -> Option<i64> {
    retention.ttl_ms().map(|ttl_ms| ttl_ms.max(1))
}

impl<R: Retention<EventTimed>> CountWindow<R> {
    fn triggers(self) -> Triggers {
        let ttl_ms = ttl_ms(self.retention);
        Triggers { full: Some(self.n), every: None, early_ms: None, discarding: false, ttl_ms }
    }
}

impl<R: Retention<EventTimed>> Global<R> {
    fn triggers(self) -> Triggers {
        let (every, ttl_ms) = (self.every, ttl_ms(self.retention));
        Triggers { full: None, every, early_ms: None, discarding: self.discarding, ttl_ms }
    }
}

macro_rules! windowed {
    ($($spec:ident),*) => {$(
        impl<R: Retention<EventTimed>> Windowed for $spec<R> {
            type Span = Occasion;
            type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = GlobalAggregate<K, T, A, F>;

            fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
                self,
                id: &'static str,
                aggregates: A,
                finish: F,
            ) -> GlobalAggregate<K, T, A, F> {
                GlobalAggregate::new(id, self.triggers(), aggregates, finish)
            }
        }

        impl<R: Retention<EventTimed>> Windowed for Updating<$spec<R>> {
            type Span = Occasion;
            type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = GlobalAggregate<K, T, A, F>;

            fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
                self,
                id: &'static str,
                aggregates: A,
                finish: F,
            ) -> GlobalAggregate<K, T, A, F> {
                let (triggers, updates) = (self.window.triggers(), self.updates());
                let discarding = triggers.discarding || updates.discarding;
                let triggers = Triggers { early_ms: updates.early_ms, discarding, ..triggers };
                GlobalAggregate::new(id, triggers, aggregates, finish)
            }
        }
    )*};
}

windowed!(CountWindow, Global);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::running::{forever, ttl};

    #[test]
    fn impossible_windows_say_what_to_write() {
        let sec = Duration::from_secs(1);
        assert_eq!(count_window(1, forever()).problem(), None);
        assert_eq!(global(ttl(sec)).every(1).discarding().problem(), None);
        assert_eq!(global(forever()).discarding().early(sec).problem(), None);
        let problems = [
            count_window(0, ttl(sec)).problem(),
            count_window(0, ttl(sec)).early(sec).problem(),
            count_window(1, ttl(sec)).discarding().problem(),
            global(forever()).every(0).problem(),
            global(forever()).early(Duration::ZERO).problem(),
        ];
        assert!(problems.iter().all(|problem| problem.is_some_and(|text| text.contains("write e.g."))));
    }
}
