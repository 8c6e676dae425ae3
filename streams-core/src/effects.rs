//! What a step of a machine asks its driver to do: outputs to write, records to shuffle, failures to report.

use std::any::Any;

/// Where a record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// No single record of the batch: a firing, or a record that crossed a shuffle.
    None,
    /// The record with this index in the batch that was fed.
    Batch(u32),
}

/// A record that an operator or a decoder could not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// Which record.
    pub origin: Origin,
    /// The operator's id; the port's name for a record that does not decode.
    pub operator: &'static str,
    /// Why.
    pub error: String,
    /// The record as JSON, where the source's bytes are not at hand.
    pub value: Option<String>,
    /// The key as JSON, where not a record but the result of a whole key failed.
    pub key: Option<String>,
}

/// Encoded results of one output port.
#[derive(Debug, Default)]
pub struct OutputBatch {
    /// How many records.
    pub records: u64,
    /// Their bytes, one after the other, as the port's sink encodes them.
    pub bytes: Vec<u8>,
    /// The first value that could not be encoded.
    pub error: Option<String>,
    /// In the sharded layout alone, by record: the bytes are then the text of the key and the record, without a
    /// line break.
    pub addresses: Vec<Address>,
}

/// Where one record of an [`OutputBatch`] ends, and where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The hash of its key, by which its queue is chosen; none without a key.
    pub hash: Option<u64>,
    /// How many of its bytes are the text of its key.
    pub key_len: usize,
    /// The end of its bytes.
    pub end: usize,
}

impl OutputBatch {
    /// Each record with its address; its bytes begin with the text of its key.
    pub fn addressed(&self) -> impl Iterator<Item = (Address, &[u8])> {
        self.addresses.iter().scan(0, |start, address| {
            let bytes = self.bytes.get(*start..address.end)?;
            *start = address.end;
            Some((*address, bytes))
        })
    }

    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.records = 0;
        self.bytes.clear();
        self.addresses.clear();
        self.error = None;
    }
}

/// Records on their way through one shuffle to one machine: typed inside, opaque to the driver, which only
/// has to keep the order.
pub struct Parcel {
    /// What the shuffle put inside; most parcels of drains in between have nothing, and take no memory for it.
    pub(crate) records: Option<Box<dyn Any + Send>>,
    pub(crate) len: usize,
    /// The sender's watermark behind the last record.
    pub(crate) watermark_ms: i64,
    /// Whether the sender has nothing to say for a while.
    pub(crate) idle: bool,
}

impl Parcel {
    /// How many records are inside, or rows where an aggregate has brought records together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing of that inside; the watermark counts all the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl std::fmt::Debug for Parcel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parcel").field("len", &self.len).field("watermark_ms", &self.watermark_ms).finish()
    }
}

/// Encoded records on their way through one shuffle to one queue, see [`crate::layout::Sharded`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Run {
    /// The records, each with its length in front.
    pub bytes: Vec<u8>,
    /// The watermark behind the last one.
    pub watermark_ms: i64,
}

impl Run {
    /// The encoded records.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (len, tail) = rest.split_first_chunk::<4>()?;
            let (record, tail) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            rest = tail;
            Some(record)
        })
    }
}

/// The ends that records of one entry can reach.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Shuffles, by number.
    pub exchanges: std::collections::BTreeSet<usize>,
    /// Output ports, by number.
    pub outputs: std::collections::BTreeSet<usize>,
    /// Whether what leaves there depends on what time it is.
    pub clock: bool,
    /// Addresses of tables beside the job on whose rows it depends.
    pub tables: std::collections::BTreeSet<std::sync::Arc<str>>,
}

/// Everything that has gathered at the ends of a machine.
#[derive(Debug, Default)]
pub struct Effects {
    /// By output port, in the order of the topology's sinks.
    pub outputs: Vec<OutputBatch>,
    /// By exchange (shuffle), then by destination machine. Empty where stages are fused.
    pub parcels: Vec<Vec<Parcel>>,
    /// By exchange, then by queue, in the sharded layout.
    pub runs: Vec<Vec<Run>>,
    /// Failed records, in the order in which they failed.
    pub rejects: Vec<Reject>,
    /// Records that came too late for every window, since the last drain.
    pub late: u64,
    /// Records that `distinct_within` held back, since the last drain.
    pub repeated: u64,
}

impl Effects {
    pub(crate) fn output(&mut self, port: usize) -> &mut OutputBatch {
        if self.outputs.len() <= port {
            self.outputs.resize_with(port + 1, OutputBatch::default);
        }
        self.outputs.get_mut(port).expect("the line above made room for it")
    }

    pub(crate) fn set_parcels(&mut self, exchange: usize, parcels: Vec<Parcel>) {
        set(&mut self.parcels, exchange, parcels);
    }

    pub(crate) fn set_runs(&mut self, exchange: usize, runs: Vec<Run>) {
        set(&mut self.runs, exchange, runs);
    }
}

fn set<T>(list: &mut Vec<Vec<T>>, index: usize, items: Vec<T>) {
    if list.len() <= index {
        list.resize_with(index + 1, Vec::new);
    }
    *list.get_mut(index).expect("the line above made room for it") = items;
}

/// Event time as the operators see it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Gauges {
    /// The smallest watermark of the `event_time` operators that have seen a record.
    pub watermark_ms: Option<i64>,
}
