//! What a worker is told.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::{Action, Local};
use super::{CommitOutcome, ResultOf};
use crate::protocol::ids::{Target, Token};
use crate::protocol::snapshot::Snapshot;
use crate::store::Store;
use crate::store::backing::{Backing, Row};
use crate::store::local::Marks;

/// A split's row, as its new owner finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How many commits there were.
    pub version: u64,
    /// The last one's.
    pub snapshot: Box<Snapshot>,
    /// Nobody had the split between that commit and this owner. Else somebody may have sent what no commit tells of,
    /// however clean the commit was.
    pub is_next: bool,
}

impl Found {
    /// The row of a store in which every raise adds one to the token's epoch, as the owner with `epoch` finds it.
    #[must_use]
    pub fn by_epoch(version: u64, snapshot: Snapshot, epoch: u64) -> Self {
        let is_next = snapshot.owner.is_some_and(|owner| owner.epoch + 1 == epoch);
        Self { version, snapshot: Box::new(snapshot), is_next }
    }
}

/// What a worker was told that its queue does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// What time it is, in ms.
    Clock(i64),
    /// Only in the simulator: which rows are looked up.
    Tables(u64),
}

/// What a worker is told.
pub enum Event<'a> {
    /// The token was raised.
    Raised(Token),
    /// The token was not raised: the split is not clean for this code.
    Refused,
    /// The split's row, or none yet.
    Row(Option<Found>),
    /// The resolved start offset.
    Resolved(u64),
    /// The split's rows, to be read when they are needed.
    Loaded(Box<dyn Backing>),
    /// The next rows.
    Paged {
        /// In the order of their keys.
        rows: &'a [Row],
        /// Whether there are more behind them.
        more: bool,
    },
    /// The token does not stand any more, so nothing was read.
    Fenced,
    /// A step of the local copy was done.
    Local(LocalDone<'a>),
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
            Self::Row(row) => f.debug_tuple("Row").field(&row.as_ref().map(|found| found.version)).finish(),
            Self::Resolved(offset) => f.debug_tuple("Resolved").field(offset).finish(),
            Self::Loaded(_) => f.write_str("Loaded"),
            Self::Paged { rows, more } => f.debug_tuple("Paged").field(&rows.len()).field(more).finish(),
            Self::Fenced => f.write_str("Fenced"),
            Self::Local(done) => f.debug_tuple("Local").field(done).finish(),
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
    /// [`Action::Page`].
    Page,
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
    /// What time it is, in ms since the Unix epoch: for stages whose results depend on that.
    pub clock_ms: i64,
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
    /// Of a source: whose result it is, where another job has numbered it.
    pub result_of: Option<ResultOf>,
    /// Of a source: whether it is none of those that were asked for.
    pub is_unwanted: bool,
}

/// What a step of the local copy gave.
pub enum LocalDone<'a> {
    /// Of [`Local::Marks`].
    Marks(Marks),
    /// Of [`Local::Rows`].
    Rows(&'a dyn Store),
    /// Of all the others: it is durable.
    Done,
}

impl std::fmt::Debug for LocalDone<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Marks(marks) => f.debug_tuple("Marks").field(marks).finish(),
            Self::Rows(_) => f.write_str("Rows"),
            Self::Done => f.write_str("Done"),
        }
    }
}
