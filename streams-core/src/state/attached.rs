//! Where the rows of a machine are that are not in memory yet: read one by one, by range, or ahead together.

use std::ops::Bound;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OperatorId;
use crate::ahead;
use crate::codec;
use crate::error::{CodecError, StateError};
use crate::store::backing::Backing;
use crate::store::prefix;

/// Where the rows of a machine are that are not in memory yet.
pub struct Attached {
    pub(super) backing: Box<dyn Backing>,
    pub(super) machine: Vec<u8>,
    ahead: ahead::Rows,
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Attached {
    pub(crate) fn new(backing: Box<dyn Backing>, machine: &[u8]) -> Self {
        Self { backing, machine: machine.to_vec(), ahead: ahead::Rows::new() }
    }

    /// What the keys of the machine's rows begin with.
    pub(crate) fn machine(&self) -> &[u8] {
        &self.machine
    }

    /// Reads rows that will be asked for, and forgets those of before.
    pub(crate) fn read_ahead(&mut self, wanted: impl IntoIterator<Item = Vec<u8>>) -> Result<(), StateError> {
        self.ahead.clear();
        let keys: Vec<Vec<u8>> = wanted.into_iter().collect();
        // One row costs the same when it is needed, if it is needed at all.
        if keys.len() > 1 {
            let values = self.backing.get_many(&keys)?;
            self.ahead.extend(keys.into_iter().zip(values));
        }
        Ok(())
    }

    /// The row `(tag, key)` of an operator.
    pub(crate) fn row<V: DeserializeOwned>(
        &mut self,
        id: OperatorId,
        tag: &[u8],
        key: &impl Serialize,
    ) -> Result<Option<V>, StateError> {
        let mut bytes = id.prefix(&self.machine);
        bytes.extend_from_slice(tag);
        codec::key_to_vec(key, &mut bytes)
            .map_err(|source| StateError::Encode { operator: id.name.to_owned(), source })?;
        let value = match self.ahead.get(&bytes) {
            Some(read) => read.clone(),
            None => self.backing.get(&bytes)?,
        };
        let Some(value) = value else { return Ok(None) };
        let value = codec::from_slice(&value);
        value.map(Some).map_err(|source| StateError::Decode { operator: id.name.to_owned(), source })
    }

    /// The rows of an operator from `from` on and in front of `to`.
    pub(crate) fn rows(
        &self,
        id: OperatorId,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError>,
    ) -> Result<(), StateError> {
        let prefix = id.prefix(&self.machine);
        let first = [&prefix, from].concat();
        let last = match (to, prefix::range(&prefix).1) {
            (Some(to), _) => [&prefix, to].concat(),
            (None, Bound::Excluded(end) | Bound::Included(end)) => end,
            // A prefix of 0xff bytes alone: no key of a machine is longer than this and larger.
            (None, Bound::Unbounded) => [&prefix[..], &[0xff; 64]].concat(),
        };
        self.backing.range(&first, &last, &mut |key, value| match key.get(prefix.len()..) {
            None | Some([]) => Ok(()),
            Some(key) => visit(key, value)
                .map_err(|source| StateError::Decode { operator: id.name.to_owned(), source }),
        })
    }
}
