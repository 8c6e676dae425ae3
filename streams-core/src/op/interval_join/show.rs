//! The rows of a join by time, for a person.

use super::line::Kept;
use super::rows::ROWS;
use super::{LEFT, Place};
use crate::codec;
use crate::error::CodecError;
use crate::inspect::{self, shown};
use crate::key::{Key, Shuffled};

/// What the key of a record's row says.
pub(super) fn place<K: Key>(row: &[u8]) -> Result<Option<inspect::Place<K>>, CodecError> {
    let (key, Place(side, number, at_ms)) = codec::key_from_slice(row.get(ROWS.len()..).unwrap_or_default())?;
    let side = if side == LEFT { "\"left\"" } else { "\"right\"" };
    let at = vec![("at", at_ms.to_string()), ("side", side.to_owned()), ("arrival", number.to_string())];
    Ok(Some(inspect::Place { key, at }))
}

/// A kept record as JSON.
pub(super) fn record<K: Key, A: Shuffled, B: Shuffled>(
    row: &[u8],
    value: &[u8],
) -> Result<String, CodecError> {
    let (_, place): (K, Place) = codec::key_from_slice(row.get(ROWS.len()..).unwrap_or_default())?;
    match place.0 {
        LEFT => shown(&codec::from_slice::<Kept<A>>(value)?),
        _ => shown(&codec::from_slice::<Kept<B>>(value)?),
    }
}
