//! How operators load and save their state: rows under the operator's id, inside the machine's own prefix.
//!
//! Key of a row: machine prefix (given by the driver), 8 bytes of the operator's id (xxh3-64, big endian),
//! then what the operator chose. Values carry the version of their format and the ids of fields
//! ([`crate::codec`]).

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec;
use crate::error::{CodecError, StateError};
use crate::store::{Delta, Store};

/// The id of an operator with state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorId {
    name: &'static str,
    hash: u64,
}

impl OperatorId {
    /// The id with this name.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, hash: xxh3_64(name.as_bytes()) }
    }

    /// The id of an exchange, which has a number and no name.
    pub(crate) fn exchange(index: usize) -> Self {
        Self { name: "exchange", hash: xxh3_64(format!("exchange {index}").as_bytes()) }
    }

    /// The id of the writing end of an exchange.
    pub(crate) fn border(index: usize) -> Self {
        Self { name: "border", hash: xxh3_64(format!("border {index}").as_bytes()) }
    }

    /// As in the topology.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Reads a machine's state when its split arrives.
pub struct Loader<'a> {
    store: &'a dyn Store,
    machine: &'a [u8],
    failure: Option<StateError>,
}

impl std::fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl<'a> Loader<'a> {
    /// Reads the rows that start with `machine`.
    #[must_use]
    pub fn new(store: &'a dyn Store, machine: &'a [u8]) -> Self {
        Self { store, machine, failure: None }
    }

    /// The first failure, if any; the machine is then not to be used.
    ///
    /// # Errors
    /// That failure.
    pub fn finish(self) -> Result<(), StateError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Visits the operator's rows in key order with the operator's part of the key and the value.
    pub(crate) fn rows(
        &mut self,
        id: OperatorId,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError>,
    ) {
        if self.failure.is_some() {
            return;
        }
        let mut prefix = self.machine.to_vec();
        prefix.extend_from_slice(&id.hash.to_be_bytes());
        let skip = prefix.len();
        let result = self.store.scan(&prefix, &mut |key, value| {
            visit(key.get(skip..).unwrap_or_default(), value)
                .map_err(|source| StateError::Decode { operator: id.name.to_owned(), source })
        });
        self.failure = result.err();
    }

    /// The operator's single value, kept by [`Saver::put_value`].
    pub(crate) fn value<T: DeserializeOwned>(&mut self, id: OperatorId) -> Option<T> {
        let mut found = None;
        self.rows(id, &mut |key, value| {
            if key.is_empty() {
                found = Some(codec::from_slice(value)?);
            }
            Ok(())
        });
        found
    }
}

/// Gathers what a machine's operators changed since the last checkpoint.
pub struct Saver<'a> {
    delta: &'a mut Delta,
    machine: &'a [u8],
    key: Vec<u8>,
    value: Vec<u8>,
    failure: Option<StateError>,
}

impl std::fmt::Debug for Saver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saver").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl<'a> Saver<'a> {
    /// Adds to `delta`, under the rows that start with `machine`.
    #[must_use]
    pub fn new(delta: &'a mut Delta, machine: &'a [u8]) -> Self {
        Self { delta, machine, key: Vec::new(), value: Vec::new(), failure: None }
    }

    /// The first failure, if any; the delta is then not to be committed.
    ///
    /// # Errors
    /// That failure.
    pub fn finish(self) -> Result<(), StateError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Sets the row `(tag, key)` of the operator: `tag` are raw bytes in front, so that rows with the same
    /// tag lie together and can be removed together.
    pub(crate) fn put<K: Serialize, V: Serialize>(&mut self, id: OperatorId, tag: &[u8], key: &K, value: &V) {
        self.start(id, tag);
        let encoded = codec::key_to_vec(key, &mut self.key);
        self.finish_put(id, encoded, value);
    }

    /// Sets the operator's single value.
    pub(crate) fn put_value<V: Serialize>(&mut self, id: OperatorId, value: &V) {
        self.start(id, &[]);
        self.finish_put(id, Ok(()), value);
    }

    /// Removes the row `(tag, key)`.
    pub(crate) fn delete<K: Serialize>(&mut self, id: OperatorId, tag: &[u8], key: &K) {
        self.start(id, tag);
        match codec::key_to_vec(key, &mut self.key) {
            Ok(()) => self.delta.delete(&self.key),
            Err(source) => self.fail(id, source),
        }
    }

    /// Removes every row of the operator whose key starts with `tag`.
    pub(crate) fn delete_all(&mut self, id: OperatorId, tag: &[u8]) {
        self.start(id, tag);
        self.delta.delete_prefix(&self.key);
    }

    fn start(&mut self, id: OperatorId, tag: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(self.machine);
        self.key.extend_from_slice(&id.hash.to_be_bytes());
        self.key.extend_from_slice(tag);
    }

    fn finish_put<V: Serialize>(&mut self, id: OperatorId, key: Result<(), CodecError>, value: &V) {
        self.value.clear();
        match key.and_then(|()| codec::to_vec(value, &mut self.value)) {
            Ok(()) => self.delta.put(&self.key, &self.value),
            Err(source) => self.fail(id, source),
        }
    }

    fn fail(&mut self, id: OperatorId, source: CodecError) {
        self.failure.get_or_insert(StateError::Encode { operator: id.name.to_owned(), source });
    }
}
