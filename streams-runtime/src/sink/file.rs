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

/// Opens `path` for the output `label`.
pub(crate) fn open(
    label: String,
    port: &str,
    path: &Path,
    format: Format,
    start: &Start,
) -> Result<Writer, Error> {
    let shown = path.display();
    let unwritable =
        |error: std::io::Error| Error::usage(format!("{label}: {shown} cannot be written: {error}"));
    let url = format!("file:{}", absolute(path));
    let special = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    let mut file =
        OpenOptions::new().write(true).create(!special).truncate(false).open(path).map_err(unwritable)?;
    let length = if special { 0 } else { file.metadata().map_err(unwritable)?.len() };
    let mut len = 0;
    match start {
        Start::New if length > 0 => {
            return Err(Error::usage(format!(
                "{label}: {shown} has {} bytes, and the state is new; move the file away, or give the --state directory that it belongs to",
                grouped(length)
            )));
        }
        Start::Overwrite | Start::New => {}
        Start::Resume(mark) => {
            if mark.url != url || mark.format != format.name() {
                return Err(Error::usage(format!(
                    "{label}: the state has written {} ({}), not {shown} ({}); keep the output, or begin again with another --state directory",
                    mark.url,
                    mark.format,
                    format.name()
                )));
            }
            if !special && length < mark.len {
                return Err(Error::output(format!(
                    "{label}: {shown} has {} bytes, but the state has committed {}; put the file back, or begin again with another --state directory",
                    grouped(length),
                    grouped(mark.len)
                )));
            }
            len = mark.len;
        }
    }
    if !special {
        cut(&mut file, len).map_err(unwritable)?;
        if matches!(start, Start::New) {
            // A file that a power loss takes out of its directory is shorter than any snapshot says.
            sync_parent(path).map_err(unwritable)?;
        }
    }
    Ok(Writer {
        label,
        port: port.to_owned(),
        url,
        format,
        target: file,
        path: (!special).then(|| path.to_owned()),
        prompt: false,
        buffer: Vec::new(),
        len,
        remedy: "run it again".to_owned(),
    })
}

fn cut(file: &mut File, len: u64) -> std::io::Result<()> {
    file.set_len(len)?;
    file.seek(SeekFrom::Start(len)).map(drop)
}

#[cfg(unix)]
fn sync_parent(path: &Path) -> std::io::Result<()> {
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
        let shown = match open("--to".to_owned(), "o", &path, Format::Json, &start) {
            Ok(mut writer) => {
                writer.write(b"new").and_then(|()| writer.flush()).unwrap();
                std::fs::read_to_string(&path).unwrap()
            }
            Err(error) => error.to_string().replace(&path.display().to_string(), "OUT"),
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
            "--to: OUT has 3 bytes, and the state is new; move the file away, or give the --state directory that it belongs to",
        );
        check(Some("keep|drop"), resume(5), "keep|new");
        check(
            Some("kee"),
            resume(5),
            "--to: OUT has 3 bytes, but the state has committed 5; put the file back, or begin again with another --state directory",
        );
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
