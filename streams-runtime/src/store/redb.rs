//! The embedded store: one file, `state.redb`, in pure Rust.
//!
//! # What survives which crash
//!
//! | event | what the next open finds |
//! |---|---|
//! | the process is killed | the last commit that returned, or the one in progress if it got that far |
//! | power loss, kernel crash | the same, as long as the drive honors a flush |
//! | disk full, I/O error | `commit` fails; after a reopen the last commit, or the failed one as a whole |
//! | bytes of the file are damaged | an error that names the file; never an older commit in silence |
//! | the file is removed | an empty store |
//!
//! Commits are two-phase: two flushes each. With one flush the file format alone could not tell a commit
//! that never finished from one that was damaged afterwards, and would answer both with the commit before.
//! Each open reads the whole file and checks all sums, which is what makes the fourth line true; it costs
//! time in proportion to the file. One thing no sum covers is which of the file's two commit slots is the
//! current one: damage to exactly that bit can bring back the commit before.
//!
//! What it does not do: share the file between processes, repair damage, or shrink the file.

mod create;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use redb::{Builder, Database, DatabaseError, Durability, ReadableDatabase, TableDefinition};
use streams_core::error::StateError;
use streams_core::store::{Delta, Store, Visit, Write, prefix};

/// The file's name inside the state directory.
pub const FILE_NAME: &str = "state.redb";

/// Memory for pages of the file. The default of redb, 1 GiB, is the whole machine where small jobs run;
/// hot rows live decoded in the operators anyway.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// Rows in one file on this machine.
#[derive(Debug)]
pub struct RedbStore {
    database: Database,
    file: PathBuf,
}

impl RedbStore {
    /// Opens `state.redb` in the directory `dir`; creates both if missing. Checks the whole file.
    ///
    /// # Errors
    /// When another process (or this one) has the file open, when it is damaged or no state file, and when
    /// it or the directory cannot be read or written. The text names the file and what to do.
    pub fn open(dir: &Path) -> Result<Self, StateError> {
        let file = dir.join(FILE_NAME);
        let created = create::missing_file(dir, &file);
        created.map_err(|error| opening(&file, &error))?;
        let path = file.clone();
        Self::over(file, move || builder().open(path))
    }

    fn over(
        file: PathBuf,
        open: impl FnOnce() -> Result<Database, DatabaseError> + std::panic::UnwindSafe,
    ) -> Result<Self, StateError> {
        // Debug builds of redb assert on damage which release builds report; to a user both are damage.
        let database = match catch_unwind(open) {
            Ok(opened) => opened.map_err(|error| opening(&file, &error))?,
            Err(_) => return Err(damaged(&file, "its pages contradict each other")),
        };
        let store = Self { database, file };
        // Looked for at once: a file of another program must not be noticed at the first checkpoint.
        store.rows(|_| Ok(()))?;
        Ok(store)
    }

    fn rows<R>(
        &self,
        read: impl FnOnce(&redb::ReadOnlyTable<&'static [u8], &'static [u8]>) -> Result<R, StateError>,
    ) -> Result<R, StateError> {
        let transaction = self.database.begin_read().map_err(|error| self.failed("reading", error))?;
        let table = transaction.open_table(ROWS).map_err(|error| self.failed("reading", error))?;
        read(&table)
    }

    fn failed(&self, what: &str, error: impl Into<redb::Error>) -> StateError {
        failed(&self.file, what, &error.into())
    }

    fn write(&self, delta: &Delta) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        transaction.set_two_phase_commit(true);
        {
            let mut table = transaction.open_table(ROWS)?;
            for write in delta.writes() {
                match write {
                    Write::Put { key, value } => drop(table.insert(key, value)?),
                    Write::Delete { key } => drop(table.remove(key)?),
                    Write::DeletePrefix { prefix } => {
                        let (start, end) = prefix::range(prefix);
                        let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
                        table.retain_in::<&[u8], _>(range, |_, _| false)?;
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

impl Store for RedbStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.rows(|table| {
            let value = table.get(key).map_err(|error| self.failed("reading", error))?;
            Ok(value.map(|value| value.value().to_vec()))
        })
    }

    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        self.rows(|table| {
            for row in table.range(prefix..).map_err(|error| self.failed("reading", error))? {
                let (key, value) = row.map_err(|error| self.failed("reading", error))?;
                if !key.value().starts_with(prefix) {
                    break;
                }
                visit(key.value(), value.value())?;
            }
            Ok(())
        })
    }

    fn commit(&mut self, delta: &Delta) -> Result<(), StateError> {
        if delta.is_empty() {
            // A flush that makes nothing durable would still cost one.
            return Ok(());
        }
        self.write(delta).map_err(|error| self.failed("committing to", error))
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    builder
}

fn opening(file: &Path, error: &DatabaseError) -> StateError {
    let name = file.display();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            StateError::Store(format!(
                "state file `{name}` is in use by another process; stop that process, or give each its own state \
                 directory"
            ))
        }
        DatabaseError::UpgradeRequired(version) => StateError::Store(format!(
            "state file `{name}` has redb's file format {version}, which this build cannot read; open it with the \
             version of the program that wrote it"
        )),
        DatabaseError::Storage(redb::StorageError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
            StateError::Store(format!(
                "`{name}` is no state file, or its first bytes are damaged ({error}); restore it from a copy, or \
                 move it away to start with empty state"
            ))
        }
        // A file shorter than what its header says ends inside a page.
        DatabaseError::Storage(redb::StorageError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
            damaged(file, &error.to_string())
        }
        DatabaseError::Storage(redb::StorageError::Corrupted(reason)) => damaged(file, reason),
        DatabaseError::Storage(redb::StorageError::Io(error)) => failed_io(file, "opening", error),
        other => StateError::Store(format!(
            "opening state file `{name}`: {other}; check the directory's permissions and free space"
        )),
    }
}

fn damaged(file: &Path, reason: &str) -> StateError {
    StateError::Store(format!(
        "state file `{}` is damaged ({reason}); restore it from a copy, or move it away to start with empty state",
        file.display()
    ))
}

/// What the disk or the rights do not let happen.
fn failed_io(file: &Path, what: &str, error: &std::io::Error) -> StateError {
    let name = file.display();
    StateError::Store(match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => format!(
            "{what} state file `{name}`: there is no space ({error}); make some and start again, nothing that was \
             committed is lost"
        ),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => format!(
            "{what} state file `{name}`: {error}; check who owns it and its directory and whether they can be written"
        ),
        _ => format!("{what} state file `{name}`: {error}; check the disk, and the directory's permissions"),
    })
}

fn failed(file: &Path, what: &str, error: &redb::Error) -> StateError {
    match error {
        redb::Error::Corrupted(reason) => damaged(file, reason),
        redb::Error::Io(error) => failed_io(file, what, error),
        redb::Error::TableDoesNotExist(_) | redb::Error::TableTypeMismatch { .. } => {
            StateError::Store(format!(
                "`{}` was written by another program ({error}); give the job another state directory",
                file.display()
            ))
        }
        _ => StateError::Store(format!("{what} state file `{}`: {error}", file.display())),
    }
}
