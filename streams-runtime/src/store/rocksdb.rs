//! The store for state larger than memory: one RocksDB database, in the directory `state.rocksdb`.
//!
//! Column families by role: `rows` is the state, `pending` holds commits that wait for a remote store, `marks`
//! what is committed and pending of each split. One budget of memory covers them all ([`RocksOptions`]).
//!
//! # What survives which crash
//!
//! | event | what the next open finds |
//! |---|---|
//! | the process is killed | the last commit that returned, or the one in progress if it got that far |
//! | power loss, kernel crash | the same, as long as the drive honors a flush |
//! | disk full, I/O error | `commit` fails; after a reopen the last commit, or the failed one as a whole |
//! | the log is cut short, also to nothing | an error: it ends in front of an acknowledged commit |
//! | bytes of the log or the manifest are damaged | an error, at the open |
//! | the manifest is cut short | an error, or an older list of tables: not noticed in every case |
//! | bytes of a table are damaged | an error that names the file, when they are read |
//! | a file is removed | an error |
//! | the directory is removed | an empty store |
//!
//! # What is flushed when
//!
//! Each commit is one batch over all families, one record of the write-ahead log; the log is flushed
//! (`fdatasync`) before the commit returns, and the directory too when the log is a new file. Tables are
//! flushed before the manifest names them, and a log is deleted only behind that. All families go to tables
//! together. A record without its end is what a kill in the middle of a write leaves, and is left out.
//!
//! A log that lost its end to damage would look the same. The file `ACKNOWLEDGED` tells them apart: it holds
//! the sequence number behind the last commit that returned, and is written without a flush. After a kill it
//! is exact; after a power loss it may be older by what the kernel had not written yet, and a log that was cut
//! short *as well* could then pass for whole: with an earlier commit's state, never with half of one.
//!
//! What it does not do: share the directory between processes, repair damage, or read tables that nobody asks
//! for.

mod acknowledged;
mod batch;
mod create;
mod errors;
mod manifest;
mod options;
mod pending;

#[cfg(test)]
mod tests;

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksdb::{ColumnFamily, DB, ReadOptions, WriteBatch, WriteOptions};
use streams_core::error::StateError;
use streams_core::store::backing;
use streams_core::store::{Delta, Reads, Store, Visit, prefix};

use acknowledged::Acknowledged;
use batch::Batch;
use errors::{creating, damaged, foreign, opening};

pub use options::RocksOptions;

/// The database's name inside the state directory.
pub const FOLDER_NAME: &str = "state.rocksdb";

/// Column families.
const ROWS: &str = "rows";
const MARKS: &str = "marks";
const PENDING: &str = "pending";

/// Where the marks say how everything is laid out.
const FORMAT_KEY: &[u8] = b"format";
const FORMAT: u8 = 1;

/// Rows in a RocksDB database on this machine. Clones are the same store, for other threads.
#[derive(Debug, Clone)]
pub struct RocksStore(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    database: DB,
    folder: PathBuf,
    acknowledged: Acknowledged,
}

impl RocksStore {
    /// Opens `state.rocksdb` in the directory `dir`; creates both if missing.
    ///
    /// # Errors
    /// When another process (or this one) has it open, when it is damaged or another program's, and when it or
    /// the directory cannot be read or written. The text names the directory and what to do.
    pub fn open(dir: &Path, options: RocksOptions) -> Result<Self, StateError> {
        let folder = dir.join(FOLDER_NAME);
        create::missing_database(dir, &folder, options)?;
        if !folder.is_dir() {
            return Err(foreign(&folder, "it is a file"));
        }
        if !folder.join("CURRENT").exists() {
            return Err(foreign(&folder, "it has no file CURRENT"));
        }
        // Order: in front of the open, which deletes what an older manifest does not list.
        if manifest::has_damaged_end(&folder).map_err(|error| creating(&folder, &error))? {
            return Err(damaged(&folder, "the length of the manifest's last record"));
        }
        let (database, families) = options.database();
        let database = DB::open_cf_descriptors(&database, &folder, families);
        let database = database.map_err(|error| opening(&folder, &error))?;
        let acknowledged = Self::acknowledged(&folder, &database)?;
        let store = Self(Arc::new(Opened { database, folder, acknowledged }));
        match store.read(MARKS, FORMAT_KEY)?.as_deref() {
            Some([FORMAT]) => Ok(store),
            Some(other) => Err(StateError::Mismatch(format!(
                "state `{}` has the layout {other:?}, this build knows {FORMAT}; open it with the version of the \
                 program that wrote it",
                store.folder().display()
            ))),
            None => Err(foreign(store.folder(), "the mark of its layout is missing")),
        }
    }

