//! What came of actions, told to the workers.

use std::time::Instant;

use streams_core::protocol::ids::Split;
use streams_core::protocol::worker::{CommitOutcome, Event, Failed, LocalDone, Poll};

use super::{Fleet, Lane, Note, What};
use crate::cluster::copy::Copied;
use crate::cluster::io::Polled;
use crate::cluster::remote::Remote;
use crate::error::Error;
use crate::run::note;

/// Fewer rows are loaded before anybody has read that they are.
const MANY_ROWS: usize = 1_000;

impl Fleet {
    /// Hears what came of an action.
    pub(super) fn hear(&mut self, note: Note) -> Result<(), Error> {
        let Note { split, life, begun, what } = note;
        let what = match what {
            What::Looked(result) => return self.looked(result),
            What::Members(members) => return self.members(members),
            What::Seen(holder) => return self.seen(split, holder),
            what => what,
        };
        if self.runs.get(&split).is_none_or(|run| run.life != life) {
            return Ok(());
        }
        match what {
            What::Raised(result) => match self.settle((split, begun), Lane::State, result)? {
                Some(Some(token)) => {
                    if let Some(run) = self.runs.get_mut(&split) {
                        run.token = Some(token);
                    }
                    self.tell(split, Event::Raised(token))
                }
                Some(None) => self.tell(split, Event::Refused),
                None => self.tell(split, Event::Failed(Failed::Raise)),
            },
            What::Row(result) => match self.settle((split, begun), Lane::State, result)? {
                Some(row) => self.tell(split, Event::Row(row)),
                None => self.tell(split, Event::Failed(Failed::Read)),
            },
            What::Copied(result) => match result.map_err(Error::state)? {
                Copied::Marks(marks) => self.tell(split, Event::Local(LocalDone::Marks(marks))),
                Copied::Done => self.tell(split, Event::Local(LocalDone::Done)),
            },
            What::Rows if self.copy.is_some() => {
                let Some(copy) = self.copy.take() else { return Ok(()) };
                // Order: as below.
                let actions = copy.with_store(|store| self.step(split, Event::Local(LocalDone::Rows(store))));
                self.copy = Some(copy);
                self.perform_all(split, actions?)
            }
            What::Rows => {
                let Remote::Own(rows) = self.remote.clone() else { return Ok(()) };
                // Order: the store is free again before the actions begin, some of which write to it.
                let actions =
                    rows.with_store(|store| self.step(split, Event::Local(LocalDone::Rows(store))))?;
                self.perform_all(split, actions)
            }
            What::Loaded(token) => {
                let backing = self.remote.backing(split, token);
                self.tell(split, Event::Loaded(backing))
            }
            What::Paged(result) => match self.settle((split, begun), Lane::State, result)? {
                Some(Some((rows, more))) => {
                    self.has_loaded(split, rows.len(), more);
                    self.tell(split, Event::Paged { rows: &rows, more })
                }
                Some(None) => self.tell(split, Event::Fenced),
                None => self.tell(split, Event::Failed(Failed::Page)),
            },
            What::Observed(result) => match self.settle((split, begun), Lane::State, result)? {
                Some((token, version)) => self.tell(split, Event::Observed { token, version }),
                None => self.tell(split, Event::Failed(Failed::Observe)),
            },
            What::RolledBack => self.tell(split, Event::Committed(CommitOutcome::RolledBack)),
            What::Committed(result) => match self.settle((split, begun), Lane::State, result)? {
                Some(outcome) => self.tell(split, Event::Committed(outcome)),
                // Nothing was written; it is done again behind a pause.
                None => self.tell(split, Event::Committed(CommitOutcome::RolledBack)),
            },
            What::Resolved(result) => match self.settle((split, begun), Lane::Source, result)? {
                Some(offset) => self.tell(split, Event::Resolved(offset)),
                None => self.tell(split, Event::Failed(Failed::Resolve)),
            },
            What::Tailed(target, result) => {
                match self.settle((split, begun), Lane::Target(target), result)? {
                    Some(last) => self.tell(split, Event::Tailed { target, last }),
                    None => self.tell(split, Event::Failed(Failed::Tail(target))),
                }
            }
            What::Sent(target, result) => {
                let lane = Lane::Target(target);
                let offset = match self.settle((split, begun), lane, result)? {
                    Some(Err(reason)) => {
                        let place = self.row.place(split);
                        self.fails(split, lane, &format!("{place}: a message may not be stored: {reason}"));
                        None
                    }
                    stored => stored.and_then(Result::ok),
                };
                self.tell(split, Event::Sent { target, offset })
            }
            What::Polled { number, .. } if self.runs.get(&split).is_none_or(|run| run.pulls != number) => {
                Ok(())
            }
            What::Polled { offset, polled, .. } => match self.settle((split, begun), Lane::Source, polled)? {
                None => self.tell(split, Event::Failed(Failed::Poll)),
                Some(Polled { messages, min, max, before, fresh }) => {
                    let next = offset + messages.len() as u64;
                    if let (Some(run), Some(last)) = (self.runs.get_mut(&split), messages.last()) {
                        run.known = Some((next, last.id));
                    }
                    let clock_ms = crate::clock::now_ms();
                    let poll = Poll { messages: &messages, min, max, before, closed: false, fresh, clock_ms };
                    self.feed(split, poll, next < max)
                }
            },
            What::Looked(_) | What::Members(_) | What::Seen(_) => Ok(()),
        }
    }

    /// Feeds a worker, and lets those go on that waited for it.
    fn feed(&mut self, split: Split, poll: Poll<'_>, has_more: bool) -> Result<(), Error> {
        let actions = self.step(split, Event::Polled(poll))?;
        if let Some(run) = self.runs.get_mut(&split) {
            run.pace.read(run.worker.event_time_ms(), has_more);
        }
        self.perform_all(split, actions)?;
        self.align();
        Ok(())
    }

    /// Rows have been read in the background: what takes a while is told.
    fn has_loaded(&mut self, split: Split, rows: usize, more: bool) {
        let Some(run) = self.runs.get_mut(&split) else { return };
        let (sum, since) = run.loading.get_or_insert((0, Instant::now()));
        *sum += rows;
        let (sum, elapsed) = (*sum, since.elapsed());
        if !more {
            run.loading = None;
            if sum >= MANY_ROWS {
                let seconds = elapsed.as_secs_f64();
                note(&format!(
                    "{}: its state has been loaded, {sum} rows in {seconds:.1} s",
                    self.row.place(split)
                ));
            }
        }
    }
}
