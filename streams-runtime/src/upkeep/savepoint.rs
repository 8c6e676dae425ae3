//! A savepoint: a job's whole state in one file, whatever store it came from and goes to.
//!
//! The file is a line that names the form, then frames: kind (1 byte), length of the key and of the value (4 bytes
//! each, little endian), key, value. First the header (`h`, JSON), then the rows in the layout of a store (`r`), then
//! the end (`e`): how many rows there are, and xxh3 over all bytes in front of it. A file without its end is none.
//!
//! Bytes are untrusted: lengths are compared with what is left of the file before anything is made of them, and
//! everything is read once to the end before any of it is used.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use streams_core::error::StateError;
use streams_core::topology::Topology;
use xxhash_rust::xxh3::Xxh3Default;

use super::kept::{Kept, Layout};
use crate::clock::now_ms;
use crate::error::Error;
use crate::snapshot::shape;
use crate::wording::{bytes, counted};

const MAGIC: &[u8] = b"streams savepoint 1\n";
/// What every version begins with.
const ANY_VERSION: &[u8] = b"streams savepoint ";
const HEADER: u8 = b'h';
const ROW: u8 = b'r';
const END: u8 = b'e';
/// Kind and lengths.
const FRAME_BYTES: usize = 9;

/// What a savepoint is one of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) job: String,
    pub(super) layout: LayoutName,
    /// What of the job's graph the state depends on.
    pub(super) shape: Vec<String>,
    pub(super) written_ms: i64,
}

/// Whose rows they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LayoutName {
    Files,
    Topics,
}

/// Writes the state into a new file; there is all of it or none.
pub(super) fn export(topology: &Topology, kept: &Kept, path: &Path) -> Result<String, Error> {
    let layout = match &kept.layout {
        Layout::Files(snapshot) => {
            snapshot.admits(topology, snapshot.workers)?;
            LayoutName::Files
        }
        #[cfg(feature = "rocketmq")]
        Layout::Topics(_) => LayoutName::Topics,
    };
    let failed = |error: std::io::Error| Error::output(format!("cannot write {}: {error}", path.display()));
    if path.exists() {
        return Err(Error::usage(format!(
            "state export: {} is there already; give the savepoint another name, or remove it",
            path.display()
        )));
    }
    let unfinished = unfinished(path);
    let header =
        Header { job: topology.job.to_owned(), layout, shape: shape(topology), written_ms: now_ms() };
    let written = write(&unfinished, &header, kept, &failed);
    // Order: the name appears behind the flush, so that a file of this name is whole.
    let finished = written.and_then(|n_rows| {
        give_name(&unfinished, path).map_err(failed)?;
        flush_names(path).map_err(failed)?;
        Ok((n_rows, std::fs::metadata(path).map_err(failed)?.len()))
    });
    if finished.is_err() {
        // It may not be there; what stays has a name that nobody looks for.
        let _ = std::fs::remove_file(&unfinished);
    }
    let (n_rows, size) = finished?;
    Ok(format!("{}: {} of {}, {}\n", path.display(), counted(n_rows, "row"), kept.place, bytes(size)))
}

/// Beside the file, so that a link can give it its name.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

/// Gives a file or a directory its name, which nothing else has: what is there stays there.
pub(super) fn give_name(from: &Path, to: &Path) -> std::io::Result<()> {
    // Linux renames a directory only over an empty one, and a file over anything.
    if from.is_dir() {
        return std::fs::rename(from, to);
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists || to.exists() => Err(error),
        // Not every file system has links.
        Err(_) => std::fs::rename(from, to),
    }
}

/// Makes the name of a file durable; only Unix has a way to ask for it.
pub(super) fn flush_names(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

fn write(
    path: &Path,
    header: &Header,
    kept: &Kept,
    failed: &dyn Fn(std::io::Error) -> Error,
) -> Result<u64, Error> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path).map_err(failed)?;
    let mut out = Summed { out: BufWriter::new(file), sum: Xxh3Default::new() };
    let header = serde_json::to_vec(header).map_err(Error::state)?;
    let begun = out.put(MAGIC).and_then(|()| out.frame(HEADER, &[], &header));
    begun.map_err(failed)?;
    let (mut n_rows, mut trouble) = (0_u64, None);
    let read = kept.visit(&mut |key, value| {
        n_rows += 1;
        out.frame(ROW, key, value).map_err(|error| {
            let text = error.to_string();
            trouble = Some(error);
            StateError::Store(text)
        })
    });
    if let Some(error) = trouble {
        return Err(failed(error));
    }
    read?;
    let sum = out.sum.digest();
    let end = [n_rows.to_le_bytes(), sum.to_le_bytes()].concat();
    out.frame(END, &[], &end).map_err(failed)?;
    let file = out.out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(n_rows)
}

/// A file of which every byte is summed up.
struct Summed {
    out: BufWriter<File>,
    sum: Xxh3Default,
}

impl Summed {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.sum.update(bytes);
        self.out.write_all(bytes)
    }

    fn frame(&mut self, kind: u8, key: &[u8], value: &[u8]) -> std::io::Result<()> {
        let length = |bytes: &[u8]| {
            let too_long = |_| std::io::Error::other("a row has more than 4 GiB");
            u32::try_from(bytes.len()).map(u32::to_le_bytes).map_err(too_long)
        };
        let (key_len, value_len) = (length(key)?, length(value)?);
        self.put(&[kind])?;
        [&key_len[..], &value_len, key, value].into_iter().try_for_each(|bytes| self.put(bytes))
    }
}

/// A savepoint that was read to its end once.
pub(super) struct Savepoint {
    path: PathBuf,
    pub(super) header: Header,
    pub(super) n_rows: u64,
}

