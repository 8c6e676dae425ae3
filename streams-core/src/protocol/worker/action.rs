//! What a worker asks for.

use super::Culprit;
use crate::effects::Reject;
use crate::protocol::frame::Frame;
use crate::protocol::ids::{Target, Token};
use crate::protocol::reader::Gap;
use crate::protocol::snapshot::Snapshot;
use crate::store::Delta;
use crate::store::local::{CommitId, Load};

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
    Read {
        /// The owner's.
        token: Token,
    },
    /// Where reading begins: the job's start position, resolved now; or the queue's beginning.
    Resolve {
        /// Whether the start position applies.
        original: bool,
    },
    /// Give access to the rows of the split's operators, as long as the token stands.
    Load {
        /// The owner's.
        token: Token,
    },
    /// Read the next rows of the split's operators, in the order of their keys, as long as the token stands.
    Page {
        /// The owner's.
        token: Token,
        /// Behind this key.
        after: Vec<u8>,
    },
    /// A step of the local copy.
    Local(Local),
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
        /// Results of the output ports that are written by the commit itself, in their order.
        results: Vec<Committed>,
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
    /// Say that records failed. They are told again when they are read again, behind a crash.
    Reject(Vec<Rejected>),
    /// The worker has ended.
    Stop(Stop),
}

/// A result that becomes visible with the commit that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Committed {
    /// The number of the output port.
    pub output: u16,
    /// The record, encoded.
    pub record: Vec<u8>,
}

/// A record that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// The offset of the message that was running.
    pub offset: u64,
    /// What failed.
    pub reject: Reject,
    /// The message, where it is a record as the source has it.
    pub raw: Option<Vec<u8>>,
}

/// Why a worker ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// It handed the split over, committed and clean.
    Released,
    /// Somebody else took the split.
    Fenced,
    /// The server that has the state was away in the middle of a record; the split is to be taken again.
    Away(String),
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
    /// The job's code panicked; the split is to be taken again by a worker that is told so.
    Panicked(Culprit),
    /// The job's code panics at this place with no record at fault; in front of it everything is committed and the
    /// split is clean, so that corrected code can take it.
    Flawed(Culprit),
    /// State or a message cannot be read.
    Broken(String),
}

/// A step of the split's copy in the local store; see [`LocalCommits`](crate::store::local::LocalCommits) for what
/// each does. They are done in order, and before another worker of the same instance begins with the split. A step
/// that fails leaves nothing to go on with: the process ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Local {
    /// Say what is here.
    Marks,
    /// Give the rows that are here.
    Rows,
    /// Write the next commit.
    Prepare {
        /// Which.
        id: CommitId,
        /// Its rows.
        delta: Delta,
    },
    /// Make the written commit visible.
    Promote {
        /// Which.
        id: CommitId,
    },
    /// Forget the written commit.
    Discard {
        /// Which.
        id: CommitId,
    },
    /// Add a page of the remote rows.
    Save {
        /// The commit that they are of.
        id: CommitId,
        /// The rows.
        page: Delta,
        /// How far that goes.
        load: Load,
    },
    /// Remove everything.
    Forget,
}
