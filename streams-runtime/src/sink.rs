//! Where results go: writers that know how many bytes belong to which snapshot.
//!
//! A file's rule is in [`file`], standard output's in [`print`]. Encoding is not done here but by the ports of
//! the machine ([`crate::codec`]).

pub(crate) mod file;
pub(crate) mod print;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::error::{Error, ErrorKind};
use crate::format::Format;
use crate::progress::Results;
use crate::snapshot::OutputMark;

/// Bytes gathered before they are handed to the system.
const BUFFER_BYTES: usize = 64 << 10;

/// Under what circumstances an output is opened.
#[derive(Debug, Clone)]
pub(crate) enum Start {
    /// No state: what is there is overwritten.
    Overwrite,
    /// A state without a snapshot: what is there must be empty.
    New,
    /// A snapshot: what is there is cut to its length.
    Resume(OutputMark),
}

impl Start {
    /// Whether a snapshot that wrote somewhere wrote there.
    fn is_of(&self, label: &str, url: &str, shown: &str, format: Format) -> Result<(), Error> {
        match self {
            Self::Resume(mark) if mark.url != url || mark.format != format.name() => {
                Err(Error::usage(format!(
                    "{label}: the state has written {} ({}), not {shown} ({}); keep the output, or begin again with another --state directory",
                    mark.url,
                    mark.format,
                    format.name()
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The writer of one output.
#[derive(Debug)]
pub(crate) struct Writer {
    /// What it is called in messages: a port or `--dead-letter`.
    pub(crate) label: String,
    pub(crate) port: String,
    pub(crate) url: String,
    format: Format,
    target: File,
    /// The file that can be cut and made durable; absent for standard output and devices.
    path: Option<PathBuf>,
    prompt: bool,
    buffer: Vec<u8>,
    len: u64,
    /// Records in the buffer, and those that the system has taken from it.
    gathered: u64,
    written: u64,
    /// What to do when a write fails.
    remedy: String,
}

impl Writer {
    /// Bytes written so far, buffered ones included.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn set_remedy(&mut self, remedy: String) {
        self.remedy = remedy;
    }

    /// Whether a crash cannot double what is written here.
    pub(crate) fn is_exact(&self) -> bool {
        self.path.is_some()
    }

    /// Where people see what is written.
    pub(crate) fn results(&self) -> Results {
        if self.prompt { Results::OnTerminal } else { Results::Elsewhere }
    }

    /// Records that the system has taken in this run.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Takes the bytes of so many whole records.
    pub(crate) fn write(&mut self, bytes: &[u8], records: u64) -> Result<(), Error> {
        self.buffer.extend_from_slice(bytes);
        self.gathered += records;
        self.len += bytes.len() as u64;
        if self.prompt || self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.target.write_all(&self.buffer);
        self.buffer.clear();
        let gathered = std::mem::take(&mut self.gathered);
        written.map_err(|error| self.failed(&error))?;
        self.written += gathered;
        Ok(())
    }

    /// What a commit must make durable before it counts on it; the text names it.
    pub(crate) fn to_sync(&self) -> Result<Option<(String, File)>, Error> {
        let Some(path) = &self.path else { return Ok(None) };
        let file = self.target.try_clone().map_err(|error| self.failed(&error))?;
        Ok(Some((path.display().to_string(), file)))
    }

    /// What a snapshot remembers.
    pub(crate) fn mark(&self) -> OutputMark {
        OutputMark {
            port: self.port.clone(),
            url: self.url.clone(),
            format: self.format.name().to_owned(),
            len: self.len,
        }
    }

    fn failed(&self, error: &io::Error) -> Error {
        // Who reads what is printed may stop reading; a pipe that was named as an output is to take everything.
        if error.kind() == io::ErrorKind::BrokenPipe && self.url == print::URL {
            return ErrorKind::ReaderGone.into();
        }
        Error::output(format!(
            "cannot write {} ({}): {error}; {}",
            self.shown(),
            self.label,
            remedy(error, &self.remedy)
        ))
    }

    fn shown(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => self.url.strip_prefix("file:").unwrap_or("standard output").to_owned(),
        }
    }
}

/// What helps against a failed write; `again` says how to go on afterwards.
pub(crate) fn remedy(error: &io::Error, again: &str) -> String {
    let full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    );
    if full { format!("{again} once there is room") } else { format!("{again} once that is mended") }
}
