//! What one message of a shuffle or output topic holds: numbered items of one sender for one queue.
//!
//! Data and the marks idle, active and end are numbered, since they change what a reader does; a watermark is
//! not: it names the last number before it instead, so that it can be repeated and left out (rule 3).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ids::{Incarnation, Split};
use crate::codec;
use crate::error::CodecError;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The life of the job that it belongs to.
    pub incarnation: Incarnation,
    /// Who sent it.
    pub sender: Split,
    /// All queues of the sender's stage, as the sender knows them: who else must be heard.
    pub siblings: BTreeSet<u16>,
    /// The number of the first item; the others follow without a gap.
    pub first: u64,
    /// The items.
    pub items: Vec<Item>,
    /// Event time behind the last item.
    pub mark: Option<Mark>,
}

/// One numbered item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// A record. Of a shuffle, its first eight bytes are its watermark, see
    /// [`crate::exchange::letterbox::carried_watermark`]; of an output, see [`Item::result`].
    Data(#[serde(with = "raw")] Vec<u8>),
    /// The sender has had nothing to say for a while: it holds event time back no longer.
    Idle,
    /// The sender is back.
    Active,
    /// The sender will say nothing more.
    End,
}

/// Bytes as a whole; serde knows a vector of them as a list of numbers.
mod raw {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }

        from.deserialize_byte_buf(Bytes)
    }
}

impl Item {
    /// A result for an output: `bytes` are the text of its key, so many of them, and the record.
    #[must_use]
    pub fn result(key_len: usize, bytes: &[u8]) -> Self {
        let mut data = Vec::with_capacity(4 + bytes.len());
        data.extend_from_slice(&u32::try_from(key_len).unwrap_or(0).to_le_bytes());
        data.extend_from_slice(bytes);
        Self::Data(data)
    }
}

/// Where the record begins in a result for an output, and the text of its key.
#[must_use]
pub fn result(data: &[u8]) -> Option<(usize, &[u8])> {
    let (key_len, rest) = data.split_first_chunk::<4>()?;
    let key = rest.get(..u32::from_le_bytes(*key_len) as usize)?;
    Some((4 + key.len(), key))
}

/// The records of results for an output, without their keys.
pub fn records(items: &[Item]) -> impl Iterator<Item = &[u8]> {
    items.iter().filter_map(|item| match item {
        Item::Data(data) => data.get(result(data)?.0..),
        Item::Idle | Item::Active | Item::End => None,
    })
}

/// An unnumbered watermark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The last number that it includes.
    pub as_of: u64,
    /// Event time.
    pub watermark_ms: i64,
}

impl Frame {
    /// The message's bytes.
    ///
    /// # Errors
    /// None for frames of this crate.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let mut bytes = Vec::new();
        codec::to_vec(self, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When the bytes are no frame.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        codec::from_slice(bytes)
    }
}
