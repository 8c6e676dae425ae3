//! How operators load and save their state: rows under the operator's id, inside the machine's own prefix.
//!
//! Key of a row: machine prefix (given by the driver), 8 bytes of the operator's id (xxh3-64, big endian),
//! then what the operator chose. Values carry the version of their format and the ids of fields
//! ([`crate::codec`]).

mod attached;

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec;
use crate::error::{CodecError, StateError};
use crate::store::backing::{Backing, Row};
use crate::store::{Delta, Store};

pub use attached::Attached;

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

    /// The id of what an exchange knows of its senders.
    pub(crate) fn senders(index: usize) -> Self {
        Self { name: "senders", hash: xxh3_64(format!("senders {index}").as_bytes()) }
    }

    /// The id of the writing end of an exchange.
    pub(crate) fn border(index: usize) -> Self {
        Self { name: "border", hash: xxh3_64(format!("border {index}").as_bytes()) }
    }

    /// How the keys of the operator's rows begin.
    pub(crate) fn prefix(self, machine: &[u8]) -> Vec<u8> {
        [machine, &self.bytes()].concat()
    }

    /// What stands for the operator in the keys of its rows.
    #[must_use]
    pub fn bytes(self) -> [u8; 8] {
        self.hash.to_be_bytes()
    }

    /// As in the topology.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Rows that were read in the background, in key order.
pub struct Page<'a> {
    rows: &'a [Row],
    machine: &'a [u8],
    failure: Option<StateError>,
}

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl<'a> Page<'a> {
    pub(crate) fn new(rows: &'a [Row], machine: &'a [u8]) -> Self {
        Self { rows, machine, failure: None }
    }

    pub(crate) fn finish(self) -> Result<(), StateError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Visits the operator's rows on the page.
    pub(crate) fn rows(
        &mut self,
        id: OperatorId,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError>,
    ) {
        if self.failure.is_some() {
            return;
        }
        let prefix = id.prefix(self.machine);
        let from = self.rows.partition_point(|(key, _)| key.as_slice() < prefix.as_slice());
        for (key, value) in self.rows.get(from..).unwrap_or_default() {
            match key.strip_prefix(prefix.as_slice()) {
                None => break,
                // The operator's single value was read when the split was taken.
                Some([]) => {}
                Some(key) => {
                    if let Err(source) = visit(key, value) {
                        self.failure = Some(StateError::Decode { operator: id.name.to_owned(), source });
                        return;
                    }
                }
            }
        }
    }
}

/// Reads a machine's state when its split arrives.
pub struct Loader<'a> {
    from: From<'a>,
    machine: &'a [u8],
    failure: Option<StateError>,
}

enum From<'a> {
    /// All rows are read now.
    Whole(&'a dyn Store),
    /// Rows are read when they are needed; only what there is once per operator is read now.
    Backing(&'a dyn Backing),
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
        Self { from: From::Whole(store), machine, failure: None }
    }

    /// Reads what there is once per operator; the rows come later.
    pub(crate) fn attached(attached: &'a Attached) -> Self {
        Self { from: From::Backing(&*attached.backing), machine: &attached.machine, failure: None }
    }

    /// The first failure, if any; the machine is then not to be used.
    ///
    /// # Errors
    /// That failure.
    pub fn finish(self) -> Result<(), StateError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Visits the operator's rows in key order with the operator's part of the key and the value; says whether
    /// these are all. Otherwise the rows are read when they are needed, and come in pages.
    #[must_use]
    pub(crate) fn rows(
        &mut self,
        id: OperatorId,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError>,
    ) -> bool {
        let From::Whole(store) = self.from else { return false };
        if self.failure.is_some() {
            return true;
        }
        let prefix = id.prefix(self.machine);
        let result = store.scan(&prefix, &mut |key, value| match key.get(prefix.len()..) {
            // The operator's single value is no row of it.
            None | Some([]) => Ok(()),
            Some(key) => visit(key, value)
                .map_err(|source| StateError::Decode { operator: id.name.to_owned(), source }),
        });
        self.failure = result.err();
        true
    }

    /// The operator's single value, kept by [`Saver::put_value`]; refused where it is that of an operator with
    /// another `signature`.
    pub(crate) fn value<T: DeserializeOwned>(&mut self, id: OperatorId, signature: &str) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        match self.read(id, signature) {
            Ok(value) => value,
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, id: OperatorId, signature: &str) -> Result<Option<T>, StateError> {
        let key = id.prefix(self.machine);
        let found = match self.from {
            From::Whole(store) => store.get(&key)?,
            From::Backing(backing) => backing.get(&key)?,
        };
        let Some(bytes) = found else { return Ok(None) };
        let broken = |source| StateError::Decode { operator: id.name.to_owned(), source };
        // The signature comes first and alone, since the rest may be of a type that does not decode here.
        let signed: Signed<'_> = Signed::split(&bytes).map_err(broken)?;
        if signed.signature != signature {
            return Err(StateError::Mismatch(format!(
                "the state of operator `{}` is that of {}, and the job has {signature}; go back to what it was, or name the operator anew with `.named(\"..\")` to begin without its state",
                id.name, signed.signature
            )));
        }
        codec::from_slice(signed.value).map(Some).map_err(broken)
    }
}

