//! Records on their way into a machine.

use std::any::Any;

use crate::effects::Parcel;
use crate::time::UNTIMED;

/// One record of a [`RawBatch`]: where its bytes are and where it stood in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawRecord {
    /// Start of its bytes in the batch.
    pub start: u32,
    /// End of its bytes in the batch.
    pub end: u32,
    /// Number of its (first) line in the source, from 1; 0 where the source has no lines.
    pub line: u64,
    /// Byte offset of its start in the source.
    pub offset: u64,
    /// When a broker stored it, in ms since the Unix epoch; [`UNTIMED`] where none did.
    pub stored_ms: i64,
}

/// A run of records as the source delivered them, not decoded yet.
#[derive(Debug, Default, Clone)]
pub struct RawBatch {
    /// The bytes of all records.
    pub bytes: Vec<u8>,
    /// The records, in order.
    pub records: Vec<RawRecord>,
}

impl RawBatch {
    /// A batch of one record.
    ///
    /// # Panics
    /// When the record is longer than 4 GiB.
    #[must_use]
    pub fn of(bytes: &[u8], line: u64, offset: u64) -> Self {
        Self::stored(bytes, line, offset, UNTIMED)
    }

    /// A batch of one record that a broker stored at `stored_ms`.
    ///
    /// # Panics
    /// When the record is longer than 4 GiB.
    #[must_use]
    pub fn stored(bytes: &[u8], line: u64, offset: u64, stored_ms: i64) -> Self {
        let end = u32::try_from(bytes.len()).expect("a record is shorter than 4 GiB");
        Self { bytes: bytes.to_vec(), records: vec![RawRecord { start: 0, end, line, offset, stored_ms }] }
    }

    /// The bytes of one record; empty when the record is not of this batch.
    #[must_use]
    pub fn slice(&self, record: &RawRecord) -> &[u8] {
        self.bytes.get(record.start as usize..record.end as usize).unwrap_or_default()
    }
}

/// A batch for one entry of a machine.
#[derive(Debug)]
pub enum Batch<'a> {
    /// Bytes for a source port; the records from index `from` on are taken.
    Raw {
        /// The records.
        batch: &'a RawBatch,
        /// Where to begin.
        from: usize,
        /// Stop behind the first record that fails (`--on-bad stop`) instead of going on.
        stop_on_reject: bool,
    },
    /// A `Vec<T>` of the port's type, emptied by the machine; for sources with [`crate::ports::Source::TAKES_VALUES`].
    Typed(&'a mut (dyn Any + Send)),
    /// At most so many records that the port's source makes itself ([`crate::ports::Source::pull`]).
    Pulled(usize),
    /// What another machine of the job sent through a shuffle.
    Parcel {
        /// The machine.
        sender: usize,
        /// What it sent.
        parcel: Parcel,
    },
    /// Records that came through a shuffle topic, each with the watermark of the stage that it brings.
    Encoded(&'a [(i64, &'a [u8])]),
}

/// How much of a batch a machine took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All of it.
    All,
    /// All in front of this index; the record there failed. What it did before it failed (a raised watermark,
    /// other branches of a fan-out) is still in the machine, so a driver that wants to stop in front of it goes
    /// back to a checkpoint and feeds the records before it.
    Until(usize),
    /// All of it, and the port's source will make no more.
    Dry,
}
