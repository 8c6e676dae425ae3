//! The file sink: exactly once with a state, because what lies behind the committed length is cut off.
//!
//! Its bytes are made durable before the snapshot that counts them is committed; so after any crash the file
//! has at least the committed length. A shorter one was changed by someone else and is refused.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::path::Path;

use super::{Start, Writer};
use crate::error::Error;
use crate::format::Format;
use crate::source::file::absolute;
use crate::wording::grouped;

/// Checks that `path` is what `start` expects of it, and touches nothing.
pub(crate) fn check(label: &str, path: &Path, format: Format, start: &Start) -> Result<(), Error> {
    const ANEW: &str = "begin again with another --state directory";
    let shown = path.display();
    let committed = match start {
        Start::Resume(mark) => {
            start.is_of(label, &url(path), &shown.to_string(), format)?;
            mark.len
        }
        Start::Overwrite | Start::New => 0,
    };
    match (std::fs::metadata(path), start) {
        (Ok(metadata), _) if !metadata.is_file() => Ok(()),
        (Ok(metadata), Start::New) if metadata.len() > 0 => Err(Error::usage(format!(
            "{label}: {shown} has {} bytes, and the state has not written to it; move the file away, or give the --state directory that it belongs to",
            grouped(metadata.len())
        ))),
        (Ok(metadata), _) if metadata.len() < committed => Err(Error::output(format!(
            "{label}: {shown} has {} bytes, but the state has committed {}; put the file back, or {ANEW}",
            grouped(metadata.len()),
            grouped(committed)
        ))),
        (Err(_), _) if committed > 0 => Err(Error::output(format!(
            "{label}: {shown} is missing, and the state has committed {} bytes of it; put the file back, or {ANEW}",
            grouped(committed)
        ))),
        _ => Ok(()),
    }
}

fn url(path: &Path) -> String {
    format!("file:{}", absolute(path))
}

/// Opens `path` for the output `label`, cut to where `start` says.
pub(crate) fn open(
    label: String,
    port: &str,
    path: &Path,
    format: Format,
    start: &Start,
) -> Result<Writer, Error> {
    check(&label, path, format, start)?;
    let shown = path.display();
    let unwritable =
        |error: std::io::Error| Error::usage(format!("{label}: {shown} cannot be written: {error}"));
    let before = std::fs::metadata(path);
    let (missing, special) = (before.is_err(), before.is_ok_and(|metadata| !metadata.is_file()));
    let mut file =
        OpenOptions::new().write(true).create(!special).truncate(false).open(path).map_err(unwritable)?;
    let len = if let Start::Resume(mark) = start { mark.len } else { 0 };
    if !special {
        cut(&mut file, len).map_err(unwritable)?;
        if matches!(start, Start::New) || missing {
            // A file that a power loss takes out of its directory is shorter than any snapshot says.
            sync_parent(path).map_err(unwritable)?;
        }
    }
    Ok(Writer {
        label,
        port: port.to_owned(),
        url: url(path),
        format,
        target: file,
        path: (!special).then(|| path.to_owned()),
        prompt: false,
        buffer: Vec::new(),
        len,
        gathered: 0,
        written: 0,
        remedy: "run it again".to_owned(),
    })
}

fn cut(file: &mut File, len: u64) -> std::io::Result<()> {
    file.set_len(len)?;
    file.seek(SeekFrom::Start(len)).map(drop)
}

#[cfg(unix)]
fn sync_parent(path: &Path) -> std::io::Result<()> {
    // The file may be at the end of a link in another directory.
    let path = path.canonicalize()?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

// Elsewhere a directory cannot be opened, and its entries are journaled with the file.
#[cfg(not(unix))]
fn sync_parent(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, start: impl FnOnce(&Writer) -> Start, expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("out"), dir.path().join("other"));
        let sample = open("--to".to_owned(), "o", &path, Format::Json, &Start::Overwrite).unwrap();
        let start = start(&sample);
        std::fs::remove_file(&path).unwrap();
        if let Some(before) = before {
            std::fs::write(&path, before).unwrap();
        }
        let there = path.exists();
        let shown = match open("--to".to_owned(), "o", &path, Format::Json, &start) {
            Ok(mut writer) => {
                writer.write(b"new", 1).and_then(|()| writer.flush()).unwrap();
                std::fs::read_to_string(&path).unwrap()
            }
            Err(error) => {
                assert_eq!(path.exists(), there, "nothing is created for a complaint");
                error.to_string().replace(&path.display().to_string(), "OUT")
            }
        };
        assert_eq!(shown.replace(&other.display().to_string(), "OTHER"), expect);
    }

    fn resume(len: u64) -> impl FnOnce(&Writer) -> Start {
        move |writer| {
            let mut mark = writer.mark();
            mark.len = len;
            Start::Resume(mark)
        }
    }

    #[test]
    fn starts() {
        check(Some("old old"), |_| Start::Overwrite, "new");
        check(None, |_| Start::New, "new");
        check(Some(""), |_| Start::New, "new");
        check(
            Some("old"),
            |_| Start::New,
            "--to: OUT has 3 bytes, and the state has not written to it; move the file away, or give the --state directory that it belongs to",
        );
        check(Some("keep|drop"), resume(5), "keep|new");
        check(
            Some("kee"),
            resume(5),
            "--to: OUT has 3 bytes, but the state has committed 5; put the file back, or begin again with another --state directory",
        );
        check(
            None,
            resume(5),
            "--to: OUT is missing, and the state has committed 5 bytes of it; put the file back, or begin again with another --state directory",
        );
        check(None, resume(0), "new");
        check(
            Some("x"),
            |writer| {
                let mut mark = writer.mark();
                mark.url = "file:/elsewhere".to_owned();
                Start::Resume(mark)
            },
            "--to: the state has written file:/elsewhere (json), not OUT (json); keep the output, or begin again with another --state directory",
        );
    }
}
