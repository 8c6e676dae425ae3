//! Windows: how the records of a key are cut into groups, and the typestate of a stream that has one.
//!
//! Here are the traits; the ways of cutting are in files of their own.

use std::time::Duration;

use crate::aggregate::Aggregates;
use crate::key::Key;
use crate::op::running::Retention;
use crate::record::EventTimed;

mod fixed;
mod global;
mod session;
mod updating;

pub(crate) use fixed::Fixed;
pub use fixed::{Hopping, Tumbling, checked_hopping, checked_tumbling, hopping, tumbling};
pub use global::{CountWindow, Global, checked_count, checked_global, count_window, global};
pub use session::{Session, checked_session, session};
pub use updating::{Disjoint, Updates, Updating, checked_updating};

/// A way of cutting the records of a key into windows.
pub trait WindowSpec: Windowed {
    /// Why no stream can be cut like this, if so.
    fn problem(&self) -> Option<&'static str>;
}

/// A window that a stream with time `Tm` can have.
#[diagnostic::on_unimplemented(
    message = "this stream has no event time",
    label = "an event-time window needs event time",
    note = "write `.event_time(|r| r.at, out_of_order(secs(5)))` before it"
)]
pub trait WindowOver<Tm> {}

#[diagnostic::do_not_recommend]
impl WindowOver<EventTimed> for Tumbling {}
#[diagnostic::do_not_recommend]
impl WindowOver<EventTimed> for Hopping {}
#[diagnostic::do_not_recommend]
impl WindowOver<EventTimed> for Session {}
#[diagnostic::do_not_recommend]
impl<Tm, R: Retention<Tm>> WindowOver<Tm> for Global<R> {}
#[diagnostic::do_not_recommend]
impl<Tm, R: Retention<Tm>> WindowOver<Tm> for CountWindow<R> {}
#[diagnostic::do_not_recommend]
impl<W> WindowOver<EventTimed> for Updating<W> {}

/// Whether something of the length is lost in milliseconds.
pub(crate) const fn has_fraction(length: Duration) -> bool {
    !length.subsec_nanos().is_multiple_of(1_000_000)
}

const FRACTION: &str = "windows are cut in whole milliseconds; write e.g. `tumbling(millis(1_500))` or `hopping(secs(10), millis(500))`";

/// The stream has no window.
#[derive(Debug, Clone, Copy)]
pub struct NoWindow;

/// Values are gathered per key for as long as the retention says, and every record gives a result.
#[derive(Debug, Clone, Copy)]
pub struct Running<R>(pub(crate) R);

/// A stream on which `aggregate` can stand.
#[diagnostic::on_unimplemented(
    message = "this stream has no window",
    label = "`aggregate` needs a window",
    note = "write `.window(tumbling(secs(10)))` before it, or `.running(forever())` for one result per record"
)]
pub trait Windowed: Copy {
    /// What a result can say of its window.
    type Span: Copy;
    /// The operator that aggregates over it.
    type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F>;

    /// Makes that operator.
    fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
        self,
        id: &'static str,
        aggregates: A,
        finish: F,
    ) -> Self::Aggregate<K, T, A, F>;
}

/// A stream whose windows close, so that records can come too late for them.
#[diagnostic::on_unimplemented(
    message = "no record can be late here",
    label = "only windows of event time are over at some time",
    note = "write `.window(tumbling(secs(10))).aggregate(..)` before it"
)]
pub trait Closing: WindowSpec {
    crate::proof::told_once!(Closing);
}

#[diagnostic::do_not_recommend]
impl Closing for Tumbling {
    crate::proof::holds!();
}
#[diagnostic::do_not_recommend]
impl Closing for Hopping {
    crate::proof::holds!();
}
#[diagnostic::do_not_recommend]
impl Closing for Session {
    crate::proof::holds!();
}
