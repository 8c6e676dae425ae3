//! Rows that a machine reads while it runs, because they are not in memory yet.
//!
//! A machine that takes a split over begins before the split's rows have been read: it reads what a record or a
//! firing needs, and is handed the rest in pages. What is in memory is newer than what lies here and wins; rows
//! here change only by the machine's own commits.

use super::Visit;
use crate::error::StateError;

/// The committed rows of one split, read on demand.
///
/// Reads block. They see the last commit, and fail with [`StateError::Fenced`] when the split has another owner
/// by then: the comparison is part of the read, in the same transaction.
pub trait Backing: Send {
    /// The value of one row.
    ///
    /// # Errors
    /// When the rows cannot be read, or are another owner's by now.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError>;

    /// The values of some rows, in the order of `keys`; in one question, where that is less work than many.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn get_many(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// Visits the rows from `from` on and in front of `to`, in ascending key order; stops at the first error.
    ///
    /// # Errors
    /// The visitor's own, or as [`get`](Self::get).
    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError>;
}

/// One row of a page: its whole key and its value.
pub type Row = (Vec<u8>, Vec<u8>);