/// The rows of a savepoint, one after the other.
pub(super) struct RowReader {
    input: BufReader<File>,
    path: PathBuf,
    left: u64,
    sum: Xxh3Default,
    /// Over everything in front of the end.
    sum_in_front: u64,
    n_rows: u64,
    header: Option<Header>,
    over: bool,
}

impl Savepoint {
    /// Opens a savepoint and reads all of it; `look` sees every row.
    pub(super) fn open(path: &Path, look: &mut dyn FnMut(&[u8], &[u8])) -> Result<Self, Error> {
        let mut reader = RowReader::open(path)?;
        while let Some((key, value)) = reader.next()? {
            look(&key, &value);
        }
        let header = reader.header.ok_or_else(|| damaged(path, "it has no header"))?;
        Ok(Self { path: path.to_owned(), header, n_rows: reader.n_rows })
    }

    /// Its rows, once more from the first.
    pub(super) fn rows(&self) -> Result<RowReader, Error> {
        RowReader::open(&self.path)
    }
}

fn damaged(path: &Path, why: &str) -> Error {
    Error::state(format!(
        "savepoint {} is damaged ({why}); take it from a copy, or export the state again",
        path.display()
    ))
}

impl RowReader {
    fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::usage(format!("state import: there is no file {}", path.display()))
            }
            _ => Error::source(format!("cannot read {}: {error}", path.display())),
        };
        let file = File::open(path).map_err(failed)?;
        if path.is_dir() {
            return Err(Error::usage(format!(
                "state import: {} is a directory; give the file that `state export` wrote",
                path.display()
            )));
        }
        let left = file.metadata().map_err(failed)?.len();
        let input = BufReader::with_capacity(1 << 20, file);
        let mut reader = Self {
            input,
            path: path.to_owned(),
            left,
            sum: Xxh3Default::new(),
            sum_in_front: 0,
            n_rows: 0,
            header: None,
            over: false,
        };
        reader.begin()?;
        Ok(reader)
    }

    fn begin(&mut self) -> Result<(), Error> {
        let magic = self.take(MAGIC.len().min(usize::try_from(self.left).unwrap_or(usize::MAX)))?;
        if magic != MAGIC {
            let path = self.path.display();
            return Err(Error::state(if magic.starts_with(ANY_VERSION) {
                format!("{path} is a savepoint of another version; use the program that wrote it")
            } else {
                format!("{path} is no savepoint; give a file that `state export` wrote")
            }));
        }
        let (kind, _, header) = self.frame()?;
        let header = serde_json::from_slice(&header).ok().filter(|_| kind == HEADER);
        self.header = Some(header.ok_or_else(|| damaged(&self.path, "its header cannot be read"))?);
        Ok(())
    }

    /// The next row; none behind the last one, when everything was as it was written.
    pub(super) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>, Error> {
        if self.over {
            return Ok(None);
        }
        let (kind, key, value) = self.frame()?;
        match kind {
            ROW => {
                self.n_rows += 1;
                Ok(Some((key, value)))
            }
            END => {
                let expected = [self.n_rows.to_le_bytes(), self.sum_in_front.to_le_bytes()].concat();
                if value != expected || !key.is_empty() {
                    return Err(damaged(&self.path, "its sum is another one"));
                }
                if self.left > 0 {
                    return Err(damaged(&self.path, "something stands behind its end"));
                }
                self.over = true;
                Ok(None)
            }
            _ => Err(damaged(&self.path, "a frame of no kind that there is")),
        }
    }

    fn frame(&mut self) -> Result<(u8, Vec<u8>, Vec<u8>), Error> {
        let head = self.read(FRAME_BYTES)?;
        let Some((&kind, rest)) = head.split_first() else { return Err(self.short()) };
        if kind == END {
            self.sum_in_front = self.sum.digest();
        }
        self.sum.update(&head);
        let lengths = rest.split_first_chunk::<4>();
        let Some((key, rest)) = lengths else { return Err(self.short()) };
        let Some((value, _)) = rest.split_first_chunk::<4>() else { return Err(self.short()) };
        let key = self.take(u32::from_le_bytes(*key) as usize)?;
        let value = self.take(u32::from_le_bytes(*value) as usize)?;
        Ok((kind, key, value))
    }

    fn take(&mut self, n: usize) -> Result<Vec<u8>, Error> {
        let bytes = self.read(n)?;
        self.sum.update(&bytes);
        Ok(bytes)
    }

    fn read(&mut self, n: usize) -> Result<Vec<u8>, Error> {
        // Nothing is reserved by a length that the file cannot fill.
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| self.short())?;
        let mut bytes = vec![0; n];
        self.input
            .read_exact(&mut bytes)
            .map_err(|error| Error::source(format!("cannot read {}: {error}", self.path.display())))?;
        Ok(bytes)
    }

    fn short(&self) -> Error {
        damaged(&self.path, "it is cut short")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::give_name;

    #[test]
    fn what_has_a_name_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("new"), "new").unwrap();
        fs::write(path("old"), "old").unwrap();
        fs::create_dir(path("new dir")).unwrap();
        fs::create_dir(path("old dir")).unwrap();
        fs::write(path("old dir/row"), "old").unwrap();
        assert!(give_name(&path("new"), &path("old")).is_err());
        assert!(give_name(&path("new dir"), &path("old dir")).is_err());
        assert_eq!(fs::read(path("old")).unwrap(), b"old");
        assert_eq!(fs::read(path("old dir/row")).unwrap(), b"old");
        give_name(&path("new"), &path("other")).unwrap();
        give_name(&path("new dir"), &path("other dir")).unwrap();
        assert!(!path("new").exists() && path("other").exists());
        assert!(!path("new dir").exists() && path("other dir").is_dir());
    }
}
