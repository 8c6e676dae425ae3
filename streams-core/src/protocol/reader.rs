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
    /// What was last said of all senders together; older snapshots do not have it.
    #[serde(default)]
    told: Option<Activity>,
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
    /// Some sender has something to say again, or is still to be heard of, after all were idle or had ended: a topic
    /// upstream may have grown.
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
    /// What was last said of all senders together.
    told: Activity,
    /// Items that had been seen before.
    pub duplicates: u64,
    /// Messages of another life of the job.
    pub strangers: u64,
}

impl Reader {
    /// A reader of what `upstream` sends.
    #[must_use]
    pub fn new(incarnation: Incarnation, upstream: Vec<Stage>, state: ReaderState) -> Self {
        let mut reader = Self {
            incarnation,
            upstream,
            senders: state.senders.into_iter().collect(),
            announced: state.announced.into_iter().collect(),
            watermark_ms: state.watermark_ms.unwrap_or(i64::MIN),
            told: Activity::Active,
            duplicates: 0,
            strangers: 0,
        };
        reader.told = state.told.unwrap_or_else(|| reader.activity());
        reader
    }

    /// What a snapshot must keep.
    #[must_use]
    pub fn state(&self) -> ReaderState {
        ReaderState {
            senders: self.senders.iter().map(|(sender, heard)| (*sender, *heard)).collect(),
            announced: self.announced.iter().map(|(stage, queues)| (*stage, queues.clone())).collect(),
            watermark_ms: (self.watermark_ms != i64::MIN).then_some(self.watermark_ms),
            told: Some(self.told),
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
        // Somebody new holds event time back from here on, before a word of his.
        self.wake(accepted);
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
        if let Some(heard) = self.senders.get_mut(&sender) {
            heard.high = number;
            heard.activity = match item {
                Item::Data(_) | Item::Active => Activity::Active,
                Item::Idle => Activity::Idle,
                Item::End => Activity::Ended,
            };
        }
        self.wake(accepted);
        match item {
            // A carried watermark includes its record and is applied in front of it (rule 6).
            Item::Data(bytes) => {
                self.raise(sender, carried_watermark(bytes));
                self.advance(accepted);
                accepted.push(Accepted::Record(bytes));
            }
            Item::Active => {}
            Item::Idle | Item::End => {
                self.advance(accepted);
                self.rest(accepted);
            }
        }
    }

    /// Says that not all rest any more.
    fn wake(&mut self, accepted: &mut Vec<Accepted<'_>>) {
        if self.told != Activity::Active && self.activity() == Activity::Active {
            self.told = Activity::Active;
            accepted.push(Accepted::Awake);
        }
    }

    /// Says that all are idle now, or have ended.
    fn rest(&mut self, accepted: &mut Vec<Accepted<'_>>) {
        let activity = self.activity();
        if activity == self.told {
            return;
        }
        self.told = activity;
        match activity {
            Activity::Active => {}
            Activity::Idle => accepted.push(Accepted::AllIdle),
            Activity::Ended => accepted.push(Accepted::AllEnded),
        }
    }

    /// What all senders together are.
    fn activity(&self) -> Activity {
        let common = [Activity::Ended, Activity::Idle].into_iter().find(|activity| self.all(*activity));
        common.unwrap_or(Activity::Active)
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

    /// What each frame brings, records aside.
    #[track_caller]
    fn check_words(frames: &[(Frame, &[Accepted<'_>])]) {
        let mut reader = Reader::new(incarnation(), vec![UPSTREAM], ReaderState::default());
        for (number, (frame, expected)) in frames.iter().enumerate() {
            let mut accepted = Vec::new();
            reader.read(frame, &mut accepted).expect("nothing is missing");
            assert_eq!(accepted, *expected, "frame {number}");
            reader = Reader::new(incarnation(), vec![UPSTREAM], reader.state());
        }
    }

    /// As [`frame`], from a sender that knows of these queues.
    fn frame_of(siblings: &[u16], queue: u16, first: u64, items: Vec<Item>) -> Frame {
        Frame { siblings: siblings.iter().copied().collect(), ..frame(queue, first, items, None) }
    }

    #[test]
    fn a_topic_that_grows_wakes_a_stage_that_had_ended() {
        check_words(&[
            (frame_of(&[0], 0, 1, vec![Item::End]), &[Accepted::AllEnded]),
            (frame_of(&[0, 1], 1, 1, vec![]), &[Accepted::Awake]),
            (frame_of(&[0, 1], 1, 1, vec![Item::Idle]), &[Accepted::AllIdle]),
            (frame_of(&[0, 1], 1, 2, vec![Item::Active]), &[Accepted::Awake]),
            (frame_of(&[0, 1], 1, 3, vec![Item::End]), &[Accepted::AllEnded]),
            // What is told again says nothing new.
            (frame_of(&[0, 1], 1, 3, vec![Item::End]), &[]),
        ]);
    }

    #[test]
    fn a_topic_that_grows_wakes_a_stage_that_was_idle() {
        check_words(&[
            (frame_of(&[0], 0, 1, vec![Item::Idle]), &[Accepted::AllIdle]),
            (frame_of(&[0, 1], 1, 1, vec![Item::Idle]), &[Accepted::Awake, Accepted::AllIdle]),
            (frame_of(&[0, 1], 0, 2, vec![Item::End]), &[]),
            (frame_of(&[0, 1], 1, 2, vec![Item::End]), &[Accepted::AllEnded]),
        ]);
    }

    #[test]
    fn a_snapshot_without_what_was_told_is_one_in_which_it_was_told() {
        let mut reader = Reader::new(incarnation(), vec![UPSTREAM], ReaderState::default());
        let ended = frame_of(&[0], 0, 1, vec![Item::End]);
        reader.read(&ended, &mut Vec::new()).expect("nothing is missing");
        let state = ReaderState { told: None, ..reader.state() };
        assert_eq!(Reader::new(incarnation(), vec![UPSTREAM], state).told, Activity::Ended);
    }
}
