//! Why a job did not run to its end, with the exit code that says whose turn it is.
//!
//! Texts are for the person at the terminal: what is wrong, where, and what to do about it. Nothing here is
//! printed; [`crate::main()`] does that.

use std::fmt;

use crate::wording::lines;

/// A job that could not start, or that failed on the way.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Error(Box<ErrorKind>);

/// What kind of failure it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    /// The command line, the environment or the files they name are wrong; every mistake, one line each.
    #[error("{}", lines(.0))]
    Usage(Vec<String>),
    /// An input could not be read, or is not what it was when the state was written.
    #[error("{0}")]
    Source(String),
    /// An output could not be written.
    #[error("{0}")]
    Output(String),
    /// The state could not be read, written or understood.
    #[error("{0}")]
    State(String),
    /// The brokers refused something, or lost something.
    #[cfg_attr(
        not(any(feature = "rocketmq", feature = "mysql")),
        expect(dead_code, reason = "such a build reaches no servers")
    )]
    #[error("{0}")]
    Broker(String),
    /// `--on-bad stop` met a bad record.
    #[error("{0}")]
    BadRecord(String),
    /// The job's own code panicked.
    #[error("{0}")]
    Panic(String),
    /// Whoever read the printed results went away; not a failure.
    #[error("the reader of standard output has gone")]
    ReaderGone,
}

impl Error {
    /// What kind of failure it was.
    pub(crate) fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// 0 when it is no failure, 1 when the job failed, 2 when it was asked for something impossible.
    pub(crate) fn exit_code(&self) -> u8 {
        match *self.0 {
            ErrorKind::ReaderGone => 0,
            ErrorKind::Usage(_) => 2,
            _ => 1,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        ErrorKind::Usage(vec![message.into()]).into()
    }

    pub(crate) fn source(message: impl Into<String>) -> Self {
        ErrorKind::Source(message.into()).into()
    }

    pub(crate) fn output(message: impl Into<String>) -> Self {
        ErrorKind::Output(message.into()).into()
    }

    pub(crate) fn state(message: impl fmt::Display) -> Self {
        ErrorKind::State(message.to_string()).into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}
