//! Windows of fixed size: tumbling and hopping.

use std::time::Duration;

use crate::aggregate::Aggregates;
use crate::key::Key;
use crate::op::window_aggregate::WindowAggregate;
use crate::op::window_aggregate::spans::Cut;
use crate::time::{Window, as_ms};
use crate::window::{FRACTION, WindowSpec, Windowed, has_fraction};

/// Spans of equal size, one after the other: `[k·size, (k+1)·size)`, aligned to the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tumbling {
    size: Duration,
    shift: Shift,
}

/// Overlapping spans of equal size: `[k·slide, k·slide + size)`, aligned to the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hopping {
    size: Duration,
    slide: Duration,
    shift: Shift,
}

/// How far windows begin from where they would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    None,
    Later(Duration),
    Earlier(Duration),
}

/// Windows of `size`, one after the other, aligned to the Unix epoch.
#[must_use]
pub const fn tumbling(size: Duration) -> Tumbling {
    Tumbling { size, shift: Shift::None }
}

/// Windows of `size` of which one begins every `slide`, aligned to the Unix epoch.
#[must_use]
pub const fn hopping(size: Duration, slide: Duration) -> Hopping {
    Hopping { size, slide, shift: Shift::None }
}

macro_rules! shifted {
    ($($spec:ty, $longest:literal);*) => {$(
        impl $spec {
            /// The windows begin this much later. A day in New York without summer time (UTC−5) begins at 5:00
            /// UTC: `tumbling(days(1)).offset(hours(5))`.
            #[doc = concat!("The offset must be below the ", $longest, ".")]
            #[must_use]
            pub const fn offset(self, later: Duration) -> Self {
                Self { shift: Shift::Later(later), ..self }
            }

            /// The windows begin this much earlier. A day in Shanghai (UTC+8) begins at 16:00 UTC of the day
            /// before: `tumbling(days(1)).offset_back(hours(8))`.
            #[doc = concat!("The offset must be below the ", $longest, ".")]
            #[must_use]
            pub const fn offset_back(self, earlier: Duration) -> Self {
                Self { shift: Shift::Earlier(earlier), ..self }
            }
        }
    )*};
}

shifted!(Tumbling, "size"; Hopping, "slide");

impl Shift {
    /// From zero on and below the slide.
    const fn offset_ms(self, slide_ms: i64) -> i64 {
        match self {
            Self::None => 0,
            Self::Later(length) => as_ms(length),
            Self::Earlier(length) => match as_ms(length) {
                0 => 0,
                earlier_ms => slide_ms - earlier_ms,
            },
        }
    }

    const fn problem(self, slide_ms: i64) -> Option<&'static str> {
        let (Self::Later(length) | Self::Earlier(length)) = self else { return None };
        if has_fraction(length) {
            return Some(FRACTION);
        }
        if as_ms(length) >= slide_ms {
            return Some(
                "window offset must be below the size of tumbling windows and the slide of hopping ones; write e.g. `tumbling(days(1)).offset(hours(5))`",
            );
        }
        None
    }
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

pub(super) const fn tumbling_problem(spec: Tumbling) -> Option<&'static str> {
    if has_fraction(spec.size) {
        return Some(FRACTION);
    }
    if as_ms(spec.size) == 0 {
        return Some("window size must be at least a millisecond; write e.g. `tumbling(secs(10))`");
    }
    spec.shift.problem(as_ms(spec.size))
}

pub(super) const fn hopping_problem(spec: Hopping) -> Option<&'static str> {
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
    spec.shift.problem(slide)
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

/// Windows of fixed size, as numbers.
pub(crate) trait Fixed {
    /// Size, slide and offset in ms.
    fn cut(self) -> Cut;
}

impl Fixed for Tumbling {
    fn cut(self) -> Cut {
        let size_ms = as_ms(self.size);
        Cut { size_ms, slide_ms: size_ms, offset_ms: self.shift.offset_ms(size_ms) }
    }
}

impl Fixed for Hopping {
    fn cut(self) -> Cut {
        let slide_ms = as_ms(self.slide);
        Cut { size_ms: as_ms(self.size), slide_ms, offset_ms: self.shift.offset_ms(slide_ms) }
    }
}

macro_rules! windowed {
    ($($spec:ty),*) => {$(
        impl Windowed for $spec {
            type Span = Window;
            type Aggregate<K: Key, T: 'static, A: Aggregates<T>, F> = WindowAggregate<K, T, A, F>;

            fn aggregate<K: Key, T: 'static, A: Aggregates<T>, F>(
                self,
                id: &'static str,
                aggregates: A,
                finish: F,
            ) -> WindowAggregate<K, T, A, F> {
                WindowAggregate::new(id, self.cut(), aggregates, finish)
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
        assert_eq!(hopping(ms(10), ms(5)).offset_back(ms(4)).problem(), None);
        let problems = [
            tumbling(Duration::ZERO).problem(),
            tumbling(Duration::from_micros(1_500)).problem(),
            tumbling(ms(10)).offset(ms(10)).problem(),
            tumbling(ms(10)).offset_back(Duration::from_micros(1)).problem(),
            hopping(Duration::ZERO, ms(1)).problem(),
            hopping(ms(10), Duration::ZERO).problem(),
            hopping(ms(10), ms(11)).problem(),
            hopping(ms(10), Duration::from_micros(2_500)).problem(),
            hopping(ms(10), ms(5)).offset_back(ms(5)).problem(),
        ];
        assert!(problems.iter().all(|problem| problem.is_some_and(|text| text.contains("write e.g."))));
    }

    #[test]
    fn offsets_are_modulo_the_slide() {
        let ms = Duration::from_millis;
        assert_eq!(tumbling(ms(10)).offset(ms(3)).cut().offset_ms, 3);
        assert_eq!(tumbling(ms(10)).offset_back(ms(3)).cut().offset_ms, 7);
        assert_eq!(tumbling(ms(10)).offset_back(ms(0)).cut().offset_ms, 0);
        assert_eq!(hopping(ms(10), ms(4)).offset_back(ms(3)).cut().offset_ms, 1);
    }
}
