//! The store that the instances of a job share: who owns which split, what each split has committed, and the
//! record of the job itself.
//!
//! What such a store must do is the protocol's (rules 11, 13, 14 and 19): raise a split's token in a statement of
//! its own, commit by compare-and-set on token and version, compare the token in every read of rows. It decides
//! nothing and repeats nothing; whoever asks is told truthfully what came of it.

pub mod mysql;

use crate::error::{Error, ErrorKind};

/// Why the store did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It could not be reached or cannot do it now: ask again later. The text says where and why.
    #[error("{0}")]
    Away(String),
    /// Asking again does not help: somebody has to do what the text says.
    #[error("{0}")]
    Fatal(String),
}

/// For who does not ask again.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Away(text) => ErrorKind::Broker(text).into(),
            Failure::Fatal(text) => Self::state(text),
        }
    }
}