    /// Compares what the database came up with to what it had acknowledged.
    fn acknowledged(folder: &Path, database: &DB) -> Result<Acknowledged, StateError> {
        let name = acknowledged::FILE_NAME;
        let found = match Acknowledged::open(folder) {
            Ok(Some(found)) => found,
            Ok(None) => return Err(damaged(folder, &format!("the file {name} holds no number"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(damaged(folder, &format!("the file {name} is missing")));
            }
            Err(error) => return Err(creating(folder, &error)),
        };
        let (sequence, expected) = (database.latest_sequence_number(), found.sequence());
        if sequence < expected {
            return Err(damaged(
                folder,
                &format!("its log ends at write {sequence}, in front of {expected}, which was acknowledged"),
            ));
        }
        // What reads can see from now on must not be lost again; the recovery has made it durable.
        found.raise(sequence).map_err(|error| creating(folder, &error))?;
        Ok(found)
    }

    fn database(&self) -> &DB {
        &self.0.database
    }

    fn folder(&self) -> &Path {
        &self.0.folder
    }

    fn failed(&self, what: &str, error: &rocksdb::Error) -> StateError {
        errors::failed(self.folder(), what, error)
    }

    fn read(&self, family_name: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        let value = self.database().get_cf(family(self.database(), family_name), key);
        value.map_err(|error| self.failed("reading", &error))
    }

    /// Makes a batch durable.
    fn write(&self, batch: WriteBatch) -> Result<(), StateError> {
        let mut durable = WriteOptions::default();
        durable.set_sync(true);
        let written = self.database().write_opt(batch, &durable);
        written.map_err(|error| self.failed("committing to", &error))?;
        // Order: behind the flush, so that it is never ahead of the log.
        let raised = self.0.acknowledged.raise(self.database().latest_sequence_number());
        raised.map_err(|error| creating(self.folder(), &error))
    }
}

impl Store for RocksStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.read(ROWS, key)
    }

    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        let mut options = ReadOptions::default();
        if let (_, Bound::Excluded(end)) = prefix::range(prefix) {
            options.set_iterate_upper_bound(end);
        }
        let mut rows = self.database().raw_iterator_cf_opt(family(self.database(), ROWS), options);
        rows.seek(prefix);
        while let Some((key, value)) = rows.item() {
            visit(key, value)?;
            rows.next();
        }
        rows.status().map_err(|error| self.failed("reading", &error))
    }

    fn commit(&mut self, delta: &Delta) -> Result<(), StateError> {
        if delta.is_empty() {
            // A flush that makes nothing durable would still cost one.
            return Ok(());
        }
        let mut batch = Batch::new(self.database());
        for write in delta.writes() {
            batch.row(write).map_err(|error| self.failed("reading", &error))?;
        }
        self.write(batch.finish())
    }

    fn reads(&self) -> Option<Reads> {
        let store = self.clone();
        Some(Box::new(move || Box::new(store.clone())))
    }
}

/// What is committed: no other process has the directory, so nobody else owns it.
impl backing::Backing for RocksStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.read(ROWS, key)
    }

    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(to);
        let mut rows = self.database().raw_iterator_cf_opt(family(self.database(), ROWS), options);
        rows.seek(from);
        while let Some((key, value)) = rows.item() {
            visit(key, value)?;
            rows.next();
        }
        rows.status().map_err(|error| self.failed("reading", &error))
    }
}

fn family<'a>(database: &'a DB, name: &str) -> &'a ColumnFamily {
    database.cf_handle(name).expect("a database is opened with all column families or not at all")
}
