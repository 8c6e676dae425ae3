//! Times in the keys of rows.

use crate::codec;
use crate::error::CodecError;
use crate::inspect::Place;
use crate::key::Key;

/// How far ahead of event time rows are read that are due later, so that not every move of event time has to read. A
/// sixteenth of the time within which all rows are due: read as far as that, everything would be in memory, which may
/// not have room for it.
pub(crate) fn ahead(all_within: i128) -> i128 {
    all_within / 16 + 1
}

/// The start of a pane as bytes that sort like the number.
pub(crate) fn pane_tag(start_ms: i64) -> [u8; 8] {
    (start_ms ^ i64::MIN).to_be_bytes()
}

/// The start of a pane, and what stands behind it.
pub(crate) fn pane_of(key: &[u8]) -> Result<(i64, &[u8]), CodecError> {
    let (tag, key) = key
        .split_first_chunk::<8>()
        .ok_or(CodecError::Truncated { at: key.len(), what: "the start of a pane" })?;
    Ok((i64::from_be_bytes(*tag) ^ i64::MIN, key))
}

/// What the key of a row says that a pane has of a key.
pub(crate) fn in_pane<K: Key>(row: &[u8]) -> Result<Option<Place<K>>, CodecError> {
    let (start, key) = pane_of(row)?;
    Ok(Some(Place { key: codec::key_from_slice(key)?, at: vec![("from", start.to_string())] }))
}

/// The nearest time that there is.
pub(crate) fn clamp(at: i128) -> i64 {
    i64::try_from(at).unwrap_or(if at < 0 { i64::MIN } else { i64::MAX })
}
