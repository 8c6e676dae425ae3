//! How long an input has had nothing, for `--idle-after`.
//!
//! Looks are counted, and the time between them only up to a limit: the time in which this process did not look,
//! because it was stopped or busy, is no idleness of the input.

use std::time::{Duration, Instant};

/// What passes between two looks counts up to this.
const MOST_BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The silence of one input.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// After how long it is idle; never without one.
    after: Option<Duration>,
    lasted: Duration,
    looked: Option<Instant>,
    idle: bool,
}

impl Quiet {
    pub(crate) fn new(after: Option<Duration>) -> Self {
        Self { after, lasted: Duration::ZERO, looked: None, idle: false }
    }

    /// There was something; whether it had been idle.
    pub(crate) fn heard(&mut self) -> bool {
        (self.lasted, self.looked) = (Duration::ZERO, None);
        std::mem::take(&mut self.idle)
    }

    /// There was nothing at `now`; whether it is idle from now on.
    pub(crate) fn looked(&mut self, now: Instant) -> bool {
        let since = self.looked.replace(now).map_or(Duration::ZERO, |before| now.duration_since(before));
        self.lasted += since.min(MOST_BETWEEN_LOOKS);
        let idle = self.after.is_some_and(|after| self.lasted >= after);
        idle && !std::mem::replace(&mut self.idle, idle)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_between_looks_counts() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut quiet = Quiet::new(Some(Duration::from_millis(150)));
        // Between the second and the third look the process stood still.
        let looks = [(0, false), (60, false), (40_000, true), (40_060, false)];
        for (ms, idle) in looks {
            assert_eq!(quiet.looked(at(ms)), idle, "at {ms}");
        }
        assert!(quiet.heard());
        assert!(!quiet.heard());
        assert!(!quiet.looked(at(50_000)));
        assert!(!quiet.looked(at(50_100)));
        assert!(quiet.looked(at(50_150)));
    }

    #[test]
    fn never_without_a_length() {
        let mut quiet = Quiet::new(None);
        let began = Instant::now();
        assert!((0..1_000).all(|n| !quiet.looked(began + Duration::from_secs(n))));
    }
}
