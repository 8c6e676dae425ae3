//! The owner of one split: a state machine that says what to read, send and commit, and is told what came of
//! it. It does no I/O and reads no clock.
//!
//! Life: take the split (raise the token, only then read, rule 13) → for a new split commit snapshot 0
//! (rule 11) → load the rows → run: poll, feed, send; at a checkpoint wait until everything that may leave is
//! stored, commit by compare-and-set (rule 14), go on → hand over or be fenced.
//!
//! One [`Action`] of each kind is under way at a time; each is answered by one [`Event`].

use std::collections::{BTreeMap, BTreeSet};

use super::frame::Frame;
use super::ids::{Incarnation, Split, Stage, Target, Token, Topic};
use super::reader::{Gap, Reader, ReaderState};
use super::sender::Sender;
use super::snapshot::{Counters, Snapshot};
use crate::bug::{Bug, planted};
use crate::effects::Effects;
use crate::machine::Machine;
use crate::store::{Delta, Store};

mod commit;
mod run;
mod take;

pub use commit::CommitOutcome;

/// The prefix of a split's operator rows in its store.
pub const ROWS: &[u8] = b"r";

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
    /// How long to wait before the end of a target queue tells what is there (rule 20).
    pub settle_ms: u64,
}

/// What a worker asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Raise the split's token, in a committed statement of its own; refuse where the last owner ran other code
    /// and did not leave the split clean (rules 13 and 19).
    Raise {
        /// A fresh random number of the caller's goes into the token. The caller asks for a split that other
        /// code left clean only when every member that ran that code on it is known to be gone: what such a
        /// member still sends is made by the old code.
        fingerprint: u64,
    },
    /// Read the split's row, in a new transaction, on the primary.
    Read,
    /// Where reading begins: the job's start position, resolved now; or the queue's beginning.
    Resolve {
        /// Whether the start position applies.
        original: bool,
    },
    /// Read the rows of the split's operators.
    Load,
    /// Read messages of the split's queue from this offset.
    Poll {
        /// The first one wanted.
        offset: u64,
    },
    /// Append a message to a queue.
    Send {
        /// The queue.
        target: Target,
        /// The message.
        frame: Frame,
    },
    /// Find the highest number of this split's that lies in a target queue at or behind `from`, up to the
    /// queue's end on the master, after waiting `settle_ms`.
    Tail {
        /// The queue.
        target: Target,
        /// Where to begin.
        from: u64,
        /// How long to wait first.
        settle_ms: u64,
    },
    /// Commit, if token and version are still these: version + 1, the snapshot, the rows.
    Commit {
        /// The owner's.
        token: Token,
        /// The version that the commit follows.
        version: u64,
        /// The meta row.
        snapshot: Box<Snapshot>,
        /// The changed rows.
        delta: Delta,
        /// Whether the owner sends nothing after it.
        clean: bool,
    },
    /// Roll back the transaction in which a statement failed.
    Rollback,
    /// Read token and version again, over a new connection.
    Observe,
    /// Tell the broker the offset, for its own tools; nothing reads it back.
    Report {
        /// The next offset to read.
        offset: u64,
    },
    /// The worker has ended.
    Stop(Stop),
}

/// Why a worker ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// It handed the split over, committed and clean.
    Released,
    /// Somebody else took the split.
    Fenced,
    /// Other code ran here and did not leave the split clean.
    Unclean,
    /// Messages are lost.
    Gap(Gap),
    /// The snapshot's offset is not in the queue any more, or another message lies before it.
    Lost {
        /// The offset of the snapshot.
        offset: u64,
        /// The queue's first offset.
        min: u64,
        /// The queue's end.
        max: u64,
    },
    /// State or a message cannot be read.
    Broken(String),
}

