//! The owner of one split: a state machine that says what to read, send and commit, and is told what came of
//! it. It does no I/O and reads no clock.
//!
//! Life: take the split (raise the token, only then read, rule 13) → for a new split commit snapshot 0
//! (rule 11) → use the local copy where it is the remote's commit (rule 16), else run on the remote rows while they
//! are read in the background (rule 17) → run: poll, feed, send; at a checkpoint wait until everything that may
//! leave is stored, commit by compare-and-set (rule 14), go on → hand over or be fenced.
//!
//! One [`Action`] of each kind is under way at a time; each is answered by one [`Event`].

use std::collections::{BTreeMap, BTreeSet};

use super::ids::{Incarnation, Split, Stage, Target, Token, Topic};
use super::reader::{Reader, ReaderState};
use super::sender::Sender;
use super::snapshot::Counters;
use crate::bug::{Bug, planted};
use crate::effects::Effects;
use crate::machine::Machine;
use crate::store::local::CommitId;

mod action;
mod commit;
mod copy;
mod event;
mod panics;
mod results;
mod run;
mod take;

pub use action::{Action, Committed, Local, Rejected, Stop};
pub use commit::CommitOutcome;
pub use event::{Event, Failed, Found, LocalDone, Message, Poll, Reading};
pub use panics::{Culprit, panic_text};
pub use results::{ResultOf, Seen};

/// The prefix of a split's operator rows, in its row of the remote store as in the local one.
#[must_use]
pub fn rows_of(split: Split) -> [u8; 5] {
    let [a, b, c, d] = split.to_bytes();
    [ROWS, a, b, c, d]
}

/// The split among whose operator rows this key is, and the rest of the key; none where it is no such key.
#[must_use]
pub fn split_of_row(key: &[u8]) -> Option<(Split, &[u8])> {
    let (&[ROWS, a, b, c, d], own) = key.split_first_chunk()? else { return None };
    Some((Split::from_bytes([a, b, c, d]), own))
}

const ROWS: u8 = b'r';

/// Where the rows of a split's operators are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsIn {
    /// In the remote store alone.
    Remote,
    /// In the remote store, and the instance keeps a copy.
    RemoteAndCopy,
    /// In the instance's own store, which is the only one.
    Local,
}

/// What a worker is made with.
#[derive(Debug, Clone)]
pub struct Role {
    /// The split.
    pub split: Split,
    /// The life of the job.
    pub incarnation: Incarnation,
    /// The stages that send to this one; none for a source.
    pub upstream: Vec<Stage>,
    /// The queues that results go to, by topic.
    pub targets: Vec<(Topic, u16)>,
    /// Output ports whose results are written by the commit itself, and by no message.
    pub in_commit: BTreeSet<u16>,
    /// Whether outputs leave only after the commit that holds them (rule 8).
    pub held: bool,
    /// Whether the queue existed when the job was created; the start position is for those (rule 11).
    pub original: bool,
    /// All queues of this stage.
    pub siblings: BTreeSet<u16>,
    /// Tells code with other results apart (rule 19).
    pub fingerprint: u64,
    /// A source that has had nothing for this long says that it is idle; `None`: never.
    pub idle_after_ms: Option<u64>,
    /// Whether what it sends depends on what time it is.
    pub clock: bool,
    /// Whether it depends on rows of tables beside the job.
    pub tables: bool,
    /// How long to wait before the end of a target queue tells what is there (rule 20).
    pub settle_ms: u64,
    /// Where the split's rows are.
    pub rows_in: RowsIn,
    /// How many items may wait to be stored before it stops reading.
    pub most_waiting: usize,
    /// The same in bytes of their records; a batch of messages may go beyond it.
    pub most_waiting_bytes: usize,
    /// After how many records it commits without being asked: what is not committed is in memory alone.
    pub most_uncommitted: u64,
    /// An owner that is to hand the split over reads so many messages more, to the end of its queue, and so comes as
    /// far as any owner before it may have come; where there are more it looks what they left.
    pub most_behind: u64,
    /// Records and results that are longer than this fail: no message can hold them.
    pub most_bytes: usize,
    /// Where an earlier worker of this split ran into a panic of the job's code.
    pub culprit: Option<Culprit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Raising,
    Reading,
    /// Removing a copy of an earlier life of the job.
    Clearing,
    Resolving,
    /// Committing snapshot 0.
    Zero,
    /// Looking what the local copy is of.
    Comparing,
    /// Bringing the local copy to the remote's commit.
    Settling,
    Loading,
    /// Reading the local copy.
    Copying,
    Running,
    Stopped,
}

