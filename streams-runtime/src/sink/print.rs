//! Standard output as a sink, for people and pipes: at least once, because what was printed stays printed.
//!
//! On a terminal every batch is shown at once; into a pipe it is gathered and leaves at the latest with the
//! next checkpoint interval or pause. A reader that goes away ends the job quietly.

use std::fs::File;
use std::io::{self, IsTerminal};

use super::{Start, Writer};
use crate::error::Error;
use crate::format::Format;

/// Opens standard output for the output `label`.
pub(crate) fn open(label: String, port: &str, format: Format, start: &Start) -> Result<Writer, Error> {
    let mut len = 0;
    if let Start::Resume(mark) = start {
        if mark.url != "print:" || mark.format != format.name() {
            return Err(Error::usage(format!(
                "{label}: the state has written {} ({}), not print: ({}); keep the output, or begin again with another --state directory",
                mark.url,
                mark.format,
                format.name()
            )));
        }
        len = mark.len;
    }
    let stdout = io::stdout();
    // A file of its own: the standard library's handle would flush at each line end.
    let target = handle(&stdout)
        .map_err(|error| Error::usage(format!("{label}: standard output is closed: {error}")))?;
    Ok(Writer {
        label,
        port: port.to_owned(),
        url: "print:".to_owned(),
        format,
        target,
        path: None,
        prompt: stdout.is_terminal(),
        buffer: Vec::new(),
        len,
        remedy: "run it again".to_owned(),
    })
}

#[cfg(unix)]
fn handle(stdout: &io::Stdout) -> io::Result<File> {
    use std::os::fd::AsFd as _;
    Ok(File::from(stdout.as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn handle(stdout: &io::Stdout) -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    Ok(File::from(stdout.as_handle().try_clone_to_owned()?))
}
