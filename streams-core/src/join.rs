//! Joins: how records of two streams with the same key find each other.
//!
//! Both sides of a join are tagged, meet where a union would let them meet, and cross one shuffle together, so
//! that the stage behind it has one input and event time is the smaller of the two. What stands behind the
//! shuffle is an ordinary operator over [`Side`]s: [`crate::op::window_join`], [`crate::op::interval_join`] or
//! [`crate::op::table_join`].

use std::time::Duration;

use crate::key::{Key, Shuffled};
use crate::op::interval_join::IntervalJoin;
use crate::op::window_join::WindowJoin;
use crate::proof::{Fails, Holds, Never};
use crate::record::EventTimed;
use crate::time::{Window, as_ms};
use crate::window::{Fixed, Hopping, Tumbling, WindowSpec, has_fraction};

mod pairing;
mod side;

pub use pairing::{At, Full, Inner, LeftOuter, Pairing, Placed, RightOuter};
pub use side::{Side, TagLeft, TagRight};

/// Records belong together when the right one happened from `before` earlier to `after` later than the left
/// one; made by [`within`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Within {
    before: Duration,
    after: Duration,
}

/// The bound of an interval join: a left record at `t` belongs with the right records in
/// `[t - before, t + after]`, both ends included.
#[must_use]
pub const fn within(before: Duration, after: Duration) -> Within {
    Within { before, after }
}

impl Within {
    /// Both lengths in ms.
    pub(crate) fn lengths_ms(self) -> (i64, i64) {
        (as_ms(self.before), as_ms(self.after))
    }
}

const fn within_problem(spec: Within) -> Option<&'static str> {
    if has_fraction(spec.before) || has_fraction(spec.after) {
        return Some("joins count in whole milliseconds; write e.g. `within(secs(5), millis(1_500))`");
    }
    None
}

/// The bound itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when the bound is impossible; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_within(spec: Within) -> Within {
    match within_problem(spec) {
        None => spec,
        Some(problem) => panic!("{}", problem),
    }
}

/// Which records of two streams belong together in time, and so how long a record is kept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not bound a join in time",
    label = "a join needs a bound of time",
    note = "write `tumbling(secs(10))`, `hopping(secs(10), secs(2))` or `within(secs(5), secs(5))`"
)]
pub trait JoinBound: Copy {
    crate::proof::told_once!(JoinBound);
    /// What a row can say of its window.
    type Span: Copy;
    /// The operator that joins under it.
    type Join<K: Key, A: Shuffled, B: Shuffled, P>;

    /// Makes that operator.
    fn join<K: Key, A: Shuffled, B: Shuffled, P>(
        self,
        id: &'static str,
        pairing: P,
    ) -> Self::Join<K, A, B, P>;

    /// Why nothing can be joined like this, if so.
    fn problem(&self) -> Option<&'static str>;
}

macro_rules! windows {
    ($($spec:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl JoinBound for $spec {
            crate::proof::holds!();
            type Span = Window;
            type Join<K: Key, A: Shuffled, B: Shuffled, P> = WindowJoin<K, A, B, P>;

            fn join<K: Key, A: Shuffled, B: Shuffled, P>(
                self,
                id: &'static str,
                pairing: P,
            ) -> WindowJoin<K, A, B, P> {
                WindowJoin::new(id, self.cut(), pairing)
            }

            fn problem(&self) -> Option<&'static str> {
                WindowSpec::problem(self)
            }
        }
    )*};
}

windows!(Tumbling, Hopping);

#[diagnostic::do_not_recommend]
impl JoinBound for Within {
    crate::proof::holds!();
    type Span = ();
    type Join<K: Key, A: Shuffled, B: Shuffled, P> = IntervalJoin<K, A, B, P>;

    fn join<K: Key, A: Shuffled, B: Shuffled, P>(
        self,
        id: &'static str,
        pairing: P,
    ) -> IntervalJoin<K, A, B, P> {
        IntervalJoin::new(id, self.lengths_ms(), pairing)
    }

    fn problem(&self) -> Option<&'static str> {
        within_problem(*self)
    }
}

/// A record that a join keeps until its time is over.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is kept by this join but cannot be encoded",
    label = "keeps `{Self}` in its state",
    note = "add `#[record]` to `{Self}`"
)]
pub trait Joinable<M = Holds>: Shuffled {
    crate::proof::told_once!(Joinable<M>);
}

#[diagnostic::do_not_recommend]
impl<T: Shuffled> Joinable<Holds> for T {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<T: Never + Shuffled> Joinable<Fails> for T {
    crate::proof::holds!();
}

/// The key of a stream that is joined with one whose key is `K`.
#[diagnostic::on_unimplemented(
    message = "the two sides of this join have different keys: `{K}` on the left and `{Self}` on the right",
    label = "its key is `{Self}`",
    note = "give both sides a key of the same type with `.key_by(..)`"
)]
pub trait SameKey<K> {
    crate::proof::told_once!(SameKey<K>);

    /// The key, which is of that type.
    fn same(self) -> K;
}

impl<K> SameKey<K> for K {
    crate::proof::holds!();

    #[inline(always)]
    fn same(self) -> K {
        self
    }
}

/// A stream that has event time, in which a join is bounded.
#[diagnostic::on_unimplemented(
    message = "this stream has no event time",
    label = "what belongs together is said in event time",
    note = "write `.event_time(|r| r.at, out_of_order(secs(5)))` before its `key_by`"
)]
pub trait Timed {}

impl Timed for EventTimed {}

/// What a stream knows of time, when it is joined with one that knows `Tm`.
#[diagnostic::on_unimplemented(
    message = "one side of this join has event time and the other has not",
    label = "event time behind a join is the smaller of the two sides'",
    note = "write `.event_time(|r| r.at, out_of_order(secs(5)))` in both sides or in none"
)]
pub trait SameTime<Tm> {}

impl<Tm> SameTime<Tm> for Tm {}

/// A change of a table: what the right side of a table join is a stream of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no change of a table",
    label = "gives `{Self}`, where a table is changed by an `Option`",
    note = "`Some(row)` sets the row of its key and `None` removes it; write `.map(Some)` behind the `key_by` where nothing is removed"
)]
pub trait Change: Joinable {
    crate::proof::told_once!(Change);
    /// What the table has per key.
    type Row: Shuffled;
}

#[diagnostic::do_not_recommend]
impl<B: Shuffled> Change for Option<B> {
    crate::proof::holds!();
    type Row = B;
}
