//! What a commit of a split holds beside its operators' rows (rule 10).

use serde::{Deserialize, Serialize};

use super::ids::{Target, Token};
use super::reader::ReaderState;
use super::sender::SenderState;
use super::worker::{Culprit, Seen};
use crate::codec;
use crate::error::CodecError;

/// A split's position, its senders and readers, its counters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Who committed it: with the version of the row, which commit it is.
    pub owner: Option<Token>,
    /// The next offset to read.
    pub offset: u64,
    /// The id of the message before it, to notice a queue that was made anew or lost its end.
    pub last_id: Option<u64>,
    /// Hwm, watermark and activity per sender.
    pub reader: ReaderState,
    /// Numbers, outbox and position per target.
    pub senders: Vec<(Target, SenderState)>,
    /// Whether the split has told that it is idle.
    pub idle: bool,
    /// Whether the split has told that it has ended.
    pub ended: bool,
    /// Whether the owner sent nothing more behind it.
    pub clean: bool,
    /// Records from the offset on that are rejected, since the job's code panics on them.
    #[serde(default)]
    pub rejected: Vec<Culprit>,
    /// Results of other jobs that have been read.
    #[serde(default)]
    pub seen: Seen,
    /// What its queue does not say and was said since the commit before, and at which offset: the simulator repeats it.
    #[cfg(feature = "sim")]
    #[serde(default)]
    pub readings: Vec<(u64, super::worker::Reading)>,
    /// What has been counted since the job began.
    pub counters: Counters,
    /// When the driver committed it, in ms since the Unix epoch by its clock: for people, and for nothing else.
    #[serde(default)]
    pub committed_ms: Option<i64>,
}

/// Every record that enters leaves as an output or in one of these (law 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Records that were accepted.
    pub records_in: u64,
    /// Records given to output ports.
    pub records_out: u64,
    /// Records sent to the next stages.
    #[serde(default)]
    pub shuffled: u64,
    /// Records that came too late for every window.
    pub late: u64,
    /// Records that failed.
    pub dead_letter: u64,
    /// Items, and results of other jobs, that had been seen before.
    pub duplicates: u64,
    /// Records that `distinct_within` held back.
    #[serde(default)]
    pub repeated: u64,
    /// Messages of a source that were not asked for.
    #[serde(default)]
    pub filtered: u64,
    /// Results of other jobs that are missing between others.
    #[serde(default)]
    pub missing: u64,
}

impl Snapshot {
    /// The bytes of the meta row.
    ///
    /// # Errors
    /// None for snapshots of this crate.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let mut bytes = Vec::new();
        codec::to_vec(self, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a meta row.
    ///
    /// # Errors
    /// When the bytes are no snapshot, or one of a newer version.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        codec::from_slice(bytes)
    }
}
