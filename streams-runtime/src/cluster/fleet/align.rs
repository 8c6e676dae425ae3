//! Source splits that work off a backlog keep together in event time.
//!
//! The stages behind them keep a window until the slowest split has passed it, so what one split is ahead is memory.
//! Who is more than two pulls ahead of the slowest therefore waits with the next one. Only splits with more in their
//! queues wait, and only for such splits; those whose broker is away and those without event time are not waited for,
//! and nobody waits longer than a second at a time. What the job gives out does not depend on any of this. The idea is
//! that of watermark alignment in Apache Flink, with a distance that follows from the pulls instead of a setting.

use std::time::{Duration, Instant};

use streams_core::protocol::ids::Split;

use super::{Fleet, Lane};

/// The longest that a pull waits for other splits.
const MOST_HELD: Duration = Duration::from_secs(1);

/// How far the reading of a split has come.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Pace {
    /// Not begun.
    #[default]
    Unknown,
    /// At the end of its queue, or without event time: nobody waits for it, and it waits for nobody.
    Free,
    /// There is more to read.
    Backlog {
        /// Where it is in event time.
        at_ms: i64,
        /// How far a pull takes it.
        stride_ms: i64,
    },
}

impl Pace {
    /// Messages have been read up to this event time.
    pub(super) fn read(&mut self, event_time_ms: Option<i64>, has_more: bool) {
        let (Some(at_ms), true) = (event_time_ms, has_more) else {
            *self = Self::Free;
            return;
        };
        let stride_ms = match *self {
            // A pull that went less far than usual does not count at once.
            Self::Backlog { at_ms: before, stride_ms } => at_ms.saturating_sub(before).max(stride_ms / 2),
            Self::Unknown | Self::Free => 0,
        };
        *self = Self::Backlog { at_ms, stride_ms };
    }

    /// Whether it is more than two pulls ahead of one of the others.
    fn is_ahead_of(self, mut others: impl Iterator<Item = Self>) -> bool {
        let Self::Backlog { at_ms, stride_ms } = self else { return false };
        let most = at_ms.saturating_sub(stride_ms.saturating_mul(2));
        let is_behind = |other| match other {
            Self::Unknown => true,
            Self::Free => false,
            Self::Backlog { at_ms, .. } => at_ms < most,
        };
        others.any(is_behind)
    }
}

/// A pull that waits for other splits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    offset: u64,
    since: Instant,
}

impl Fleet {
    /// Begins a pull, or lets it wait for splits that are behind.
    pub(super) fn pull_in_step(&mut self, split: Split, offset: u64) {
        if !self.is_ahead(split) {
            return self.pull(split, offset);
        }
        if let Some(run) = self.runs.get_mut(&split) {
            run.held = Some(Held { offset, since: Instant::now() });
        }
    }

    /// Begins the pulls that have waited long enough.
    pub(super) fn align(&mut self) {
        let held: Vec<(Split, Held)> =
            self.runs.iter().filter_map(|(split, run)| Some((*split, run.held?))).collect();
        for (split, Held { offset, since }) in held {
            if since.elapsed() < MOST_HELD && self.is_ahead(split) {
                continue;
            }
            if let Some(run) = self.runs.get_mut(&split) {
                run.held = None;
            }
            self.pull(split, offset);
        }
    }

    fn is_ahead(&self, split: Split) -> bool {
        let Some(run) = self.runs.get(&split).filter(|run| !run.worker.is_revoked()) else { return false };
        let others = self.runs.iter().filter(|(other, run)| {
            **other != split && self.is_source(**other) && run.failures(Lane::Source) == 0
        });
        self.is_source(split) && run.pace.is_ahead_of(others.map(|(_, run)| run.pace))
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    fn at(reads: &[i64]) -> Pace {
        let mut pace = Pace::default();
        reads.iter().for_each(|at_ms| pace.read(Some(*at_ms), true));
        pace
    }

    #[test]
    fn who_is_more_than_two_pulls_ahead_waits() {
        let fast = at(&[0, 100, 200]);
        assert!(!fast.is_ahead_of([at(&[0]), at(&[150])].into_iter()));
        assert!(fast.is_ahead_of([at(&[-1]), at(&[150])].into_iter()));
        assert!(!at(&[-1]).is_ahead_of([fast].into_iter()));
    }

    #[test]
    fn a_split_that_has_not_begun_is_waited_for() {
        assert!(at(&[0, 100]).is_ahead_of([Pace::Unknown].into_iter()));
        assert!(!Pace::Unknown.is_ahead_of([at(&[0])].into_iter()));
    }

    #[test]
    fn who_has_read_everything_or_has_no_event_time_is_not_waited_for_and_does_not_wait() {
        let (mut done, mut timeless) = (at(&[0]), at(&[0]));
        done.read(Some(5), false);
        timeless.read(None, true);
        for free in [done, timeless] {
            assert!(!at(&[0, 100, 100_000]).is_ahead_of([free].into_iter()));
            assert!(!free.is_ahead_of([at(&[-1_000])].into_iter()));
        }
    }

    #[test]
    fn one_short_pull_does_not_make_a_split_wait() {
        assert!(!at(&[0, 100, 101]).is_ahead_of([at(&[50])].into_iter()));
    }
}
