//! Committing: by compare-and-set on token and version, whole or not at all, whatever happens on the way.

use super::{Action, Committed, Phase, Stop, Worker, rows_of};
use crate::bug::{Bug, planted};
use crate::protocol::ids::Token;
use crate::protocol::sender::Sender;
use crate::protocol::snapshot::Snapshot;
use crate::store::Delta;

/// What came of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is durable.
    Done,
    /// Token or version were others: nothing was written. Either somebody else has the split, or an earlier
    /// attempt of the same commit was done after all.
    Fenced,
    /// A statement failed; the transaction is open and holds a part.
    StatementFailed,
    /// It was rolled back, as asked.
    RolledBack,
    /// The connection was lost; it may have been committed, may still be, or not.
    Unknown,
}

/// A commit that is under way: it is repeated as it is until its fate is known.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    snapshot: Box<Snapshot>,
    delta: Delta,
    results: Vec<Committed>,
    clean: bool,
}

impl Worker {
    /// Whether it is to look what earlier owners left, since it cannot wait until it has read as far as they did.
    pub(super) fn must_survey(&self) -> bool {
        let is_far = self.goal.is_some_and(|goal| goal > self.offset + self.role.most_behind);
        self.revoked && is_far && !self.undisturbed && !self.surveyed && self.tails.is_empty()
    }

    /// Asks what lies in all targets. An earlier owner may have come further than this one before it died: what
    /// it sent is made of the same records by the same code, and other code must not begin in front of them.
    pub(super) fn survey(&mut self, actions: &mut Vec<Action>) {
        self.surveyed = true;
        self.senders.values_mut().for_each(Sender::survey);
        self.tails.extend(self.senders.keys());
        for target in self.tails.clone() {
            self.ask_tail(target, actions);
        }
    }

    /// Whether it hands the split over now: it goes on until it has come as far as any owner before it.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_at_end() || (self.revoked && self.tails.is_empty() && self.has_caught_up())
    }

    /// What an owner sends is a function of what it has read, and none before this one can have read further than
    /// to where the queue ended behind the revocation.
    fn has_caught_up(&self) -> bool {
        let made_again = || self.surveyed && self.senders.values().all(Sender::is_caught_up);
        self.undisturbed
            || self.goal.is_some_and(|goal| self.offset >= goal)
            || made_again()
            || planted(Bug::CleanBehindTail)
    }

    /// Begins a commit if everything that may leave is stored (condition C3), or waits.
    pub(super) fn try_commit(&mut self, actions: &mut Vec<Action>) {
        if self.commit.is_some() || self.rows_are_busy() {
            return;
        }
        // Order: a commit of its own would hide that it stands on a savepoint.
        if self.is_restored && !self.tails.is_empty() {
            return;
        }
        if planted(Bug::CommitBeforeAcks) {
            return self.begin_commit(false, actions);
        }
        if !self.senders.values().all(Sender::is_settled) {
            return;
        }
        // What a held stage has in its outboxes is part of the snapshot; another has nothing there, but for
        // held marks.
        if !self.role.held && !self.senders.values().all(Sender::is_flushed) {
            return;
        }
        // A clean end has nothing left to send.
        let clean = self.is_leaving() && self.senders.values().all(Sender::is_empty);
        if clean && self.surveyed {
            self.senders.values_mut().for_each(Sender::close_survey);
        }
        self.begin_commit(clean, actions);
    }

    pub(super) fn begin_commit(&mut self, clean: bool, actions: &mut Vec<Action>) {
        let mut delta = self.unspilled();
        if let Err(error) = self.machine.checkpoint(&mut delta, &rows_of(self.role.split)) {
            return self.stop(Stop::Broken(error.to_string()), actions);
        }
        self.uncommitted = 0;
        // Nothing of an earlier owner lies in the targets that was not made again, so the next survey begins where
        // this owner stands.
        if self.undisturbed || (clean && !self.surveyed) {
            self.senders.values_mut().for_each(|sender| {
                sender.survey();
                sender.close_survey();
            });
        }
        let snapshot = Box::new(Snapshot {
            owner: Some(self.token),
            offset: self.offset,
            last_id: self.last_id,
            reader: if planted(Bug::HighOutsideSnapshot) { Default::default() } else { self.reader.state() },
            senders: self.senders.iter().map(|(target, sender)| (*target, sender.state())).collect(),
            idle: self.idle,
            ended: self.ended,
            clean,
            counters: self.counters(),
            rejected: self.rejected(),
            seen: self.seen.clone(),
            committed_ms: None,
            #[cfg(feature = "sim")]
            readings: std::mem::take(&mut self.readings),
        });
        self.readings.clear();
        // Order: what is written here first is either promoted or discarded at the next start; the other way
        // round the copy would miss a commit (rule 16).
        if self.is_copied() {
            self.prepare(&delta, actions);
        }
        let results = std::mem::take(&mut self.results);
        self.result_bytes = 0;
        self.commit = Some(Pending { snapshot, delta, results, clean });
        if !self.is_copied() {
            self.ask_commit(actions);
        }
    }

    pub(super) fn ask_commit(&mut self, actions: &mut Vec<Action>) {
        let Some(Pending { snapshot, delta, results, clean }) = self.commit.clone() else { return };
        let (token, version) = (self.token, self.version);
        actions.push(Action::Commit { token, version, snapshot, delta, results, clean });
    }

    pub(super) fn committed(&mut self, outcome: CommitOutcome, actions: &mut Vec<Action>) {
        match outcome {
            CommitOutcome::Done => self.commit_is_done(actions),
            // A part of a transaction must never be committed.
            CommitOutcome::StatementFailed => actions.push(Action::Rollback),
            CommitOutcome::RolledBack => self.ask_commit(actions),
            CommitOutcome::Fenced if planted(Bug::NoRowIsFenced) => self.stop(Stop::Fenced, actions),
            // The row says what came of it, and whose it is.
            CommitOutcome::Fenced | CommitOutcome::Unknown => actions.push(Action::Observe),
        }
    }

    pub(super) fn observed(&mut self, token: Token, version: u64, actions: &mut Vec<Action>) {
        if token != self.token {
            if planted(Bug::FencedReports) {
                actions.push(Action::Report { offset: self.offset });
            }
            return self.stop(Stop::Fenced, actions);
        }
        if version == self.version + 1 {
            self.commit_is_done(actions);
        } else {
            // Not there yet; if the server is still at it, the compare-and-set of the next attempt waits for
            // the row and then fails, and the row is read once more.
            self.ask_commit(actions);
        }
    }

    fn commit_is_done(&mut self, actions: &mut Vec<Action>) {
        let Some(done) = self.commit.take() else { return };
        self.version += 1;
        self.reader.duplicates = 0;
        self.counters = done.snapshot.counters;
        self.committed_offset = done.snapshot.offset;
        self.wants_checkpoint = false;
        for sender in self.senders.values_mut() {
            sender.release();
        }
        self.promote(actions);
        if self.phase == Phase::Zero {
            return self.start(actions);
        }
        actions.push(Action::Report { offset: self.offset });
        if (self.revoked || self.panics.end.is_some()) && done.clean {
            if self.rows_are_busy() {
                self.released = true;
            } else {
                self.leave(actions);
            }
        }
    }
}
