//! Windows: how event time is cut into spans, and the typestate of a stream that has one.

use std::time::Duration;

use crate::aggregate::Aggregates;
use crate::key::Key;
use crate::op::window_aggregate::WindowAggregate;
use crate::time::as_ms;

/// Spans of equal size, one after the other: `[k·size, (k+1)·size)`, aligned to the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tumbling {
    size: Duration,
}

/// Overlapping spans of equal size: `[k·slide, k·slide + size)`, aligned to the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hopping {
    size: Duration,
    slide: Duration,
}

/// Windows of `size`, one after the other, aligned to the Unix epoch.
#[must_use]
pub const fn tumbling(size: Duration) -> Tumbling {
    Tumbling { size }
}

/// Windows of `size` of which one begins every `slide`, aligned to the Unix epoch.
#[must_use]
pub const fn hopping(size: Duration, slide: Duration) -> Hopping {
    Hopping { size, slide }
}

/// A way of cutting event time into windows.
pub trait WindowSpec: Windowed {
    /// Why no stream can be cut like this, if so.
    fn problem(&self) -> Option<&'static str>;
}

impl WindowSpec for Tumbling {
    fn problem(&self) -> Option<&'static str> {
        tumbling_problem(*self)
    }
}

impl WindowSpec for Hopping {
    fn problem(&self) -> Option<&'static str> {
        hopping_problem(*self)
    }
}

/// Whether something of the length is lost in milliseconds.
const fn has_fraction(length: Duration) -> bool {
    !length.subsec_nanos().is_multiple_of(1_000_000)
}

const FRACTION: &str = "windows are cut in whole milliseconds; write e.g. `tumbling(millis(1_500))` or `hopping(secs(10), millis(500))`";

const fn tumbling_problem(spec: Tumbling) -> Option<&'static str> {
    if has_fraction(spec.size) {
        return Some(FRACTION);
    }
    if as_ms(spec.size) == 0 {
        return Some("window size must be at least a millisecond; write e.g. `tumbling(secs(10))`");
    }
    None
}

const fn hopping_problem(spec: Hopping) -> Option<&'static str> {
    let (size, slide) = (as_ms(spec.size), as_ms(spec.slide));
    if has_fraction(spec.size) || has_fraction(spec.slide) {
        return Some(FRACTION);
    }
    if size == 0 {
        return Some("window size must be at least a millisecond; write e.g. `hopping(secs(10), secs(2))`");
    }
    if slide == 0 || slide > size {
        return Some(
            "window slide must be above zero and at most the size, or records between windows would be lost; write e.g. `hopping(secs(10), secs(2))`",
        );
    }
    None
}

/// The window itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when the window is impossible; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_tumbling(spec: Tumbling) -> Tumbling {
    match tumbling_problem(spec) {
        None => spec,
        Some(problem) => panic!("{}", problem),
    }
}

/// The window itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when the window is impossible; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_hopping(spec: Hopping) -> Hopping {
    match hopping_problem(spec) {
        None => spec,
        Some(problem) => panic!("{}", problem),
    }
}

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
    label = "`late` needs the result of an aggregate over a window",
    note = "write `.window(tumbling(secs(10))).aggregate(..)` before it"
)]
pub trait Closing: WindowSpec {
    /// Size and slide in ms.
    fn lengths_ms(self) -> (i64, i64);
}

impl Closing for Tumbling {
    fn lengths_ms(self) -> (i64, i64) {
        let size = as_ms(self.size);
        (size, size)
    }
}

impl Closing for Hopping {
    fn lengths_ms(self) -> (i64, i64) {
        (as_ms(self.size), as_ms(self.slide))
    }
}

macro_rules! windowed {
    ($($spec:ty),*) => {$(
        impl Windowed for $spec {
            type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = WindowAggregate<K, T, A, F>;

            fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
                self,
                id: &'static str,
                aggregates: A,
                finish: F,
            ) -> WindowAggregate<K, T, A, F> {
                WindowAggregate::new(id, self.lengths_ms(), aggregates, finish)
            }
        }
    )*};
}

windowed!(Tumbling, Hopping);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_windows_say_what_to_write() {
        let ms = Duration::from_millis;
        assert_eq!(tumbling(ms(1)).problem(), None);
        assert_eq!(hopping(ms(10), ms(10)).problem(), None);
        let problems = [
            tumbling(Duration::ZERO).problem(),
            tumbling(Duration::from_micros(1_500)).problem(),
            hopping(Duration::ZERO, ms(1)).problem(),
            hopping(ms(10), Duration::ZERO).problem(),
            hopping(ms(10), ms(11)).problem(),
            hopping(ms(10), Duration::from_micros(2_500)).problem(),
        ];
        assert!(problems.iter().all(|problem| problem.is_some_and(|text| text.contains("write e.g."))));
    }
}
