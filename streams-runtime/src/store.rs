//! The stores that outlive the process, behind features of the same names.
//!
//! What a store is and must do stands in [`streams_core::store`], with the kit that tests it. This module
//! holds the ones that need files, and chooses among them; it decides nothing about what is stored or when.

#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;

use std::path::Path;

use streams_core::error::StateError;
use streams_core::store::Store;
use streams_core::store::local::LocalCommits;

/// Where a store of a run on topics has the record of the job.
pub(crate) const JOB: &[u8] = b"job";
/// Where a copy of a remote store has its instance's name.
pub(crate) const INSTANCE: &[u8] = b"instance";

/// Which store keeps a state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One file, pure Rust; opening reads the whole file.
    Redb,
    /// A directory of files, for state larger than memory.
    Rocksdb,
}

impl Kind {
    /// All there are, the preferred one first.
    pub const ALL: [Self; 2] = [Self::Redb, Self::Rocksdb];

    /// As on the command line; the feature has the same name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Redb => "redb",
            Self::Rocksdb => "rocksdb",
        }
    }

    /// The store with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether this program can open it.
    #[must_use]
    pub fn is_built(self) -> bool {
        match self {
            Self::Redb => cfg!(feature = "redb"),
            Self::Rocksdb => cfg!(feature = "rocksdb"),
        }
    }

    /// The one that is meant where none is named.
    #[must_use]
    pub fn preferred() -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.is_built())
    }

    /// What it puts into a state directory.
    #[must_use]
    pub fn entry(self) -> &'static str {
        match self {
            Self::Redb => "state.redb",
            Self::Rocksdb => "state.rocksdb",
        }
    }
}

/// Opens the store in the directory `dir` as the copy of a remote store, which commits in two steps.
///
/// # Errors
/// As [`open`], and where this kind of store cannot do that.
#[cfg_attr(not(feature = "rocksdb"), expect(unused_variables, reason = "no other store keeps copies"))]
pub fn open_copy(dir: &Path, kind: Kind) -> Result<Box<dyn LocalCommits>, StateError> {
    match kind {
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => {
            is_kept_by(dir, kind)?;
            Ok(Box::new(rocksdb::RocksStore::open(dir, rocksdb::RocksOptions::default())?))
        }
        other => Err(StateError::Store(format!(
            "the copy of a remote store is kept by RocksDB, not by {}; add --store rocksdb to a program that was \
             built with the feature `rocksdb`, or leave --state out: then there is no copy",
            other.name()
        ))),
    }
}

/// Opens the store in the directory `dir`, which is created if missing.
///
/// # Errors
/// When the directory is kept by another store, when the build does not have this one, or as the store's own
/// `open`.
pub fn open(dir: &Path, kind: Kind) -> Result<Box<dyn Store>, StateError> {
    open_within(dir, kind, None)
}

/// The same, where the store itself may use so much memory; one that has no such choice uses what it does.
#[cfg_attr(not(feature = "rocksdb"), expect(unused_variables, reason = "no other store has a budget"))]
pub(crate) fn open_within(
    dir: &Path,
    kind: Kind,
    memory_bytes: Option<usize>,
) -> Result<Box<dyn Store>, StateError> {
    is_kept_by(dir, kind)?;
    match kind {
        #[cfg(feature = "redb")]
        Kind::Redb => Ok(Box::new(redb::RedbStore::open(dir)?)),
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => {
            let options = rocksdb::RocksOptions::default();
            let options = memory_bytes.map_or(options, |bytes| options.with_memory_bytes(bytes));
            Ok(Box::new(rocksdb::RocksStore::open(dir, options)?))
        }
        #[cfg(not(all(feature = "redb", feature = "rocksdb")))]
        missing => Err(StateError::Store(format!(
            "no store for `{}`: this program was built without the feature `{}`; build it with that feature, or \
             run it without a state directory",
            dir.display(),
            missing.name()
        ))),
    }
}

/// Refuses a directory that another kind of store keeps.
fn is_kept_by(dir: &Path, kind: Kind) -> Result<(), StateError> {
    let other = Kind::ALL.into_iter().find(|other| *other != kind && dir.join(other.entry()).exists());
    match other {
        None => Ok(()),
        Some(other) => Err(StateError::Mismatch(format!(
            "state directory `{}` is kept by the store {other}, not by {kind}; add --store {other}, or give the \
             job another directory",
            dir.display(),
            other = other.name(),
            kind = kind.name()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        assert_eq!(Kind::named("other"), None);
        #[cfg(feature = "redb")]
        assert_eq!(Kind::Redb.entry(), redb::FILE_NAME);
    }

    #[test]
    fn a_directory_of_another_store_is_refused() {
        for kind in Kind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let other = if kind == Kind::Redb { Kind::Rocksdb } else { Kind::Redb };
            std::fs::create_dir(dir.path().join(other.entry())).unwrap();
            let error = open(dir.path(), kind).map(drop).unwrap_err().to_string();
            assert!(error.contains(&format!("is kept by the store {}", other.name())), "{error}");
            assert!(error.contains(&format!("add --store {}", other.name())), "{error}");
            assert!(!dir.path().join(kind.entry()).exists());
        }
    }
}
