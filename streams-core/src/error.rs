//! The errors of this crate, one small enum per boundary.

use thiserror::Error;

/// State could not be read, decoded or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateError {
    /// The store behind the state failed; the text says which file or server and why.
    #[error("{0}")]
    Store(String),
    /// A row does not decode.
    #[error("state of operator `{operator}` cannot be decoded: {source}")]
    Decode {
        /// The operator's id.
        operator: String,
        /// What is wrong with the bytes.
        source: CodecError,
    },
    /// A value does not encode.
    #[error("state of operator `{operator}` cannot be encoded: {source}")]
    Encode {
        /// The operator's id.
        operator: String,
        /// What the value's type refused.
        source: CodecError,
    },
    /// The state was written by a job of another shape.
    #[error("{0}")]
    Mismatch(String),
    /// Somebody else owns the split by now.
    #[error("the split has another owner by now")]
    Fenced,
    /// The server that has the state could not be reached.
    #[error("{0}")]
    Away(String),
}

/// Bytes that are no value, or a value that has no bytes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes end before the value does.
    #[error("the bytes end at {at}, inside {what}")]
    Truncated {
        /// Position of the end.
        at: usize,
        /// What was being read.
        what: &'static str,
    },
    /// A byte or a length that cannot stand where it stands.
    #[error("{what} at byte {at}")]
    Invalid {
        /// Its position.
        at: usize,
        /// What is wrong.
        what: String,
    },
    /// Written by a newer format.
    #[error("format version {found}; this build reads up to {known}")]
    Version {
        /// What the bytes say.
        found: u8,
        /// The newest known here.
        known: u8,
    },
    /// Serde's or the type's own message.
    #[error("{0}")]
    Message(String),
}

/// A job could not be built from its function: a setting or a run-time window size is wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting's text is not a value of its type.
    #[error("setting `{name}`: {reason}")]
    Setting {
        /// The parameter of the job function.
        name: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// A window whose size comes from a setting is impossible.
    #[error("window of `{job}`: {reason}")]
    Window {
        /// The job.
        job: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// A number of an aggregate that comes from a setting is impossible.
    #[error("aggregate of `{job}`: {reason}")]
    Argument {
        /// The job.
        job: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// A port cannot be connected as asked.
    #[error("port `{port}`: {reason}")]
    Port {
        /// The port's name.
        port: String,
        /// What is wrong and what is expected.
        reason: String,
    },
}
