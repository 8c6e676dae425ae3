//! Makes the state file appear complete or not at all.
//!
//! A file that was left half-initialized by a crash looks like a damaged one, and the user would be told to
//! restore a copy of a store that never held a row. It is therefore made under another name, flushed, and
//! linked. This module never replaces an existing file.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use redb::{Database, DatabaseError, StorageError};

use super::{ROWS, builder};

/// Creates `file` in `dir` unless it exists.
pub(super) fn missing_file(dir: &Path, file: &Path) -> Result<(), DatabaseError> {
    if file.try_exists()? {
        return Ok(());
    }
    // Order: the names of new directories are flushed too, or a power loss takes the file with them.
    let n_new_dirs = dir.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).count();
    fs::create_dir_all(dir)?;

    // The process id keeps two processes that start at once from writing to one unfinished file.
    let unfinished = file.with_extension(format!("redb.{}.new", std::process::id()));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    initialize(builder().create(&unfinished)?)?;
    let linked = link(&unfinished, file);
    fs::remove_file(&unfinished).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    linked?;

    for dir in dir.ancestors().take(n_new_dirs + 1) {
        flush_names(dir)?;
    }
    Ok(())
}

/// Writes the empty table, so that reading never has to wonder whether it exists.
pub(super) fn initialize(database: Database) -> Result<(), DatabaseError> {
    let tables = || -> Result<(), redb::Error> {
        let mut transaction = database.begin_write()?;
        transaction.set_two_phase_commit(true);
        transaction.open_table(ROWS)?;
        transaction.commit()?;
        Ok(())
    };
    tables().map_err(|error| match error {
        redb::Error::Io(error) => DatabaseError::Storage(StorageError::Io(error)),
        other => DatabaseError::Storage(StorageError::Io(io::Error::other(other))),
    })?;
    database.close()
}

/// Gives the finished file its name, unless another process was faster: then that one's file is used.
fn link(unfinished: &Path, file: &Path) -> io::Result<()> {
    match fs::hard_link(unfinished, file) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no links. A rename could replace a file made since the check; it is the
        // best there is on them.
        Err(_) if !file.try_exists()? => fs::rename(unfinished, file),
        Err(error) => Err(error),
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
