//! Makes the database appear complete or not at all.
//!
//! A directory that was left half-initialized by a crash looks like one of another program. It is therefore
//! made under another name, flushed, and renamed. This module never replaces an existing database.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use rocksdb::{DB, WriteOptions};
use streams_core::error::StateError;

use super::acknowledged::Acknowledged;
use super::errors::{creating, opening};
use super::options::RocksOptions;
use super::{FOLDER_NAME, FORMAT, FORMAT_KEY, MARKS};

/// Creates the database `folder` in `dir` unless it exists.
pub(super) fn missing_database(dir: &Path, folder: &Path, options: RocksOptions) -> Result<(), StateError> {
    let named = |error: io::Error| creating(folder, &error);
    if folder.try_exists().map_err(named)? {
        return Ok(());
    }
    // Order: the names of new directories are flushed too, or a power loss takes the database with them.
    let n_new_dirs = dir.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).count();
    fs::create_dir_all(dir).map_err(named)?;

    // The process id keeps two processes that start at once from writing to one unfinished database.
    let unfinished = dir.join(format!("{FOLDER_NAME}.{}.new", std::process::id()));
    remove(&unfinished).map_err(named)?;
    initialize(&unfinished, options)?;
    flush_names(&unfinished).map_err(named)?;
    match fs::rename(&unfinished, folder) {
        Ok(()) => {}
        // Another process was faster: its database is used.
        Err(_) if folder.exists() => remove(&unfinished).map_err(named)?,
        Err(error) => return Err(named(error)),
    }
    for dir in dir.ancestors().take(n_new_dirs + 1) {
        flush_names(dir).map_err(named)?;
    }
    Ok(())
}

fn initialize(folder: &Path, options: RocksOptions) -> Result<(), StateError> {
    let (mut database, families) = options.database();
    database.create_if_missing(true);
    database.create_missing_column_families(true);
    let database = DB::open_cf_descriptors(&database, folder, families);
    let database = database.map_err(|error| opening(folder, &error))?;
    let marks = database.cf_handle(MARKS).expect("it was opened with this column family");
    let mut durable = WriteOptions::default();
    durable.set_sync(true);
    database.put_cf_opt(marks, FORMAT_KEY, [FORMAT], &durable).map_err(|error| opening(folder, &error))?;
    let sequence = database.latest_sequence_number();
    drop(database);
    Acknowledged::create(folder, sequence).map_err(|error| creating(folder, &error))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the names in a directory durable; only Unix has a way to ask for it.
fn flush_names(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}
