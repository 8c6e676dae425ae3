//! The job's code panics: the worker that ran into it is replaced by one that knows the place.

use streams_core::protocol::ids::Split;
use streams_core::protocol::worker::Culprit;

use super::Fleet;
use crate::error::{Error, ErrorKind};
use crate::run::note;

/// What is known of panics.
#[derive(Debug, Default)]
pub(super) struct Panics {
    /// The last place of each split.
    pub(super) culprits: std::collections::BTreeMap<Split, Culprit>,
    /// Why the run ends, once every split has been left clean.
    pub(super) flaw: Option<Error>,
}

impl Fleet {
    /// On a record: it goes the way of a bad record. While windows fire: the next worker ends clean in front of it.
    pub(super) fn panicked(&mut self, split: Split, culprit: Culprit) -> Result<(), Error> {
        self.panics.culprits.insert(split, culprit);
        self.take(split)
    }

    /// A split has been left clean in front of a panic that is no record's fault; all others are left now.
    pub(super) fn flawed(&mut self, split: Split, culprit: &Culprit) -> Result<(), Error> {
        let text = format!(
            "the job's code panicked: {}; while windows fired, at offset {} of {}\neverything in front of it is committed, and the queues are left clean: correct the code and run it again",
            culprit.error,
            culprit.offset,
            self.row.place(split)
        );
        if self.panics.flaw.is_none() {
            note("the job's code panicked while windows fired; ending");
            self.panics.flaw = Some(ErrorKind::Panic(text).into());
        }
        self.leave()
    }

    /// Hands all splits over, and ends when that is done.
    pub(super) fn leave(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.leaving, true) {
            return Ok(());
        }
        let splits: Vec<Split> = self.runs.keys().copied().collect();
        splits.into_iter().try_for_each(|split| self.revoke(split))
    }
}
