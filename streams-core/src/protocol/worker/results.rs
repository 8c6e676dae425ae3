//! Results of other jobs as input: a reader of an output keeps the highest number of each job, split and queue, and
//! drops what is not higher (rule 20).
//!
//! The first number that is seen of a sender is where it begins: an output may be read from its middle. Numbers that
//! are missing later are counted and told; the records that come behind are as good as any.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::protocol::ids::Split;

/// Whose result a message is, and its number among those that the split has put into the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultOf {
    /// The life of the other job.
    pub job: u64,
    /// Its split.
    pub split: Split,
    /// From 1.
    pub number: u64,
}

/// How many senders are remembered: anybody can write numbers into a topic, and each life of a job has new ones.
const MOST: usize = 4_096;

/// What has been seen of the senders of one queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// By job and split: the highest number, and the offset that it was seen at.
    senders: BTreeMap<(u64, Split), (u64, u64)>,
}

/// What a number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is the next one, behind so many that are missing.
    New(u64),
    /// It was there before.
    Repeated,
}

impl Seen {
    /// Takes the message at `offset`.
    pub(super) fn take(&mut self, result: ResultOf, offset: u64) -> Turn {
        let ResultOf { job, split, number } = result;
        let high = self.senders.get(&(job, split)).map(|(high, _)| *high);
        if high.is_some_and(|high| number <= high) {
            return Turn::Repeated;
        }
        if high.is_none() && self.senders.len() >= MOST {
            // Which one goes follows from the queue alone.
            let oldest =
                self.senders.iter().min_by_key(|(_, (_, offset))| *offset).map(|(sender, _)| *sender);
            oldest.map(|sender| self.senders.remove(&sender));
        }
        self.senders.insert((job, split), (number, offset));
        Turn::New(high.map_or(0, |high| number - high - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ids::Stage;

    fn result(job: u64, queue: u16, number: u64) -> ResultOf {
        ResultOf { job, split: Split { stage: Stage(1), queue }, number }
    }

    #[test]
    fn the_highest_number_of_each_sender_counts() {
        let mut seen = Seen::default();
        let mut turns =
            (0..).zip([(7, 0, 5), (7, 0, 6), (7, 0, 5), (7, 1, 1), (8, 0, 1), (7, 0, 9), (7, 0, 7)]);
        let mut next = || turns.next().map(|(at, (job, queue, n))| seen.take(result(job, queue, n), at));
        assert_eq!(next(), Some(Turn::New(0)), "it is read from the middle");
        assert_eq!(next(), Some(Turn::New(0)));
        assert_eq!(next(), Some(Turn::Repeated));
        assert_eq!(next(), Some(Turn::New(0)), "another split");
        assert_eq!(next(), Some(Turn::New(0)), "another job");
        assert_eq!(next(), Some(Turn::New(2)), "7 and 8 are missing");
        assert_eq!(next(), Some(Turn::Repeated));
    }

    #[test]
    fn senders_are_bounded() {
        let mut seen = Seen::default();
        for job in 0..5_000 {
            assert_eq!(seen.take(result(job, 0, 1), job), Turn::New(0));
        }
        assert_eq!(seen.senders.len(), MOST);
        assert_eq!(seen.take(result(4_999, 0, 1), 5_000), Turn::Repeated);
        assert_eq!(seen.take(result(0, 0, 1), 5_001), Turn::New(0), "it has been forgotten");
    }
}
