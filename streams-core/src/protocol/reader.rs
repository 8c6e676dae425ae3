//! The reading side: accepts each sender's numbers without a gap, and makes one event time out of all senders.
//!
//! A number that was seen is dropped and counted, the next one is accepted, a later one means that messages
//! are lost (rule 5). Event time is the smallest over all queues of all upstream stages that are neither idle
//! nor ended; a stage or a queue that has not been heard of holds it back (rule 7).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::frame::{Frame, Item};
use super::ids::{Incarnation, Split, Stage};
use crate::bug::{Bug, planted};
use crate::exchange::letterbox::carried_watermark;

/// What a snapshot keeps of a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderState {
    senders: Vec<(Split, Heard)>,
    announced: Vec<(Stage, BTreeSet<u16>)>,
    watermark_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Heard {
    high: u64,
    watermark_ms: i64,
    activity: Activity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Activity {
    Active,
    Idle,
    Ended,
}

/// Messages are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "messages are lost: queue {} of stage {} sent number {found}, and {expected} was expected",
    sender.queue,
    sender.stage.0
)]
pub struct Gap {
    /// Who sent them.
    pub sender: Split,
    /// The number that should have come.
    pub expected: u64,
    /// The one that came.
    pub found: u64,
}

/// What became of one frame, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted<'a> {
    /// Event time has reached this.
    Watermark(i64),
    /// A record; the watermark that it brings is in front of it.
    Record(&'a [u8]),
    /// All senders are idle now.
    AllIdle,
    /// A sender is back after all were idle.
    Awake,
    /// All senders have ended.
    AllEnded,
}

/// Reads one queue of a shuffle topic.
#[derive(Debug)]
pub struct Reader {
    incarnation: Incarnation,
    upstream: Vec<Stage>,
    senders: BTreeMap<Split, Heard>,
    announced: BTreeMap<Stage, BTreeSet<u16>>,
    watermark_ms: i64,
    /// Items that had been seen before.
    pub duplicates: u64,
    /// Messages of another life of the job.
    pub strangers: u64,
}

impl Reader {
    /// A reader of what `upstream` sends.
    #[must_use]
    pub fn new(incarnation: Incarnation, upstream: Vec<Stage>, state: ReaderState) -> Self {
        Self {
            incarnation,
            upstream,
            senders: state.senders.into_iter().collect(),
            announced: state.announced.into_iter().collect(),
            watermark_ms: state.watermark_ms.unwrap_or(i64::MIN),
            duplicates: 0,
            strangers: 0,
        }
    }

    /// What a snapshot must keep.
    #[must_use]
    pub fn state(&self) -> ReaderState {
        ReaderState {
            senders: self.senders.iter().map(|(sender, heard)| (*sender, *heard)).collect(),
            announced: self.announced.iter().map(|(stage, queues)| (*stage, queues.clone())).collect(),
            watermark_ms: (self.watermark_ms != i64::MIN).then_some(self.watermark_ms),
        }
    }

    /// Event time of the stage.
    #[must_use]
    pub fn watermark_ms(&self) -> i64 {
        self.watermark_ms
    }

