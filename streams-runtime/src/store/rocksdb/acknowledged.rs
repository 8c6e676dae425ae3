//! Remembers how far commits were acknowledged, in a small file of its own.
//!
//! A log that lost its end to damage looks like one whose writer was killed: the database would open with an
//! older state and say nothing. This file holds the sequence number behind the last acknowledged commit; a
//! database that comes up behind it has lost something. It is written after the log's flush and without one
//! of its own, so it can be behind the log after a power loss, never ahead.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

/// Its name inside the database's directory; RocksDB has no file of that name.
pub(super) const FILE_NAME: &str = "ACKNOWLEDGED";

/// The file, and the number in it.
#[derive(Debug)]
pub(super) struct Acknowledged {
    file: Mutex<(File, u64)>,
}

impl Acknowledged {
    /// Makes the file, durably but for its name.
    pub(super) fn create(folder: &Path, sequence: u64) -> io::Result<()> {
        let mut file = File::create_new(folder.join(FILE_NAME))?;
        file.write_all(&encoded(sequence))?;
        file.sync_all()
    }

    /// Opens the file; `Ok(None)` where what it holds is no number.
    pub(super) fn open(folder: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().read(true).write(true).open(folder.join(FILE_NAME))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let sequence = bytes.first_chunk().map(|number| u64::from_le_bytes(*number));
        let sequence = sequence.filter(|sequence| bytes == encoded(*sequence));
        Ok(sequence.map(|sequence| Self { file: Mutex::new((file, sequence)) }))
    }

    /// The number.
    pub(super) fn sequence(&self) -> u64 {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Raises the number. Sixteen bytes at the start of a file lie in one sector, so they change at once.
    pub(super) fn raise(&self, sequence: u64) -> io::Result<()> {
        let mut guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, written) = &mut *guard;
        if sequence > *written {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&encoded(sequence))?;
            *written = sequence;
        }
        Ok(())
    }
}

/// The number and a sum over it.
fn encoded(sequence: u64) -> [u8; 16] {
    let number = sequence.to_le_bytes();
    let mut bytes = [0; 16];
    let (head, tail) = bytes.split_at_mut(8);
    head.copy_from_slice(&number);
    tail.copy_from_slice(&xxh3_64(&number).to_le_bytes());
    bytes
}