/// An operator's single value with the signature in front: its length in two bytes, its text, the value.
struct Signed<'a> {
    signature: &'a str,
    value: &'a [u8],
}

impl<'a> Signed<'a> {
    fn split(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let short = || CodecError::Truncated { at: bytes.len(), what: "an operator's signature" };
        let (len, rest) = bytes.split_first_chunk::<2>().ok_or_else(short)?;
        let (text, value) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len))).ok_or_else(short)?;
        let signature = std::str::from_utf8(text)
            .map_err(|_| CodecError::Invalid { at: 2, what: "a signature that is no text".to_owned() })?;
        Ok(Self { signature, value })
    }
}

/// Gathers what a machine's operators changed since the last checkpoint.
pub struct Saver<'a> {
    delta: &'a mut Delta,
    machine: &'a [u8],
    key: Vec<u8>,
    value: Vec<u8>,
    /// The operators and types whose first row was decoded again.
    tried: Vec<(u64, &'static str)>,
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
        Self { delta, machine, key: Vec::new(), value: Vec::new(), tried: Vec::new(), failure: None }
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
    pub(crate) fn put<K: Serialize, V>(&mut self, id: OperatorId, tag: &[u8], key: &K, value: &V)
    where
        V: Serialize + DeserializeOwned,
    {
        self.put_at(id, &|row| tagged(tag, key, row), value);
    }

    /// Sets the row whose key `at` writes.
    pub(crate) fn put_at<V: Serialize + DeserializeOwned>(
        &mut self,
        id: OperatorId,
        at: &dyn Fn(&mut Vec<u8>) -> Result<(), CodecError>,
        value: &V,
    ) {
        self.start(id, &[]);
        self.value.clear();
        match at(&mut self.key).and_then(|()| codec::to_vec(value, &mut self.value)) {
            Ok(()) => self.delta.put(&self.key, &self.value),
            Err(source) => return self.fail(id, source),
        }
        // A type may encode and not decode (`#[serde(tag)]`, say); that must not wait for the day when the
        // state is needed.
        let this = (id.hash, std::any::type_name::<V>());
        if !self.tried.contains(&this) {
            self.tried.push(this);
            if let Err(source) = codec::from_slice::<V>(&self.value) {
                self.failure.get_or_insert(StateError::Decode { operator: id.name.to_owned(), source });
            }
        }
    }

    /// Sets the operator's single value; `signature` says what the operator's state is a state of.
    pub(crate) fn put_value<V: Serialize>(&mut self, id: OperatorId, signature: &str, value: &V) {
        self.start(id, &[]);
        self.value.clear();
        let text = signature.as_bytes().get(..usize::from(u16::MAX)).unwrap_or(signature.as_bytes());
        self.value.extend_from_slice(&(text.len() as u16).to_le_bytes());
        self.value.extend_from_slice(text);
        match codec::to_vec(value, &mut self.value) {
            Ok(()) => self.delta.put(&self.key, &self.value),
            Err(source) => self.fail(id, source),
        }
    }

    /// Removes the row `(tag, key)`.
    pub(crate) fn delete<K: Serialize>(&mut self, id: OperatorId, tag: &[u8], key: &K) {
        self.delete_at(id, &|row| tagged(tag, key, row));
    }

    /// Removes the row whose key `at` writes.
    pub(crate) fn delete_at(&mut self, id: OperatorId, at: &dyn Fn(&mut Vec<u8>) -> Result<(), CodecError>) {
        self.start(id, &[]);
        match at(&mut self.key) {
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
        // Called for every row of a checkpoint, so nothing is allocated.
        self.key.extend_from_slice(self.machine);
        self.key.extend_from_slice(&id.hash.to_be_bytes());
        self.key.extend_from_slice(tag);
    }

    fn fail(&mut self, id: OperatorId, source: CodecError) {
        self.failure.get_or_insert(StateError::Encode { operator: id.name.to_owned(), source });
    }
}

/// The operator's part of the key of the row `(tag, key)`.
fn tagged<K: Serialize>(tag: &[u8], key: &K, row: &mut Vec<u8>) -> Result<(), CodecError> {
    row.extend_from_slice(tag);
    codec::key_to_vec(key, row)
}