/// What a worker is told.
pub enum Event<'a> {
    /// The token was raised.
    Raised(Token),
    /// The token was not raised: the split is not clean for this code.
    Refused,
    /// The split's row: version and snapshot, or none yet.
    Row(Option<(u64, Snapshot)>),
    /// The resolved start offset.
    Resolved(u64),
    /// The split's rows, as a store.
    Loaded(&'a dyn Store),
    /// What lies in the queue.
    Polled(Poll<'a>),
    /// A message was stored at this offset, or its fate is unknown.
    Sent {
        /// Where it was sent to.
        target: Target,
        /// Its offset; `None` when unknown.
        offset: Option<u64>,
    },
    /// The highest number found in a target queue.
    Tailed {
        /// The queue.
        target: Target,
        /// The number; 0 when there is none.
        last: u64,
    },
    /// What came of a commit.
    Committed(CommitOutcome),
    /// The row as it is now.
    Observed {
        /// Its token.
        token: Token,
        /// Its version.
        version: u64,
    },
    /// It is time for a checkpoint.
    CheckPoint,
    /// The split is to be handed over.
    Revoke,
    /// A connection or a server was away and the action named by its kind did not happen.
    Failed(Failed),
}

impl std::fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Raised(token) => f.debug_tuple("Raised").field(token).finish(),
            Self::Refused => f.write_str("Refused"),
            Self::Row(row) => f.debug_tuple("Row").field(&row.as_ref().map(|(version, _)| version)).finish(),
            Self::Resolved(offset) => f.debug_tuple("Resolved").field(offset).finish(),
            Self::Loaded(_) => f.write_str("Loaded"),
            Self::Polled(poll) => {
                f.debug_tuple("Polled").field(&poll.messages.len()).field(&poll.max).finish()
            }
            Self::Sent { target, offset } => f.debug_tuple("Sent").field(target).field(offset).finish(),
            Self::Tailed { target, last } => f.debug_tuple("Tailed").field(target).field(last).finish(),
            Self::Committed(outcome) => f.debug_tuple("Committed").field(outcome).finish(),
            Self::Observed { token, version } => {
                f.debug_tuple("Observed").field(token).field(version).finish()
            }
            Self::CheckPoint => f.write_str("CheckPoint"),
            Self::Revoke => f.write_str("Revoke"),
            Self::Failed(failed) => f.debug_tuple("Failed").field(failed).finish(),
        }
    }
}

/// An action that is known not to have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// [`Action::Raise`].
    Raise,
    /// [`Action::Read`].
    Read,
    /// [`Action::Resolve`].
    Resolve,
    /// [`Action::Load`].
    Load,
    /// [`Action::Poll`].
    Poll,
    /// [`Action::Tail`].
    Tail(Target),
    /// [`Action::Observe`].
    Observe,
}

/// The answer to a poll.
#[derive(Debug, Clone, Copy)]
pub struct Poll<'a> {
    /// Messages in order, from the offset that was asked for.
    pub messages: &'a [Message],
    /// The queue's first offset.
    pub min: u64,
    /// The queue's end: the offset of the next message to come.
    pub max: u64,
    /// The id of the message in front of the offset that was asked for, where it is still there.
    pub before: Option<u64>,
    /// Whether nothing will ever come behind the end.
    pub closed: bool,
    /// Whether the answer is the master's own and of now.
    pub fresh: bool,
}