/// The owner of one split.
pub struct Worker {
    role: Role,
    machine: Box<dyn Machine>,
    phase: Phase,
    token: Token,
    version: u64,
    rows: copy::Rows,
    // Where it stands.
    offset: u64,
    last_id: Option<u64>,
    reader: Reader,
    senders: BTreeMap<Target, Sender>,
    /// Target queues whose end is being read, or has to be.
    tails: BTreeSet<Target>,
    /// Whether the split stands on a savepoint, behind which the job may have run on.
    is_restored: bool,
    counters: Counters,
    idle: bool,
    ended: bool,
    // What is going on.
    polling: bool,
    now_ms: u64,
    /// Only where a bug is planted: event time of the poll so far.
    postponed_ms: Option<i64>,
    quiet_since_ms: Option<u64>,
    /// What its queue does not say and was said since the last commit, and where.
    readings: Vec<(u64, Reading)>,
    /// Only in the simulator: which rows its instance has of the tables.
    #[cfg(feature = "sim")]
    table_version: std::sync::Arc<std::sync::atomic::AtomicU64>,
    /// Results that the next commit writes.
    results: Vec<Committed>,
    result_bytes: usize,
    /// Records since the last commit began.
    uncommitted: u64,
    /// Where the last commit stands.
    committed_offset: u64,
    wants_checkpoint: bool,
    /// Results of other jobs that have been read.
    seen: Seen,
    /// Panics of the job's code.
    panics: panics::Panics,
    /// Records that failed and have not been told yet.
    rejects: Vec<Rejected>,
    revoked: bool,
    /// It ends when the local copy has its last commit.
    released: bool,
    /// Where its queue ended when it was looked at behind the revocation: whoever had the split before cannot
    /// have read further.
    goal: Option<u64>,
    /// The poll under way was asked for before the revocation.
    early_poll: bool,
    /// It has asked what earlier owners left in its targets, since the goal is far.
    surveyed: bool,
    /// No earlier owner came further than what it began with.
    undisturbed: bool,
    commit: Option<commit::Pending>,
    effects: Effects,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("split", &self.role.split)
            .field("phase", &self.phase)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// A worker that is about to take its split. `machine` is one of the job, new and focused on the split's
    /// stage.
    #[must_use]
    pub fn new(mut role: Role, machine: Box<dyn Machine>, actions: &mut Vec<Action>) -> Self {
        // When a source declares itself idle does not depend on its queue, so all of its numbers wait for the
        // commit that fixes them: an owner that was fenced may see a record where this one saw none (rule 8).
        let may_be_idle = role.upstream.is_empty() && role.idle_after_ms.is_some();
        role.held |= may_be_idle && !planted(Bug::IdleNotHeld);
        // Nor does what time it is.
        role.held |= role.clock && !planted(Bug::ClockNotHeld);
        // Nor does what a table has.
        role.held |= role.tables && !planted(Bug::TablesNotHeld);
        // Where time goes on without records nobody is quiet.
        role.idle_after_ms = role.idle_after_ms.filter(|_| !role.clock);
        actions.push(Action::Raise { fingerprint: role.fingerprint });
        let reader = Reader::new(role.incarnation, role.upstream.clone(), ReaderState::default());
        Self {
            role,
            machine,
            phase: Phase::Raising,
            token: Token { epoch: 0, nonce: 0 },
            version: 0,
            rows: copy::Rows::default(),
            offset: 0,
            last_id: None,
            reader,
            senders: BTreeMap::new(),
            tails: BTreeSet::new(),
            is_restored: false,
            counters: Counters::default(),
            idle: false,
            ended: false,
            polling: false,
            now_ms: 0,
            postponed_ms: None,
            quiet_since_ms: None,
            readings: Vec::new(),
            #[cfg(feature = "sim")]
            table_version: std::sync::Arc::default(),
            results: Vec::new(),
            result_bytes: 0,
            uncommitted: 0,
            committed_offset: 0,
            wants_checkpoint: false,
            seen: Seen::default(),
            panics: panics::Panics::default(),
            rejects: Vec::new(),
            revoked: false,
            released: false,
            goal: None,
            early_poll: false,
            surveyed: false,
            undisturbed: false,
            commit: None,
            effects: Effects::default(),
        }
    }

    /// Where the simulator says which rows its instance has of the tables.
    #[cfg(feature = "sim")]
    pub(crate) fn watch_tables(&mut self, version: std::sync::Arc<std::sync::atomic::AtomicU64>) {
        self.table_version = version;
    }

    /// The split that it owns or is about to.
    #[must_use]
    pub fn split(&self) -> Split {
        self.role.split
    }

    /// The stage has these queues now. What it sends from here on says so, and whoever reads it waits for all of
    /// them: so nothing may come into a new queue before the old ones have announced it.
    pub fn announce(&mut self, siblings: BTreeSet<u16>) {
        self.role.siblings = siblings;
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// Whether it processes messages.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether nothing will ever come in any more, as far as it has heard.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether it has read and told everything that there will ever be, and committed that.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Running
            && self.ended
            && self.commit.is_none()
            && !self.wants_checkpoint
            && self.senders.values().all(Sender::is_empty)
    }

