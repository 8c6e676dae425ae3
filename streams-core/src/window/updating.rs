//! Windows that give more than one result: early ones, and updates within an allowed lateness.

use std::time::Duration;

use crate::aggregate::Aggregates;
use crate::key::Key;
use crate::op::updating_aggregate::UpdatingAggregate;
use crate::time::{Window, as_ms};
use crate::window::fixed::{Fixed, hopping_problem, tumbling_problem};
use crate::window::session::session_problem;
use crate::window::{
    Closing, CountWindow, FRACTION, Global, Hopping, Session, Tumbling, WindowSpec, Windowed, has_fraction,
};

/// A window with early results or an allowed lateness; made by `early(..)` and `lateness(..)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updating<W> {
    pub(super) window: W,
    lateness: Duration,
    early: Option<Duration>,
    discarding: bool,
    /// What is wrong with the window itself.
    problem: Option<&'static str>,
}

/// When there are results besides the final one, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updates {
    /// How long a window is kept behind its end.
    pub(crate) lateness_ms: i64,
    /// Open windows give results at multiples of this.
    pub(crate) early_ms: Option<i64>,
    /// A result holds the records since the one before.
    pub(crate) discarding: bool,
}

/// A window whose records belong to it alone, so that they can be let go with a result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` windows share their records, and none can let them go",
    label = "`discarding` is for windows that do not overlap",
    note = "leave `discarding()` away: each result then holds all records of its window"
)]
pub trait Disjoint {}

#[diagnostic::do_not_recommend]
impl Disjoint for Tumbling {}
#[diagnostic::do_not_recommend]
impl Disjoint for Session {}
#[diagnostic::do_not_recommend]
impl<R> Disjoint for Global<R> {}
#[diagnostic::do_not_recommend]
impl<R> Disjoint for CountWindow<R> {}

impl<W> Updating<W> {
    pub(super) const fn new(window: W, problem: Option<&'static str>) -> Self {
        Self { window, lateness: Duration::ZERO, early: None, discarding: false, problem }
    }

    /// Keeps each window for `lateness` behind its end: a record that comes for it in that time gives a result at
    /// once, marked by [`Fired::Update`](crate::time::Fired). What comes later is late.
    #[must_use]
    pub const fn lateness(mut self, lateness: Duration) -> Self
    where
        W: Closing,
    {
        self.lateness = lateness;
        self
    }

    /// Gives results of open windows too: at every multiple of `every` that the watermark passes, each key with
    /// records that no result holds yet gives one, marked by [`Fired::Early`](crate::time::Fired). It is event time
    /// that counts, never a clock.
    #[must_use]
    pub const fn early(mut self, every: Duration) -> Self {
        self.early = Some(every);
        self
    }

    /// Each result holds the records since the one before, instead of all records of its window; where there are
    /// none, there is no result.
    #[must_use]
    pub const fn discarding(mut self) -> Self
    where
        W: Disjoint,
    {
        self.discarding = true;
        self
    }

    /// As numbers.
    pub(super) const fn updates(&self) -> Updates {
        let early_ms = match self.early {
            Some(every) => Some(as_ms(every)),
            None => None,
        };
        Updates { lateness_ms: as_ms(self.lateness), early_ms, discarding: self.discarding }
    }
}

macro_rules! updating {
    ($($spec:ty, $problem:ident);*) => {$(
        impl $spec {
            /// See [`Updating::lateness`].
            #[must_use]
            pub const fn lateness(self, lateness: Duration) -> Updating<Self> {
                Updating::new(self, $problem(self)).lateness(lateness)
            }

            /// See [`Updating::early`].
            #[must_use]
            pub const fn early(self, every: Duration) -> Updating<Self> {
                Updating::new(self, $problem(self)).early(every)
            }
        }
    )*};
}

updating!(Tumbling, tumbling_problem; Hopping, hopping_problem; Session, session_problem);

macro_rules! discarding {
    ($($spec:ty, $problem:ident);*) => {$(
        impl $spec {
            /// See [`Updating::discarding`].
            #[must_use]
            pub const fn discarding(self) -> Updating<Self> {
                Updating::new(self, $problem(self)).discarding()
            }
        }
    )*};
}

discarding!(Tumbling, tumbling_problem; Session, session_problem);

const fn updating_problem<W>(spec: &Updating<W>) -> Option<&'static str> {
    if spec.problem.is_some() {
        return spec.problem;
    }
    if has_fraction(spec.lateness) {
        return Some(FRACTION);
    }
    if let Some(every) = spec.early {
        if has_fraction(every) {
            return Some(FRACTION);
        }
        if as_ms(every) == 0 {
            return Some("early results come at least a millisecond apart; write e.g. `.early(secs(1))`");
        }
    }
    if spec.discarding && spec.early.is_none() && spec.lateness.is_zero() {
        return Some(
            "a window with one result has nothing to discard; write e.g. `.early(secs(1))` or `.lateness(secs(30))` with `discarding()`, or remove it",
        );
    }
    None
}

impl<W: Copy> WindowSpec for Updating<W>
where
    Self: Windowed,
{
    fn problem(&self) -> Option<&'static str> {
        updating_problem(self)
    }
}

#[diagnostic::do_not_recommend]
impl<W: Closing> Closing for Updating<W>
where
    Self: WindowSpec,
{
    crate::proof::holds!();
}

/// The window itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when the window is impossible; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_updating<W: Copy>(spec: Updating<W>) -> Updating<W> {
    match updating_problem(&spec) {
        None => spec,
        Some(problem) => panic!("{}", problem),
    }
}

macro_rules! windowed {
    ($($spec:ty),*) => {$(
        impl Windowed for Updating<$spec> {
            type Span = Window;
            type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = UpdatingAggregate<K, T, A, F>;

            fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
                self,
                id: &'static str,
                aggregates: A,
                finish: F,
            ) -> UpdatingAggregate<K, T, A, F> {
                UpdatingAggregate::new(id, self.window.cut(), self.updates(), aggregates, finish)
            }
        }
    )*};
}

windowed!(Tumbling, Hopping);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{hopping, tumbling};

    #[test]
    fn impossible_updates_say_what_to_write() {
        let ms = Duration::from_millis;
        assert_eq!(tumbling(ms(10)).lateness(ms(0)).problem(), None);
        assert_eq!(tumbling(ms(10)).discarding().early(ms(1)).problem(), None);
        assert_eq!(hopping(ms(10), ms(5)).early(ms(50)).lateness(ms(1)).problem(), None);
        let problems = [
            tumbling(ms(0)).lateness(ms(1)).problem(),
            hopping(ms(10), ms(0)).early(ms(1)).problem(),
            tumbling(ms(10)).lateness(Duration::from_micros(1)).problem(),
            tumbling(ms(10)).early(ms(0)).problem(),
            tumbling(ms(10)).early(Duration::from_micros(1_500)).problem(),
            tumbling(ms(10)).discarding().problem(),
            tumbling(ms(10)).lateness(ms(0)).discarding().problem(),
        ];
        assert!(problems.iter().all(|problem| problem.is_some_and(|text| text.contains("write e.g."))));
    }
}
