//! Workers that have ended: what that means for the split, and for the run.

use streams_core::protocol::ids::Split;
use streams_core::protocol::worker::Stop;

use super::{Fleet, Lane};
use crate::error::{Error, ErrorKind};
use crate::run::note;

impl Fleet {
    /// A worker has ended.
    pub(super) fn stopped(&mut self, split: Split, why: &Stop) -> Result<(), Error> {
        let place = self.row.place(split);
        self.runs.remove(&split);
        // One that has panicked is replaced at once, and its split stays here.
        if !matches!(why, Stop::Panicked(_)) {
            let now_ms = self.now_ms();
            self.instance.stopped(split, why, now_ms);
        }
        let is_shared = self.remote.is_shared();
        let text = match why {
            Stop::Released => {
                self.forget(split);
                return Ok(());
            }
            Stop::Panicked(culprit) => return self.panicked(split, culprit.clone()),
            Stop::Flawed(culprit) => return self.flawed(split, culprit),
            Stop::Fenced if is_shared => {
                note(&format!("{place}: another instance has taken it over"));
                self.forget(split);
                return Ok(());
            }
            // It is taken again, when the server answers.
            Stop::Away(text) if is_shared => {
                self.fails(split, Lane::State, text);
                return Ok(());
            }
            Stop::Unclean if is_shared && self.group.has_others() => {
                note(&format!(
                    "{place}: another program, other settings or other rows of a fixed table ran here and have not been ended; waiting for an instance of that"
                ));
                return Ok(());
            }
            Stop::Unclean => format!(
                "{place}: another program, other settings or other rows of a fixed table ran here and were not ended by a signal, so that what had begun is not complete; start the program that ran before, as it ran, once more and end it with SIGTERM, then start this one"
            ),
            Stop::Fenced | Stop::Away(_) => format!("{place}: another process uses the same state"),
            Stop::Gap(gap) => format!("{place}: {gap}"),
            Stop::Lost { offset, min, max } => format!(
                "{place}: the state stands at offset {offset}, and the queue holds {min} to {max}, or another message there; the topic was made anew, lost its end, or its retention passed the job: begin anew with another --group and another --state directory, or bring the messages back"
            ),
            Stop::Broken(text) => format!("{place}: {text}"),
        };
        Err(ErrorKind::Broker(text).into())
    }

    /// A copy of what is another instance's now is of no use. At the end of the process it stays: the next start may
    /// get the same splits.
    fn forget(&self, split: Split) {
        if let Some(copy) = self.copy.as_ref().filter(|_| !self.leaving) {
            copy.forget(split);
        }
    }
}

/// Where the job's code has panicked the corrected program is other code, which must not go on in the middle.
pub(super) fn other_code(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Panic(text) => {
            let text = text.lines().next().unwrap_or_default();
            ErrorKind::Panic(format!(
                "{text}\nthe last commit stands, but a corrected program is other code and goes on only where a run was ended by a signal: begin with another --state directory, or take the record out of the topic's way with --start"
            ))
            .into()
        }
        _ => error,
    }
}
