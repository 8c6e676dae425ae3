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
}

/// Records on their way through one shuffle to one machine: typed inside, opaque to the driver, which only
/// has to keep the order.
pub struct Parcel {
    pub(crate) records: Box<dyn Any + Send>,
    pub(crate) len: usize,
    /// The sender's watermark behind the last record.
    pub(crate) watermark_ms: i64,
}

impl Parcel {
    /// How many records are inside.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no record inside; the watermark counts all the same.
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

/// Everything that has gathered at the ends of a machine.
#[derive(Debug, Default)]
pub struct Effects {
    /// By output port, in the order of the topology's sinks.
    pub outputs: Vec<OutputBatch>,
    /// By exchange (shuffle), then by destination machine. Empty where stages are fused.
    pub parcels: Vec<Vec<Parcel>>,
    /// Failed records, in the order in which they failed.
    pub rejects: Vec<Reject>,
    /// Records that came too late for every window, since the last drain.
    pub late: u64,
}

impl Effects {
    pub(crate) fn output(&mut self, port: usize) -> &mut OutputBatch {
        if self.outputs.len() <= port {
            self.outputs.resize_with(port + 1, OutputBatch::default);
        }
        self.outputs.get_mut(port).expect("the line above made room for it")
    }

    pub(crate) fn set_parcels(&mut self, exchange: usize, parcels: Vec<Parcel>) {
        if self.parcels.len() <= exchange {
            self.parcels.resize_with(exchange + 1, Vec::new);
        }
        *self.parcels.get_mut(exchange).expect("the line above made room for it") = parcels;
    }
}

/// Event time as the operators see it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Gauges {
    /// The smallest watermark of the `event_time` operators that have seen a record.
    pub watermark_ms: Option<i64>,
}
