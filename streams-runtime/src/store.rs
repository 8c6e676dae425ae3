//! The stores that outlive the process, behind features of the same names.
//!
//! What a store is and must do stands in [`streams_core::store`], with the kit that tests it. This module
//! holds the ones that need files; it decides nothing about what is stored or when.

#[cfg(feature = "redb")]
pub mod redb;

use std::path::Path;

use streams_core::error::StateError;
use streams_core::store::Store;

/// Opens the embedded store in the directory `dir`, which is created if missing.
///
/// # Errors
/// When the build has no embedded store, or as [`redb::RedbStore::open`].
#[cfg(feature = "redb")]
pub fn open(dir: &Path) -> Result<Box<dyn Store>, StateError> {
    Ok(Box::new(redb::RedbStore::open(dir)?))
}

/// Refuses: this build has no embedded store.
///
/// # Errors
/// Always.
#[cfg(not(feature = "redb"))]
pub fn open(dir: &Path) -> Result<Box<dyn Store>, StateError> {
    Err(StateError::Store(format!(
        "no store for `{}`: this program was built without the feature `redb`; build it with that feature, or \
         run it without a state directory",
        dir.display()
    )))
}
