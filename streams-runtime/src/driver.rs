//! What moves batches through machines: one machine on the main thread ([`single`]), or several that share
//! the job by key ([`workers`]).
//!
//! Neither lets the clock decide about data; time decides only when a checkpoint is taken.

mod round;
pub(crate) mod shuffle;
pub(crate) mod single;
pub(crate) mod spill;
pub(crate) mod worker;
pub(crate) mod workers;

use std::panic::{AssertUnwindSafe, catch_unwind};

use streams_core::batch::RawBatch;
use streams_core::error::StateError;
use streams_core::machine::Machine;
use streams_core::protocol::worker::panic_text;

use crate::error::{Error, ErrorKind};
use crate::wording::{counted, grouped};

/// How a driver came to its end without failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All input was taken.
    Input,
    /// A signal asked for it.
    Signal,
}

/// Calls into the job's code; a panic becomes the job's failure, with the place of the batch that was running.
pub(crate) fn guard<T>(place: &dyn Fn() -> String, call: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = panic_text(&*payload);
        ErrorKind::Panic(format!(
            "the job's code panicked: {text}; while it worked on {}\nthe last checkpoint stands; correct the code and run it again",
            place()
        ))
        .into()
    })
}

/// Whether a machine needed something that could not be read; what it has made since means nothing.
pub(crate) fn failed(machine: &mut dyn Machine) -> Result<(), Error> {
    match machine.failure() {
        None => Ok(()),
        Some(StateError::Away(why)) => Err(Error::source(format!(
            "a table that the job looks rows up in does not answer: {why}\nthe last checkpoint stands; run it again when the table is there"
        ))),
        Some(error) => Err(Error::state(format!("{error}; the last checkpoint stands"))),
    }
}

/// The lines of a batch, for a person.
pub(crate) fn lines_of(shown: &str, batch: &RawBatch) -> String {
    match (batch.records.first(), batch.records.last()) {
        (Some(first), Some(last)) if first.line == last.line => {
            format!("{shown} line {}", grouped(first.line))
        }
        (Some(first), Some(last)) => format!(
            "{shown} lines {} to {} ({})",
            grouped(first.line),
            grouped(last.line),
            counted(batch.records.len() as u64, "record")
        ),
        _ => format!("the end of {shown}"),
    }
}
