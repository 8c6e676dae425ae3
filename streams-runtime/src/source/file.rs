//! A file as a source: bounded, readable again from any record, and recognized when it comes back.
//!
//! A snapshot keeps how far the file was read, with a hash over the last bytes in front of that place. A file
//! that is shorter, or has other bytes there, is another file and is refused; one that is longer has grown.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::split::Splitter;
use super::{Input, Position, reader};
use crate::codec::Shapes;
use crate::error::Error;
use crate::format::Format;
use crate::snapshot::SourceMark;
use crate::url::Url;
use crate::wording::grouped;

/// How many bytes in front of the position are hashed.
const TAIL_BYTES: u64 = 4096;

/// The hash over the last bytes in front of `offset`.
pub(crate) fn tail_hash(path: &Path, offset: u64) -> std::io::Result<u64> {
    tail_of(&mut File::open(path)?, offset)
}

fn tail_of(file: &mut File, offset: u64) -> std::io::Result<u64> {
    let length = offset.min(TAIL_BYTES);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset - length))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(xxh3_64(&bytes))
}

/// Opens the file of the port with this index and starts to read it, from `mark` on where there is one.
///
/// Called after the machine was built, which settles the format.
pub(crate) fn open(
    port: &'static str,
    index: usize,
    url: &Url,
    shapes: &Arc<Shapes>,
    mark: Option<&SourceMark>,
) -> Result<Input, Error> {
    let path = url.path().unwrap_or(Path::new(""));
    let failed = |error: std::io::Error| {
        Error::source(format!("cannot read {} (port `{port}`): {error}", path.display()))
    };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let regular = metadata.is_file();
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
        if let Some(mark) = mark {
            recognize(&mut file, path, port, metadata.len(), mark)?;
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
        position = behind_line_end(&mut file, path, port, position)?;
    }
    file.seek(SeekFrom::Start(position.offset))
        .or_else(|error| if regular { Err(error) } else { Ok(0) })
        .map_err(failed)?;

    let (ours, theirs) = reader();
    let mut splitter = Splitter::new(Box::new(file), shape.format(), !regular, position);
    if position.offset == 0 && shape.format() == Format::Csv {
        if let Some(columns) = splitter.header().map_err(failed)? {
            let _ = shape.columns.set(columns);
        }
        position = splitter.position();
    }
    std::thread::spawn(move || theirs.run(splitter));
    let seen_end = mark.is_some_and(|mark| mark.ended);
    Ok(Input {
        port,
        url: url.as_str().to_owned(),
        path: Some(path.to_owned()),
        total_bytes: regular.then_some(metadata.len()),
        position,
        ended: seen_end && metadata.len() <= position.offset,
        grown: seen_end && metadata.len() > position.offset,
        live: !regular,
        reader: ours,
    })
}

/// Whether this is the file that the state was reading.
fn recognize(file: &mut File, path: &Path, port: &str, length: u64, mark: &SourceMark) -> Result<(), Error> {
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
    let found =
        tail_of(file, mark.offset).map_err(|error| Error::source(format!("cannot read {shown}: {error}")))?;
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
fn behind_line_end(file: &mut File, path: &Path, port: &str, position: Position) -> Result<Position, Error> {
    let failed = |error: std::io::Error| Error::source(format!("cannot read {}: {error}", path.display()));
    let mut near = Vec::new();
    file.seek(SeekFrom::Start(position.offset - 1)).map_err(failed)?;
    file.take(3).read_to_end(&mut near).map_err(failed)?;
    match near.as_slice() {
        [b'\n', ..] | [_] => Ok(position),
        [_, b'\n', ..] => Ok(Position { offset: position.offset + 1, ..position }),
        [_, b'\r', b'\n'] => Ok(Position { offset: position.offset + 2, ..position }),
        _ => Err(Error::source(format!(
            "the last line of {} (port `{port}`, line {}) had no line end when it was read as a record, and has been continued since; \
             write whole lines, or begin again with another --state directory",
            path.display(),
            grouped(position.line.saturating_sub(1))
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
            tail: tail_hash(path, offset).unwrap(),
            ended: true,
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
        let shown = match open("p", 0, &url, &shapes, Some(&mark)) {
            Ok(input) => format!("{} {}", input.position.offset, input.grown),
            Err(error) => error.to_string().replace(&path.display().to_string(), "in"),
        };
        assert_eq!(shown, expect);
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
            "the last line of in (port `p`, line 1) had no line end when it was read as a record, and has been continued since; write whole lines, or begin again with another --state directory",
        );
    }
}
