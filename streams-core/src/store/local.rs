//! Commits of a local store beside a remote one: written first, visible only when the remote one has them.
//!
//! Two stores are two commits, and a crash can fall between them. The remote store is the truth; the local
//! copy follows it in three steps: write the next commit as *pending*, commit the remote store, *promote* the
//! pending one. Whoever starts compares the ids: pending is the remote's: promote; committed is the remote's:
//! discard; neither: load again. What to do is decided elsewhere; a store only does each step atomically.

use super::{Delta, Store};
use crate::error::StateError;

/// Which commit of a split: equal ids mean equal contents.
///
/// The version alone would not do: two owners of a split can both make a version 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId {
    /// The owner's epoch.
    pub epoch: u64,
    /// The owner's random number, so that an epoch given out twice is noticed.
    pub nonce: u64,
    /// Counts the commits of the split.
    pub version: u64,
}

/// How much of a split's rows has been copied here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Load {
    /// All of them.
    #[default]
    Complete,
    /// Those in front of the cursor; what the bytes mean is the loader's business.
    Cursor(Vec<u8>),
}

/// What a local store knows of a split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The commit that reads see; `None` for a split that is not here.
    pub committed: Option<CommitId>,
    /// The commit that was written and is not visible yet.
    pub pending: Option<CommitId>,
    /// Whether the rows are all here.
    pub load: Load,
}

/// A store whose commits take two steps, for each split on its own.
///
/// Call grammar, per split: (`load` | `prepare` (`promote` | `discard`))\*; `forget` at any time. Pages are loaded
/// in the order of their keys, each read behind the last commit that was promoted; the first `load` says that the
/// copy has begun, and without one it counts as complete. Between `prepare` and its end `get` and `scan` see the rows from before. Each call is atomic and
/// durable when it returns `Ok`; after an `Err` the store is dropped and opened again.
///
/// Keys are the caller's, whole, as in [`Store::commit`]; splits must not share keys. Plain commits are for
/// rows of no split.
pub trait LocalCommits: Store {
    /// What is here of `split`.
    ///
    /// # Errors
    /// When the store cannot be read or what it holds is damaged.
    fn marks(&self, split: &[u8]) -> Result<Marks, StateError>;

    /// Writes `delta` as the pending commit `id` of `split`.
    ///
    /// # Errors
    /// When another commit of the split is pending, or when it could not be made durable.
    fn prepare(&mut self, split: &[u8], id: CommitId, delta: &Delta) -> Result<(), StateError>;

    /// Makes the pending commit `id` the committed one; nothing to do where it is that already.
    ///
    /// # Errors
    /// When `id` is neither pending nor committed, or when it could not be made durable.
    fn promote(&mut self, split: &[u8], id: CommitId) -> Result<(), StateError>;

    /// Forgets the pending commit `id`; nothing to do where none is pending.
    ///
    /// # Errors
    /// When another one is pending, or when it could not be made durable.
    fn discard(&mut self, split: &[u8], id: CommitId) -> Result<(), StateError>;

    /// Adds a page of the remote commit `id`, and how far that goes, in one step.
    ///
    /// # Errors
    /// When a commit of the split is pending, or when the page could not be made durable.
    fn load(&mut self, split: &[u8], id: CommitId, page: &Delta, load: &Load) -> Result<(), StateError>;

    /// Removes the rows under `prefix` and everything that is known of `split`.
    ///
    /// # Errors
    /// When the removal could not be made durable.
    fn forget(&mut self, split: &[u8], prefix: &[u8]) -> Result<(), StateError>;

    /// The commit of `split` that reads see.
    ///
    /// # Errors
    /// As [`marks`](Self::marks).
    fn committed_id(&self, split: &[u8]) -> Result<Option<CommitId>, StateError> {
        Ok(self.marks(split)?.committed)
    }

    /// The commit of `split` that waits for the remote store.
    ///
    /// # Errors
    /// As [`marks`](Self::marks).
    fn pending_id(&self, split: &[u8]) -> Result<Option<CommitId>, StateError> {
        Ok(self.marks(split)?.pending)
    }
}
