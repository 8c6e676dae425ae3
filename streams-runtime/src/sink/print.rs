//! Standard output as a sink, for people and pipes: at least once, because what was printed stays printed.
//!
//! On a terminal every batch is shown at once; into a pipe it is gathered and leaves at the latest with the
//! next checkpoint interval or pause. A reader that goes away ends the job quietly.

use std::fs::File;
use std::io::{self, IsTerminal};

use super::{Start, Writer};
use crate::error::Error;
use crate::format::Format;

/// As it stands in a snapshot.
pub(crate) const URL: &str = "print:";

/// Checks that `start` means standard output.
pub(crate) fn check(label: &str, format: Format, start: &Start) -> Result<(), Error> {
    start.is_of(label, URL, URL, format)
}

/// Opens standard output for the output `label`.
pub(crate) fn open(label: String, port: &str, format: Format, start: &Start) -> Result<Writer, Error> {
    check(&label, format, start)?;
    let len = if let Start::Resume(mark) = start { mark.len } else { 0 };
    let stdout = io::stdout();
    // A file of its own: the standard library's handle would flush at each line end.
    let target = handle(&stdout).map_err(|error| {
        Error::usage(format!("{label}: standard output cannot be used: {error}; write --to file:PATH"))
    })?;
    if is_closed(&target) {
        return Err(Error::usage(format!(
            "{label}: standard output is closed; write --to file:PATH, or > /dev/null to throw the results away"
        )));
    }
    Ok(Writer {
        label,
        port: port.to_owned(),
        url: URL.to_owned(),
        format,
        target,
        path: None,
        prompt: stdout.is_terminal(),
        buffer: Vec::new(),
        len,
        gathered: 0,
        written: 0,
        remedy: "run it again".to_owned(),
    })
}

#[cfg(unix)]
fn handle(stdout: &io::Stdout) -> io::Result<File> {
    use std::os::fd::AsFd as _;
    Ok(File::from(stdout.as_fd().try_clone_to_owned()?))
}

/// Whether this stands for a standard output that was closed when the program began: Rust puts the null device in
/// its place, open for reading as well, which no redirection of a shell does.
#[cfg(unix)]
fn is_closed(target: &File) -> bool {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let (Ok(ours), Ok(null)) = (target.metadata(), std::fs::metadata("/dev/null")) else { return false };
    let is_null = ours.file_type().is_char_device() && ours.rdev() == null.rdev();
    is_null && io::Read::read(&mut &*target, &mut [0]).is_ok()
}

#[cfg(not(unix))]
fn is_closed(_target: &File) -> bool {
    false
}

#[cfg(windows)]
fn handle(stdout: &io::Stdout) -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    Ok(File::from(stdout.as_handle().try_clone_to_owned()?))
}
