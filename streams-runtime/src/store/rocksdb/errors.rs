//! What went wrong, for a person: the directory, the reason, the remedy.
//!
//! RocksDB tells causes apart in its texts only, so they are looked at here and nowhere else.

use std::io;
use std::path::Path;

use rocksdb::{Error, ErrorKind};
use streams_core::error::StateError;

/// The database could not be opened.
pub(super) fn opening(folder: &Path, error: &Error) -> StateError {
    told(folder, "opening", &error.kind(), error.as_ref())
}

/// The open database failed while `what` was done with it.
pub(super) fn failed(folder: &Path, what: &str, error: &Error) -> StateError {
    told(folder, what, &error.kind(), error.as_ref())
}

/// A file or directory around the database failed.
pub(super) fn creating(folder: &Path, error: &io::Error) -> StateError {
    StateError::Store(format!(
        "opening state `{}`: {error}; check the directory's permissions and free space",
        folder.display()
    ))
}

pub(super) fn damaged(folder: &Path, reason: &str) -> StateError {
    StateError::Store(format!(
        "state `{}` is damaged ({reason}); restore it from a copy, or move it away to start with empty state",
        folder.display()
    ))
}

/// The directory is there and holds something else.
pub(super) fn foreign(folder: &Path, reason: &str) -> StateError {
    StateError::Store(format!(
        "`{}` is no state of this program ({reason}); give the job another state directory, or move it away",
        folder.display()
    ))
}

fn told(folder: &Path, what: &str, kind: &ErrorKind, text: &str) -> StateError {
    let name = folder.display();
    let has = |part: &str| text.contains(part);
    if has("Permission denied") || has("Read-only file system") {
        return StateError::Store(format!(
            "{what} state `{name}`: {text}; check who owns the directory and whether it can be written"
        ));
    }
    if has("/LOCK: ") {
        return StateError::Store(format!(
            "state `{name}` is in use by another process; stop that process, or give each its own state directory"
        ));
    }
    if has("No space left on device") || has("Disk quota exceeded") || has("File too large") {
        return StateError::Store(format!(
            "{what} state `{name}`: there is no space ({text}); make some and start again, nothing that was \
             committed is lost"
        ));
    }
    match kind {
        ErrorKind::Corruption => damaged(folder, text),
        // A file that the database lists is gone.
        ErrorKind::IOError | ErrorKind::NotFound if has("No such file or directory") => damaged(folder, text),
        ErrorKind::InvalidArgument if has("olumn famil") => foreign(folder, text),
        ErrorKind::NotSupported => StateError::Store(format!(
            "state `{name}` cannot be read by this build ({text}); open it with the version of the program that \
             wrote it"
        )),
        _ => StateError::Store(format!("{what} state `{name}`: {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &ErrorKind, text: &str, expect: &str) {
        let told = told(Path::new("st/state.rocksdb"), "committing to", kind, text).to_string();
        assert!(told.contains(expect) && told.contains("st/state.rocksdb"), "{told}");
    }

    #[test]
    fn causes_have_remedies() {
        let io = &ErrorKind::IOError;
        check(
            io,
            "IO error: While lock file: st/LOCK: Resource temporarily unavailable",
            "stop that process",
        );
        check(io, "IO error: While open a file for lock: st/LOCK: Permission denied", "check who owns");
        check(
            io,
            "IO error: While appending to file: st/4.log: No space left on device",
            "make some and start",
        );
        check(io, "IO error: No such file or directory: While open: st/12.sst", "is damaged");
        check(&ErrorKind::Corruption, "Corruption: checksum mismatch", "restore it from a copy");
        check(
            &ErrorKind::InvalidArgument,
            "Invalid argument: Column families not opened: x",
            "is no state of this program",
        );
    }
}
