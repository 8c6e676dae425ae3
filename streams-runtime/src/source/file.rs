//! A file as a source: bounded, readable again from any record, and recognized when it comes back.
//!
//! A snapshot keeps how far the file was read, with a hash over the last bytes in front of that place. A file
//! that is shorter, or has other bytes there, is another file and is refused; one that is longer has grown.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::split::{LastLine, Splitter};
use super::{Input, Position, Quiet, reader};
use crate::codec::Shapes;
use crate::error::Error;
use crate::format::Format;
use crate::snapshot::SourceMark;
use crate::url::Url;
use crate::wording::grouped;

/// How many bytes in front of the position are hashed.
const TAIL_BYTES: u64 = 4096;

/// A file that was opened, whatever has become of its path since. Reading here moves nobody else's place.
#[derive(Debug)]
pub(crate) struct Opened(File);

impl Opened {
    /// Another hold of `file`, which was opened at `path`.
    #[cfg(unix)]
    fn again(file: &File, _path: &Path) -> std::io::Result<Self> {
        file.try_clone().map(Self)
    }

    // Elsewhere a read at a place moves the place of all holds, so that this one must have its own.
    #[cfg(not(unix))]
    fn again(_file: &File, path: &Path) -> std::io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Up to `length` bytes at `offset`; fewer where the file is shorter.
    fn read(&self, offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0, bytes, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
        (&self.0).seek(SeekFrom::Start(offset))?;
        std::io::Read::read(&mut &self.0, bytes)
    }

    /// The hash over the last bytes in front of `offset`.
    pub(crate) fn tail_hash(&self, offset: u64) -> std::io::Result<u64> {
        let length = offset.min(TAIL_BYTES);
        Ok(xxh3_64(&self.read(offset - length, length)?))
    }
}

/// The hash over the last bytes in front of `offset` of the file at `path`.
pub(crate) fn tail_hash(path: &Path, offset: u64) -> std::io::Result<u64> {
    Opened(File::open(path)?).tail_hash(offset)
}

/// Opens the file of the port with this index and starts to read it, from `mark` on where there is one.
///
/// Called after the machine was built, which settles the format. A last line can be left for another run only
/// where there is something to read again.
pub(crate) fn open(
    port: &'static str,
    index: usize,
    url: &Url,
    shapes: &Arc<Shapes>,
    mark: Option<&SourceMark>,
    last_line: LastLine,
) -> Result<Input, Error> {
    let path = url.path().unwrap_or(Path::new(""));
    let failed = |error: std::io::Error| {
        Error::source(format!("cannot read {} (port `{port}`): {error}", path.display()))
    };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let regular = metadata.is_file();
    let opened = regular.then(|| Opened::again(&file, path)).transpose().map_err(failed)?;
    let last_line = if regular { last_line } else { LastLine::Taken };
    let shape = shapes.input(index);

    let mut position = mark.map_or(Position::START, |mark| Position { offset: mark.offset, line: mark.line });
    if position.offset > 0 {
        if !regular {
            return Err(Error::source(format!(
                "{} (port `{port}`) is no regular file and cannot be resumed at byte {}; begin again with another --state directory",
                path.display(),
                grouped(position.offset)
            )));
        }
        if let (Some(opened), Some(mark)) = (&opened, mark) {
            recognize(opened, path, port, metadata.len(), mark)?;
        }
        if shape.format() == Format::Csv {
            file.rewind().map_err(failed)?;
            let head = file.try_clone().map_err(failed)?;
            let mut head = Splitter::new(Box::new(head), Format::Csv, false, Position::START);
            if let Some(columns) = head.header().map_err(failed)? {
                let _ = shape.columns.set(columns);
            }
            let (before, now) = (mark.and_then(|mark| mark.columns.clone()), shape.column_names());
            if before != now {
                return Err(Error::source(format!(
                    "{} (port `{port}`) has another header line than the state has read: `{}` instead of `{}`; give the file back as it was, or begin again with another --state directory",
                    path.display(),
                    now.unwrap_or_default().join(","),
                    before.unwrap_or_default().join(",")
                )));
            }
        }
        if let Some(opened) = &opened {
            position = behind_line_end(opened, path, port, position)?;
        }
    }
    file.seek(SeekFrom::Start(position.offset))
        .or_else(|error| if regular { Err(error) } else { Ok(0) })
        .map_err(failed)?;

    let (ours, theirs) = reader();
    let mut splitter =
        Splitter::new(Box::new(file), shape.format(), !regular, position).with_last_line(last_line);
    if position.offset == 0 && shape.format() == Format::Csv {
        if let Some(columns) = splitter.header().map_err(failed)? {
            let _ = shape.columns.set(columns);
        }
        position = splitter.position();
    }
    std::thread::spawn(move || theirs.run(splitter));
    // What was left at the end is no growth.
    let seen = mark.filter(|mark| mark.ended).map(|mark| position.offset.max(mark.offset + mark.unread));
    Ok(Input {
        port,
        url: url.as_str().to_owned(),
        path: Some(path.to_owned()),
        total_bytes: regular.then_some(metadata.len()),
        file: opened,
        position,
        unread: metadata.len().saturating_sub(position.offset),
        ended: seen.is_some_and(|seen| metadata.len() <= seen),
        grown: seen.is_some_and(|seen| metadata.len() > seen),
        live: !regular,
        quiet: Quiet::new(None),
        reader: ours,
    })
}

