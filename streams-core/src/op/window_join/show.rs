//! The rows of a join in windows, for a person.

use super::{LEFT, Row};
use crate::codec;
use crate::error::CodecError;
use crate::inspect::{Place, shown};
use crate::key::{Key, Shuffled};

/// What the key of a record's row says.
pub(super) fn place<K: Key>(row: &[u8]) -> Result<Option<Place<K>>, CodecError> {
    let Row { pane, number, side, key } = Row::of(row)?;
    let side = if side == LEFT { "\"left\"" } else { "\"right\"" };
    let at = vec![("from", pane.to_string()), ("side", side.to_owned()), ("arrival", number.to_string())];
    Ok(Some(Place { key: codec::key_from_slice(key)?, at }))
}

/// A kept record as JSON.
pub(super) fn record<A: Shuffled, B: Shuffled>(row: &[u8], value: &[u8]) -> Result<String, CodecError> {
    match Row::of(row)?.side {
        LEFT => shown(&codec::from_slice::<A>(value)?),
        _ => shown(&codec::from_slice::<B>(value)?),
    }
}