/// One message of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id: unique for ever.
    pub id: u64,
    /// When the broker stored it, in ms.
    pub stored_ms: i64,
    /// Its bytes.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Raising,
    Reading,
    Resolving,
    /// Committing snapshot 0.
    Zero,
    Loading,
    /// Looking whether the token still stands after the load.
    Verifying,
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
    // Where it stands.
    offset: u64,
    last_id: Option<u64>,
    reader: Reader,
    senders: BTreeMap<Target, Sender>,
    /// Target queues whose end is being read, or has to be.
    tails: BTreeSet<Target>,
    counters: Counters,
    idle: bool,
    ended: bool,
    // What is going on.
    polling: bool,
    now_ms: u64,
    /// Only where a bug is planted: event time of the poll so far.
    postponed_ms: Option<i64>,
    quiet_since_ms: Option<u64>,
    wants_checkpoint: bool,
    revoked: bool,
    /// It has asked what earlier owners left in its targets.
    surveyed: bool,
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
        actions.push(Action::Raise { fingerprint: role.fingerprint });
        let reader = Reader::new(role.incarnation, role.upstream.clone(), ReaderState::default());
        Self {
            role,
            machine,
            phase: Phase::Raising,
            token: Token { epoch: 0, nonce: 0 },
            version: 0,
            offset: 0,
            last_id: None,
            reader,
            senders: BTreeMap::new(),
            tails: BTreeSet::new(),
            counters: Counters::default(),
            idle: false,
            ended: false,
            polling: false,
            now_ms: 0,
            postponed_ms: None,
            quiet_since_ms: None,
            wants_checkpoint: false,
            revoked: false,
            surveyed: false,
            commit: None,
            effects: Effects::default(),
        }
    }

    /// The split that it owns or is about to.
    #[must_use]
    pub fn split(&self) -> Split {
        self.role.split
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
            Event::Loaded(store) => self.loaded(store, actions),
            Event::Polled(poll) => self.polled(poll, now_ms, actions),
            Event::Sent { target, offset } => self.sent(target, offset, actions),
            Event::Tailed { target, last } => self.tailed(target, last, actions),
            Event::Committed(outcome) => self.committed(outcome, actions),
            Event::Observed { token, version } => self.observed(token, version, actions),
            Event::CheckPoint => self.wants_checkpoint |= self.phase == Phase::Running,
            Event::Revoke => self.revoked = true,
            Event::Failed(failed) => self.failed(failed, actions),
        }
        self.proceed(actions);
    }

    fn stop(&mut self, why: Stop, actions: &mut Vec<Action>) {
        self.phase = Phase::Stopped;
        self.machine.remove_split();
        actions.push(Action::Stop(why));
    }

    /// Asks again for what is known not to have happened; the caller waits a while between attempts.
    fn failed(&mut self, failed: Failed, actions: &mut Vec<Action>) {
        match failed {
            Failed::Raise => actions.push(Action::Raise { fingerprint: self.role.fingerprint }),
            Failed::Read => actions.push(Action::Read),
            Failed::Resolve => self.ask_start(actions),
            Failed::Load => actions.push(Action::Load),
            Failed::Poll => self.polling = false,
            Failed::Tail(target) => self.ask_tail(target, actions),
            Failed::Observe => actions.push(Action::Observe),
        }
    }

    /// Does what can be done now.
    fn proceed(&mut self, actions: &mut Vec<Action>) {
        if self.phase != Phase::Running {
            // Nothing has been processed yet, so there is nothing to hand over.
            if self.revoked && self.phase != Phase::Zero && self.phase != Phase::Stopped {
                self.stop(Stop::Released, actions);
            }
            return;
        }
        if self.revoked && self.commit.is_some() && planted(Bug::RemoveNotJoined) {
            return self.stop(Stop::Released, actions);
        }
        if self.revoked && !self.surveyed && self.tails.is_empty() {
            self.survey(actions);
        }
        self.send_all(actions);
        if self.is_leaving() || self.wants_checkpoint {
            self.try_commit(actions);
        }
        let busy = self.commit.is_some() || self.is_leaving() || self.wants_checkpoint;
        if self.phase == Phase::Running && !busy && !self.polling && self.backlog() < BACKLOG {
            self.polling = true;
            actions.push(Action::Poll { offset: self.offset });
        }
    }

    fn backlog(&self) -> usize {
        self.senders.values().map(Sender::len).sum()
    }
}

/// How many items may wait to be stored before a worker stops reading.
const BACKLOG: usize = 4_096;