/// Whether this is the file that the state was reading.
fn recognize(opened: &Opened, path: &Path, port: &str, length: u64, mark: &SourceMark) -> Result<(), Error> {
    let shown = path.display();
    let moved = if mark.path.as_deref() == Some(absolute(path).as_str()) {
        String::new()
    } else {
        format!(" (the state read {})", mark.path.as_deref().unwrap_or("another source"))
    };
    const REMEDY: &str = "give the file back as it was, or begin again with another --state directory";
    if length < mark.offset {
        return Err(Error::source(format!(
            "{shown} (port `{port}`) has {} bytes, but the state has read {} of it{moved}; {REMEDY}",
            grouped(length),
            grouped(mark.offset)
        )));
    }
    let found = opened.tail_hash(mark.offset);
    let found = found.map_err(|error| Error::source(format!("cannot read {shown}: {error}")))?;
    if found != mark.tail {
        return Err(Error::source(format!(
            "{shown} (port `{port}`) is not what the state has read: the bytes in front of byte {} (line {}) are others{moved}; {REMEDY}",
            grouped(mark.offset),
            grouped(mark.line)
        )));
    }
    Ok(())
}

/// A last line that had no line end when it was read may have got one since; more than that is refused,
/// because its record has already been counted as it was.
fn behind_line_end(opened: &Opened, path: &Path, port: &str, position: Position) -> Result<Position, Error> {
    let near = opened.read(position.offset - 1, 3);
    let near = near.map_err(|error| Error::source(format!("cannot read {}: {error}", path.display())))?;
    match near.as_slice() {
        [b'\n', ..] | [_] => Ok(position),
        [_, b'\n', ..] => Ok(Position { offset: position.offset + 1, ..position }),
        [_, b'\r', b'\n'] => Ok(Position { offset: position.offset + 2, ..position }),
        _ => Err(Error::source(format!(
            "line {} of {} (port `{port}`) had no line end when it was read as a record, and has been continued since; \
             put a line end at byte {} of the file, so that the rest is a line of its own, or begin again with another --state directory",
            grouped(position.line.saturating_sub(1)),
            path.display(),
            grouped(position.offset)
        ))),
    }
}

/// The path as text that does not depend on the working directory.
pub(crate) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn mark(path: &Path, offset: u64, line: u64) -> SourceMark {
        SourceMark {
            port: "p".to_owned(),
            path: Some(absolute(path)),
            offset,
            line,
            tail: Opened(File::open(path).unwrap()).tail_hash(offset).unwrap(),
            ended: true,
            unread: 0,
            columns: None,
        }
    }

    #[track_caller]
    fn check(before: &[u8], read: u64, after: &[u8], expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in");
        File::create(&path).unwrap().write_all(before).unwrap();
        let mark = mark(&path, read, 2);
        File::create(&path).unwrap().write_all(after).unwrap();
        let url = Url::parse(&format!("file:{}", path.display()), crate::url::Direction::From).unwrap();
        let shapes = Shapes::new(std::slice::from_ref(&url), &[]);
        let shown = match open("p", 0, &url, &shapes, Some(&mark), LastLine::Taken) {
            Ok(input) => format!("{} {}", input.position.offset, input.grown),
            Err(error) => error.to_string().replace(&path.display().to_string(), "in"),
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn the_opened_file_is_hashed_whatever_its_path_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in");
        std::fs::write(&path, "ab\n").unwrap();
        let mut file = File::open(&path).unwrap();
        let opened = Opened::again(&file, &path).unwrap();
        let hash = opened.tail_hash(3).unwrap();
        std::fs::rename(&path, dir.path().join("moved")).unwrap();
        assert_eq!(opened.tail_hash(3).unwrap(), hash);
        std::fs::write(&path, "xy\n").unwrap();
        assert_eq!(opened.tail_hash(3).unwrap(), hash);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "ab\n", "reading again moves nobody");
    }

    #[test]
    fn files_are_recognized() {
        check(b"ab\n", 3, b"ab\n", "3 false");
        check(b"ab\n", 3, b"ab\ncd\n", "3 true");
        check(b"ab", 2, b"ab\ncd\n", "3 true");
        check(b"ab", 2, b"ab\r\n", "4 false");
        check(
            b"ab\n",
            3,
            b"a\n",
            "in (port `p`) has 2 bytes, but the state has read 3 of it; give the file back as it was, or begin again with another --state directory",
        );
        check(
            b"ab\n",
            3,
            b"xb\ncd\n",
            "in (port `p`) is not what the state has read: the bytes in front of byte 3 (line 2) are others; give the file back as it was, or begin again with another --state directory",
        );
        check(
            b"ab",
            2,
            b"abc\n",
            "line 1 of in (port `p`) had no line end when it was read as a record, and has been continued since; put a line end at byte 2 of the file, so that the rest is a line of its own, or begin again with another --state directory",
        );
    }
}