    /// Takes one message apart.
    ///
    /// # Errors
    /// When messages before it are missing; nothing of it has been taken then.
    pub fn read<'a>(&mut self, frame: &'a Frame, accepted: &mut Vec<Accepted<'a>>) -> Result<(), Gap> {
        if frame.incarnation != self.incarnation {
            self.strangers += 1;
            return Ok(());
        }
        let sender = frame.sender;
        let fresh = Heard { high: 0, watermark_ms: i64::MIN, activity: Activity::Active };
        let high = self.senders.entry(sender).or_insert(fresh).high;
        let last = frame.first + frame.items.len() as u64;
        let mark = frame.mark.map_or(0, |mark| mark.as_of);
        // The mark may name a number that only this message brings.
        let reached = high.max(last.saturating_sub(1));
        if (frame.first > high + 1 || mark > reached) && !planted(Bug::GapAccepted) {
            return Err(Gap { sender, expected: high + 1, found: frame.first.max(mark) });
        }
        self.announced.entry(sender.stage).or_default().extend(&frame.siblings);
        for (number, item) in (frame.first..).zip(&frame.items) {
            if number <= high || (planted(Bug::MessageNumbers) && frame.first <= high) {
                self.duplicates += 1;
                continue;
            }
            self.accept(sender, number, item, accepted);
        }
        if let Some(mark) = frame.mark {
            self.raise(sender, mark.watermark_ms);
            self.advance(accepted);
        }
        Ok(())
    }

    fn accept<'a>(&mut self, sender: Split, number: u64, item: &'a Item, accepted: &mut Vec<Accepted<'a>>) {
        let idle_before = self.all(Activity::Idle);
        if let Some(heard) = self.senders.get_mut(&sender) {
            heard.high = number;
            heard.activity = match item {
                Item::Data(_) | Item::Active => Activity::Active,
                Item::Idle => Activity::Idle,
                Item::End => Activity::Ended,
            };
        }
        if idle_before && !self.all(Activity::Idle) && !matches!(item, Item::End) {
            accepted.push(Accepted::Awake);
        }
        match item {
            // A carried watermark includes its record and is applied in front of it (rule 6).
            Item::Data(bytes) => {
                self.raise(sender, carried_watermark(bytes));
                self.advance(accepted);
                accepted.push(Accepted::Record(bytes));
            }
            Item::Idle => {
                self.advance(accepted);
                if self.all(Activity::Idle) {
                    accepted.push(Accepted::AllIdle);
                }
            }
            Item::Active => {}
            Item::End => {
                self.advance(accepted);
                if self.all(Activity::Ended) {
                    accepted.push(Accepted::AllEnded);
                } else if !idle_before && self.all(Activity::Idle) {
                    accepted.push(Accepted::AllIdle);
                }
            }
        }
    }

    fn raise(&mut self, sender: Split, at_ms: i64) {
        if let Some(heard) = self.senders.get_mut(&sender) {
            heard.watermark_ms = heard.watermark_ms.max(at_ms);
        }
    }

    fn advance(&mut self, accepted: &mut Vec<Accepted<'_>>) {
        let Some(smallest) = self.smallest() else { return };
        if smallest > self.watermark_ms {
            self.watermark_ms = smallest;
            accepted.push(Accepted::Watermark(smallest));
        }
    }

    /// The smallest watermark of all that count; `None` while someone has not been heard of, or when nobody
    /// counts.
    fn smallest(&self) -> Option<i64> {
        let mut smallest = None;
        for stage in &self.upstream {
            for &queue in self.announced.get(stage)? {
                let heard = self.senders.get(&Split { stage: *stage, queue })?;
                if heard.activity == Activity::Active {
                    smallest = Some(heard.watermark_ms.min(smallest.unwrap_or(i64::MAX)));
                }
            }
        }
        smallest
    }

    /// Whether every sender that must be heard is `activity`, those that have ended aside.
    fn all(&self, activity: Activity) -> bool {
        let mut any = false;
        for stage in &self.upstream {
            let Some(queues) = self.announced.get(stage) else { return false };
            for &queue in queues {
                match self.senders.get(&Split { stage: *stage, queue }) {
                    Some(heard) if heard.activity == activity => any = true,
                    Some(heard) if heard.activity == Activity::Ended => {}
                    _ => return false,
                }
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Mark;
    use super::*;

    const UPSTREAM: Stage = Stage(0);

    fn incarnation() -> Incarnation {
        Incarnation(7)
    }

    fn frame(queue: u16, first: u64, items: Vec<Item>, mark: Option<(u64, i64)>) -> Frame {
        Frame {
            incarnation: incarnation(),
            sender: Split { stage: UPSTREAM, queue },
            siblings: BTreeSet::from([0, 1]),
            first,
            items,
            mark: mark.map(|(as_of, watermark_ms)| Mark { as_of, watermark_ms }),
        }
    }

    /// The watermarks that each frame brings.
    #[track_caller]
    fn check(frames: &[(Frame, &[i64])]) {
        let mut reader = Reader::new(incarnation(), vec![UPSTREAM], ReaderState::default());
        for (number, (frame, expected)) in frames.iter().enumerate() {
            let mut accepted = Vec::new();
            reader.read(frame, &mut accepted).expect("nothing is missing");
            let marks = accepted.iter().filter_map(|step| match step {
                Accepted::Watermark(at_ms) => Some(*at_ms),
                _ => None,
            });
            assert_eq!(marks.collect::<Vec<_>>(), *expected, "frame {number}");
            // What a snapshot keeps is all there is.
            reader = Reader::new(incarnation(), vec![UPSTREAM], reader.state());
        }
    }

    #[test]
    fn event_time_is_the_smallest_of_all_that_were_announced() {
        check(&[
            // The other queue has been announced and not been heard of.
            (frame(0, 1, vec![], Some((0, 50))), &[]),
            (frame(1, 1, vec![], Some((0, 30))), &[30]),
            (frame(1, 1, vec![], Some((0, 70))), &[50]),
            // It never falls.
            (frame(0, 1, vec![], Some((0, 40))), &[]),
        ]);
    }

    #[test]
    fn an_idle_queue_holds_nothing_back_until_it_is_active() {
        check(&[
            (frame(0, 1, vec![], Some((0, 50))), &[]),
            (frame(1, 1, vec![], Some((0, 30))), &[30]),
            (frame(1, 1, vec![Item::Idle], None), &[50]),
            (frame(0, 1, vec![], Some((0, 60))), &[60]),
            (frame(1, 2, vec![Item::Active], None), &[]),
            (frame(0, 1, vec![], Some((0, 80))), &[]),
            (frame(1, 3, vec![Item::End], None), &[80]),
        ]);
    }
}