    /// Its counters, those of the reader included.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let duplicates = self.counters.duplicates + self.reader.duplicates;
        Counters { duplicates, ..self.counters }
    }

    /// Acts on what happened at `now_ms` of a clock that never goes back.
    pub fn step(&mut self, event: Event<'_>, now_ms: u64, actions: &mut Vec<Action>) {
        if self.phase == Phase::Stopped {
            return;
        }
        match event {
            Event::Raised(token) => self.raised(token, actions),
            Event::Refused => self.stop(Stop::Unclean, actions),
            Event::Row(row) => self.row(row, actions),
            Event::Resolved(offset) => self.resolved(offset, actions),
            Event::Loaded(backing) => self.loaded(backing, actions),
            Event::Paged { rows, more } => self.paged(rows, more, actions),
            Event::Fenced => self.stop(Stop::Fenced, actions),
            Event::Local(done) => self.local(done, actions),
            Event::Polled(poll) => self.polled(poll, now_ms, actions),
            Event::Sent { target, offset } => self.sent(target, offset, actions),
            Event::Tailed { target, last } => self.tailed(target, last, actions),
            Event::Committed(outcome) => self.committed(outcome, actions),
            Event::Observed { token, version } => self.observed(token, version, actions),
            Event::CheckPoint => self.wants_checkpoint |= self.phase == Phase::Running,
            Event::Revoke => {
                self.early_poll |= self.polling && !self.revoked;
                self.revoked = true;
            }
            Event::Failed(failed) => self.failed(failed, actions),
        }
        self.proceed(actions);
    }

    /// Asks again for what is known not to have happened; the caller waits a while between attempts.
    fn failed(&mut self, failed: Failed, actions: &mut Vec<Action>) {
        match failed {
            Failed::Raise => actions.push(Action::Raise { fingerprint: self.role.fingerprint }),
            Failed::Read => actions.push(Action::Read { token: self.token }),
            Failed::Resolve => self.ask_start(actions),
            Failed::Load => actions.push(Action::Load { token: self.token }),
            Failed::Page => self.rows.busy = copy::Busy::No,
            Failed::Poll => (self.polling, self.early_poll) = (false, false),
            Failed::Tail(target) => self.ask_tail(target, actions),
            Failed::Observe => actions.push(Action::Observe),
        }
    }

    /// Does what can be done now.
    fn proceed(&mut self, actions: &mut Vec<Action>) {
        if !self.rejects.is_empty() {
            actions.push(Action::Reject(std::mem::take(&mut self.rejects)));
        }
        if self.phase != Phase::Running {
            // Nothing has been processed yet, so there is nothing to hand over; but what is under way must end.
            let waits =
                matches!(self.phase, Phase::Raising | Phase::Reading | Phase::Resolving | Phase::Loading);
            // Where the code panicked, somebody has to leave the split clean.
            if self.revoked && waits && self.role.culprit.is_none() {
                self.stop(Stop::Released, actions);
            }
            return;
        }
        if self.revoked && self.commit.is_some() && planted(Bug::RemoveNotJoined) {
            return self.stop(Stop::Released, actions);
        }
        if self.must_survey() || self.must_look_back() {
            self.survey(actions);
        }
        self.check_end(actions);
        if self.phase != Phase::Running {
            return;
        }
        self.send_all(actions);
        if self.is_leaving() || self.wants_checkpoint {
            self.try_commit(actions);
        }
        let busy =
            self.commit.is_some() || self.is_leaving() || self.wants_checkpoint || self.panics.end.is_some();
        if self.phase != Phase::Running || busy {
            return;
        }
        self.turn_page(actions);
        if !self.polling && self.has_room() {
            self.polling = true;
            actions.push(Action::Poll { offset: self.offset });
        }
    }

    /// Whether it has been told to hand the split over.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.revoked
    }

    fn has_room(&self) -> bool {
        self.waiting() < self.role.most_waiting && self.waiting_bytes() < self.role.most_waiting_bytes
    }

    /// Whether there is no room, and only a commit makes some: it writes results, and lets go what a held stage gives.
    fn waits_for_a_commit(&self) -> bool {
        let held = self.role.held && !self.has_room();
        held || self.results.len() >= self.role.most_waiting
            || self.result_bytes >= self.role.most_waiting_bytes
    }

    /// How many items wait to be stored.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.results.len() + self.senders.values().map(Sender::len).sum::<usize>()
    }

    /// The bytes of their records.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.result_bytes + self.senders.values().map(Sender::bytes).sum::<usize>()
    }

    /// How far it has come in event time, in ms: the watermark for the stages behind it; none before there is one.
    #[must_use]
    pub fn event_time_ms(&self) -> Option<i64> {
        self.senders.values().map(Sender::watermark_ms).max().filter(|at_ms| *at_ms > i64::MIN)
    }

    /// How many records are in no commit yet.
    #[must_use]
    pub fn uncommitted(&self) -> u64 {
        self.uncommitted
    }

    /// Whether a commit would change more than its own number.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.offset != self.committed_offset || self.waiting() > 0 || !self.readings.is_empty()
    }

    /// Whether rows are still being read in the background.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.rows.cursor.is_some()
    }

    /// The commit that the split stands on.
    fn commit_id(&self, version: u64) -> CommitId {
        CommitId { epoch: self.token.epoch, nonce: self.token.nonce, version }
    }
}
