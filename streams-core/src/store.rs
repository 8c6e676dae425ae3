//! What a store of state must do: read rows in key order and apply a delta whole or not at all.
//!
//! A store knows nothing of operators or of time. Rows are bytes; [`Delta`] is everything that changes
//! between two checkpoints; a commit makes it durable in one step. Stores with a file or a server behind
//! them live in streams-runtime; [`memory::MemoryStore`] is here for tests and for runs without state.

pub mod backing;
pub mod conformance;
pub mod local;
pub mod memory;
pub mod prefix;

use self::backing::Backing;
use crate::error::StateError;

/// Called with each row of a scan: key, value.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), StateError> + 'a;

/// Durable rows, ordered by key bytes.
///
/// Call grammar: any number of `get`, `scan` and `commit` in any order; reads see the last commit that
/// returned `Ok`. After a commit that returned `Err` the caller drops the store and opens it again.
pub trait Store: Send {
    /// The value of one row.
    ///
    /// # Errors
    /// When the store cannot be read or what it holds is damaged.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError>;

    /// Visits every row whose key starts with `prefix`, in ascending key order; stops at the first error.
    ///
    /// # Errors
    /// The visitor's own, or when the store cannot be read.
    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError>;

    /// Applies the writes of `delta` in their order, atomically: after a crash at any moment either all of
    /// them are there or none. When this returns `Ok` they survive a power loss (stores on disk).
    ///
    /// # Errors
    /// When the writes could not be made durable; whether they were is then unknown until a reopen.
    fn commit(&mut self, delta: &Delta) -> Result<(), StateError>;

    /// How what is committed can be read beside this store, while commits go on elsewhere; none where the store
    /// cannot do that.
    fn reads(&self) -> Option<Reads> {
        None
    }
}

/// Makes reads of a store, each as [`Backing`] has it.
pub type Reads = Box<dyn Fn() -> Box<dyn Backing> + Send>;

/// One change of a [`Delta`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write<'a> {
    /// Sets a row.
    Put {
        /// The row's whole key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// Removes a row; a missing one is no error.
    Delete {
        /// The row's whole key.
        key: &'a [u8],
    },
    /// Removes every row whose key starts with `prefix`.
    DeletePrefix {
        /// The common start; an empty one clears the store.
        prefix: &'a [u8],
    },
}

/// Everything that changed since the last checkpoint, in the order in which it must be applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    // One buffer for all keys and values keeps a checkpoint of many small rows free of allocations.
    bytes: Vec<u8>,
    writes: Vec<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Put { start: usize, key_len: usize, value_len: usize },
    Delete { start: usize, key_len: usize },
    DeletePrefix { start: usize, key_len: usize },
}

impl Delta {
    /// An empty delta.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row to be set.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.writes.push(Span::Put { start, key_len: key.len(), value_len: value.len() });
    }

    /// Adds a row to be removed.
    pub fn delete(&mut self, key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.writes.push(Span::Delete { start, key_len: key.len() });
    }

    /// Adds the removal of every row under `prefix`.
    pub fn delete_prefix(&mut self, prefix: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(prefix);
        self.writes.push(Span::DeletePrefix { start, key_len: prefix.len() });
    }

    /// Appends all writes of `other` behind those here.
    pub fn append(&mut self, other: &Self) {
        for write in other.writes() {
            match write {
                Write::Put { key, value } => self.put(key, value),
                Write::Delete { key } => self.delete(key),
                Write::DeletePrefix { prefix } => self.delete_prefix(prefix),
            }
        }
    }

    /// Forgets all writes and keeps the memory for the next checkpoint.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.writes.clear();
    }

    /// How many writes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The writes in the order in which they must be applied.
    pub fn writes(&self) -> impl Iterator<Item = Write<'_>> {
        self.writes.iter().map(|span| match *span {
            Span::Put { start, key_len, value_len } => {
                Write::Put { key: self.slice(start, key_len), value: self.slice(start + key_len, value_len) }
            }
            Span::Delete { start, key_len } => Write::Delete { key: self.slice(start, key_len) },
            Span::DeletePrefix { start, key_len } => {
                Write::DeletePrefix { prefix: self.slice(start, key_len) }
            }
        })
    }

    fn slice(&self, start: usize, len: usize) -> &[u8] {
        self.bytes.get(start..start + len).expect("a span always lies inside the buffer it was made with")
    }
}
