//! Which panes a window has and which windows a pane is in: arithmetic only.
//!
//! Ends are `i128`, so that windows at the ends of time need no special case.

use crate::time::align;

/// Windows of one size, of which one begins at `offset_ms` and another every `slide_ms` from there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) size_ms: i64,
    pub(crate) slide_ms: i64,
    /// From zero on and below the slide.
    pub(crate) offset_ms: i64,
}

/// Windows of one size and slide, and the panes that they are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans {
    size_ms: i64,
    slide_ms: i64,
    pane_ms: i64,
    offset_ms: i64,
}

impl std::fmt::Display for Spans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.size_ms == self.slide_ms {
            write!(f, "windows of {} ms", self.size_ms)?;
        } else {
            write!(f, "windows of {} ms every {} ms", self.size_ms, self.slide_ms)?;
        }
        match self.offset_ms {
            0 => Ok(()),
            offset_ms => write!(f, " from {offset_ms} ms"),
        }
    }
}

impl Spans {
    pub(crate) fn new(Cut { size_ms, slide_ms, offset_ms }: Cut) -> Self {
        Self { size_ms, slide_ms, pane_ms: greatest_common_divisor(size_ms, slide_ms), offset_ms }
    }

    pub(crate) fn size(&self) -> i128 {
        i128::from(self.size_ms)
    }

    /// The start of the pane that holds `ts`; `i64::MIN` when the pane began before time did.
    pub(crate) fn pane(&self, ts: i64) -> i64 {
        if self.offset_ms == 0 {
            return align(ts, self.pane_ms);
        }
        let start = self.true_start(ts);
        i64::try_from(start).unwrap_or(i64::MIN)
    }

    /// How many ms of the pane lie inside time.
    pub(crate) fn pane_len(&self, start: i64) -> u64 {
        let end = self.true_start(start) + i128::from(self.pane_ms);
        let end = end.min(i128::from(i64::MAX) + 1);
        u64::try_from(end - i128::from(start)).unwrap_or(u64::MAX)
    }

    /// The end of the last window over the pane.
    pub(crate) fn last_end(&self, pane: i64) -> i128 {
        self.window_at(pane) + self.size()
    }

    /// The end of the first window over the pane that ends after `after`; the pane's windows must not all
    /// have ended by then.
    pub(crate) fn next_end(&self, pane: i64, after: i128) -> i128 {
        let slide = i128::from(self.slide_ms);
        // The windows over the pane begin in (pane - size, pane], at multiples of the slide.
        let before = self.floor(self.true_start(pane) - self.size(), slide);
        let first = before + slide + self.size();
        if first > after { first } else { first + ((after - first) / slide + 1) * slide }
    }

    /// The start of the last window over the pane.
    fn window_at(&self, pane: i64) -> i128 {
        self.floor(self.true_start(pane), i128::from(self.slide_ms))
    }

    /// The start of the pane around `ts`, which may lie in front of `i64::MIN`.
    fn true_start(&self, ts: i64) -> i128 {
        self.floor(i128::from(ts), i128::from(self.pane_ms))
    }

    /// The last of the times every `step` ms, one of them the offset, that is not after `at`.
    fn floor(&self, at: i128, step: i128) -> i128 {
        let offset = i128::from(self.offset_ms);
        (at - offset).div_euclid(step) * step + offset
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All window ends over the pane of `ts`, by trying every window around.
    fn ends_by_trying(size: i64, slide: i64, offset: i64, ts: i64) -> Vec<i128> {
        let [size, slide, offset, ts] = [size, slide, offset, ts].map(i128::from);
        let around = ts.div_euclid(slide);
        (around - size / slide - 3..=around + 1)
            .map(|k| k * slide + offset)
            .filter(|&start| start <= ts && ts < start + size)
            .map(|start| start + size)
            .collect()
    }

    #[track_caller]
    fn check(size: i64, slide: i64, offset: i64, ts: i64) {
        let spans = Spans::new(Cut { size_ms: size, slide_ms: slide, offset_ms: offset });
        let pane = spans.pane(ts);
        let mut found = Vec::new();
        let mut after = i128::MIN / 4;
        while after < spans.last_end(pane) {
            after = spans.next_end(pane, after);
            found.push(after);
        }
        let expected = ends_by_trying(size, slide, offset, ts);
        assert_eq!(found, expected, "size {size}, slide {slide}, offset {offset}, ts {ts}");
        assert!(ts.wrapping_sub(pane) as u64 <= spans.pane_len(pane));
    }

    #[test]
    fn a_pane_is_in_the_windows_that_its_records_are_in() {
        for (size, slide) in [(10, 10), (10, 2), (10, 3), (10, 4), (7, 7), (9, 6), (1, 1), (12, 8)] {
            for offset in 0..slide {
                for ts in -40..40 {
                    check(size, slide, offset, ts);
                }
                for ts in [i64::MIN, i64::MIN + 1, i64::MIN + 11, i64::MAX - 11, i64::MAX - 1, i64::MAX] {
                    check(size, slide, offset, ts);
                }
            }
        }
    }
}
