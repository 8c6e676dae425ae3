//! The job's code panics: on one record, which then goes the way of a bad record, or while windows fire, where no
//! record is at fault and the worker ends clean in front of it.
//!
//! A machine that has panicked is of no use any more, and the records in front are in it alone. So the worker ends
//! and says where it was; the next one is made with that [`Culprit`], reads on from the last commit, and stands still
//! in front of the message. Order: that a record is rejected is committed before anything behind it is made, so that
//! whoever reads the queue again rejects it too.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use super::{Action, Phase, Poll, Rejected, Stop, Worker};
use crate::bug::{Bug, planted};
use crate::effects::{Origin, Reject};
use crate::protocol::sender::Sender;

/// Where the job's code panicked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Culprit {
    /// The offset of the message.
    pub offset: u64,
    /// Which of the records in it that were accepted; none where no record is at fault.
    pub nth: Option<u32>,
    /// What it said.
    pub error: String,
}

/// What a worker knows of panics.
#[derive(Debug, Default)]
pub(super) struct Panics {
    /// The one that an earlier worker ran into, and that is not decided yet.
    pub(super) ahead: Option<Culprit>,
    /// Records that are rejected, from the offset of the last commit on.
    pub(super) rejected: Vec<Culprit>,
    /// The record that the machine works on, by its place in its message.
    pub(super) running: Option<u32>,
    /// Nothing behind here can be made, and why.
    pub(super) end: Option<String>,
}

/// What a panic said.
#[must_use]
pub fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

impl Worker {
    /// Feeds all messages; a panic of the job's code ends the worker.
    pub(super) fn feed_guarded(&mut self, poll: &Poll<'_>, now_ms: u64) -> Result<(), Stop> {
        let fed = catch_unwind(AssertUnwindSafe(|| self.feed_all(poll, now_ms)));
        fed.unwrap_or_else(|payload| {
            let (offset, nth) = (self.offset, self.panics.running);
            Err(Stop::Panicked(Culprit { offset, nth, error: panic_text(&*payload) }))
        })
    }

    /// Whether the message at the offset must not be read yet: a panic lies there.
    pub(super) fn stands_in_front(&mut self) -> bool {
        let Some(culprit) = self.panics.ahead.take_if(|culprit| culprit.offset <= self.offset) else {
            return self.panics.end.is_some();
        };
        // What lies in front of a commit is decided.
        if culprit.offset < self.offset || self.is_rejected(culprit.nth) {
            return false;
        }
        if culprit.nth.is_none() {
            self.panics.end = Some(culprit.error);
            return true;
        }
        self.panics.rejected.push(culprit);
        self.wants_checkpoint |= !planted(Bug::RejectUndecided);
        self.wants_checkpoint
    }

    /// Whether a record of the message at the offset is rejected.
    pub(super) fn is_rejected(&self, nth: Option<u32>) -> bool {
        self.rejection(nth).is_some()
    }

    fn rejection(&self, nth: Option<u32>) -> Option<&Culprit> {
        let here = |culprit: &&Culprit| culprit.offset == self.offset && culprit.nth == nth;
        self.panics.rejected.iter().find(here)
    }

    /// A record that is not fed but told.
    pub(super) fn pass_over(&mut self, nth: u32, raw: &[u8]) {
        let error = self.rejection(Some(nth)).map(|culprit| culprit.error.clone()).unwrap_or_default();
        self.counters.dead_letter += 1;
        let reject = Reject { origin: Origin::None, operator: "panic", error, value: None, key: None };
        self.rejects.push(Rejected { offset: self.offset, reject, raw: Some(raw.to_vec()) });
    }

    /// What a snapshot must keep.
    pub(super) fn rejected(&mut self) -> Vec<Culprit> {
        let offset = self.offset;
        self.panics.rejected.retain(|culprit| culprit.offset >= offset);
        self.panics.rejected.clone()
    }

    /// Whether it is to look what earlier owners left, since it can go no further.
    pub(super) fn must_look_back(&self) -> bool {
        self.panics.end.is_some() && !self.surveyed && self.tails.is_empty()
    }

    /// Whether it can go no further and has made again all that is there.
    pub(super) fn is_at_end(&self) -> bool {
        let looked = self.panics.end.is_some() && self.surveyed && self.tails.is_empty();
        looked && self.senders.values().all(Sender::is_caught_up)
    }

    /// Another owner has come past the place where the code panics for this one: there is no clean end.
    pub(super) fn check_end(&mut self, actions: &mut Vec<Action>) {
        let looked = self.surveyed && self.tails.is_empty();
        if looked
            && !self.is_at_end()
            && let Some(error) = self.panics.end.take()
        {
            let text = format!(
                "the job's code panicked while windows fired, at offset {}: {error}; it did not the last time, so what it does depends on more than its input",
                self.offset
            );
            self.stop(Stop::Broken(text), actions);
        }
    }

    /// It has handed the split over.
    pub(super) fn leave(&mut self, actions: &mut Vec<Action>) {
        let why = match self.panics.end.take() {
            Some(error) => Stop::Flawed(Culprit { offset: self.offset, nth: None, error }),
            None => Stop::Released,
        };
        self.stop(why, actions);
    }

    /// Ends; a machine that has panicked is not told any more.
    pub(super) fn stop(&mut self, why: Stop, actions: &mut Vec<Action>) {
        self.phase = Phase::Stopped;
        if !matches!(why, Stop::Panicked(_)) {
            self.machine.remove_split();
        }
        actions.push(Action::Stop(why));
    }
}
