//! The sessions of one key: which of them a record belongs to.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Never.
pub(super) const NEVER: i128 = i128::MAX;

/// The value of [`Sessions::armed_ms`] where nobody looks. Nothing is due at the beginning of time, since a session
/// ends behind its last record by the gap.
pub(super) const NOBODY: i64 = i64::MIN;

/// The sessions of a key, apart from one another and in order of time.
#[derive(Debug)]
pub(super) struct Sessions<S> {
    /// Nearly every key has one, which lies here and not in memory of its own.
    pub(super) list: SmallVec<[Session<S>; 1]>,
    /// When somebody looks at them next; not behind the time when something is due.
    pub(super) armed_ms: i64,
    /// Whether all of the key's sessions are here.
    pub(super) whole: bool,
}

/// A session, and what is stored of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Session<S> {
    pub(super) start_ms: i64,
    pub(super) last_ms: i64,
    pub(super) state: S,
    /// Whether it has records that no result holds.
    pub(super) fresh: bool,
    /// Whether it, or a part of it, has given a final result.
    pub(super) fired: bool,
    /// Where its row in the store stands in the order of what is due.
    pub(super) due_ms: i64,
    /// Whether it has a row in the store; that has the same start.
    #[serde(skip)]
    pub(super) saved: bool,
    /// Whether it differs from its row.
    #[serde(skip)]
    pub(super) changed: bool,
}

/// Where the rows of a session lie, besides its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start_ms: i64,
    pub(super) due_ms: i64,
}

impl<S> Sessions<S> {
    pub(super) fn new() -> Self {
        Self { list: SmallVec::new(), armed_ms: NOBODY, whole: true }
    }

    /// Which sessions the span `[at, at + gap)` of a record overlaps.
    pub(super) fn around(&self, at_ms: i64, gap: i128) -> Range<usize> {
        let at = i128::from(at_ms);
        let first = self.list.partition_point(|session| session.end(gap) <= at);
        let behind = self.list.get(first..).unwrap_or_default();
        let n = behind.partition_point(|session| i128::from(session.start_ms) < at + gap);
        first..first + n
    }

    /// When something is due, as seen when event time has reached `now`.
    pub(super) fn due(&self, now: i128, gap: i128, lateness: i128) -> i128 {
        self.list.iter().map(|session| session.due(now, gap, lateness)).min().unwrap_or(NEVER)
    }

    /// When somebody has to look at the key who would not have done so until now.
    pub(super) fn arm(&mut self, now: i128, gap: i128, lateness: i128) -> Option<i64> {
        // Event time cannot come to what lies behind.
        let due_ms = i64::try_from(self.due(now, gap, lateness)).ok()?;
        let earlier = self.armed_ms == NOBODY || due_ms < self.armed_ms;
        earlier.then(|| self.armed_ms = due_ms)?;
        Some(due_ms)
    }

    /// Puts a stored session in its place.
    pub(super) fn put(&mut self, session: Session<S>) {
        let at = self.list.partition_point(|other| other.start_ms < session.start_ms);
        self.list.insert(at, Session { saved: true, ..session });
    }
}

impl<S> Session<S> {
    /// A session with one record, which is not in the state yet.
    pub(super) fn new(at_ms: i64, state: S) -> Self {
        let (fresh, fired, saved, changed) = (true, false, false, true);
        Self { start_ms: at_ms, last_ms: at_ms, state, fresh, fired, due_ms: 0, saved, changed }
    }

    pub(super) fn end(&self, gap: i128) -> i128 {
        i128::from(self.last_ms) + gap
    }

    /// Where its rows in the store lie, if it has some.
    pub(super) fn saved_at(&self) -> Option<Place> {
        self.saved.then(|| self.place())
    }

    /// Where the rows of what was stored of it lie.
    pub(super) fn place(&self) -> Place {
        Place { start_ms: self.start_ms, due_ms: self.due_ms }
    }

    /// Whether event time has passed its end by the lateness.
    pub(super) fn is_over(&self, now: i128, gap: i128, lateness: i128) -> bool {
        self.end(gap) + lateness <= now
    }

    /// Whether event time has not reached its end, and a record at `at_ms` lies in it or behind it by less than the
    /// gap. In 64 bits, so that it says no where that cannot be told at the end of time.
    #[inline(always)]
    pub(super) fn goes_on(&self, at_ms: i64, watermark_ms: i64, gap_ms: i64) -> bool {
        let Some(end_ms) = self.last_ms.checked_add(gap_ms) else { return false };
        watermark_ms < end_ms && at_ms < end_ms && at_ms >= self.start_ms
    }

    /// Its end, or where that has passed, the time when it is dropped.
    pub(super) fn due(&self, now: i128, gap: i128, lateness: i128) -> i128 {
        let end = self.end(gap);
        if end > now { end } else { end + lateness }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spans: &[(i64, i64)], at: i64, expected: Range<usize>) {
        let mut sessions = Sessions::new();
        for &(start_ms, last_ms) in spans {
            sessions.put(Session { last_ms, ..Session::new(start_ms, ()) });
        }
        assert_eq!(sessions.around(at, 10), expected, "{spans:?} around {at}");
    }

    #[test]
    fn a_record_belongs_to_what_is_less_than_the_gap_away() {
        check(&[], 5, 0..0);
        check(&[(0, 5)], 14, 0..1);
        check(&[(0, 5)], 15, 1..1);
        check(&[(0, 5)], -9, 0..1);
        check(&[(0, 5)], -10, 0..0);
        // One side, both sides, between without touching.
        check(&[(0, 5), (20, 25)], 10, 0..1);
        check(&[(0, 5), (20, 25)], 12, 0..2);
        check(&[(0, 5), (30, 35)], 17, 1..1);
        check(&[(0, 5), (30, 35), (50, 50)], 36, 1..2);
        check(&[(i64::MIN, i64::MIN), (i64::MAX, i64::MAX)], i64::MAX, 1..2);
        check(&[(i64::MIN, i64::MIN), (i64::MAX, i64::MAX)], i64::MIN + 9, 0..1);
    }

    #[test]
    fn a_session_goes_on_as_the_wide_arithmetic_says() {
        const GAP: i128 = 10;
        let times = [i64::MIN, i64::MIN + 1, -11, -10, -1, 0, 5, 6, 14, 15, 16, i64::MAX - 10, i64::MAX];
        for (start_ms, last_ms) in [(0, 5), (i64::MIN, i64::MIN), (i64::MAX, i64::MAX), (i64::MIN, i64::MAX)]
        {
            let session = Session { last_ms, ..Session::new(start_ms, ()) };
            let end = session.end(GAP);
            for (at, watermark) in
                times.iter().flat_map(|at| times.iter().map(move |watermark| (*at, *watermark)))
            {
                let expected = end > i128::from(watermark) && at >= start_ms && i128::from(at) < end;
                let found = session.goes_on(at, watermark, 10);
                let told = end <= i128::from(i64::MAX);
                assert_eq!(found, expected && told, "{at}, {watermark} and [{start_ms}, {last_ms}]");
            }
        }
    }
}
