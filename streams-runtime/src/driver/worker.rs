//! One of several machines that share a job by key, on a thread of its own.
//!
//! All workers go through the same rounds. In a round each feeds one batch (or none) to its machine; then,
//! shuffle by shuffle from the one furthest upstream, each sends every other one what is theirs and takes
//! what it gets in the order of the senders. So what a machine sees depends on the batches and on the number of
//! workers, never on how threads are scheduled. With several inputs the order of the senders turns by one from
//! round to round, so that every worker reads every input and a union's event time moves in each of them.

use std::sync::mpsc::{Receiver, Sender};

use streams_core::batch::{Batch, Taken};
use streams_core::effects::{Effects, Gauges};
use streams_core::machine::Machine;
use streams_core::store::Delta;

use super::round::{Rest, Share};
use super::shuffle::{Orphaned, Shuffle};
use super::{failed, guard};
use crate::error::Error;
use crate::job::{JobHandle, dry};
use crate::undo::{Undo, changes};

/// What a worker is told to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// A round; of the batch only the records in front of the limit, where there is one. In front of it the ports
    /// in `rests` turn idle or active, behind it those in `ends` end. `first` is the worker that has the first batch.
    Round {
        share: Option<(Share, Option<usize>)>,
        now_ms: Option<i64>,
        rests: Vec<Rest>,
        ends: Vec<usize>,
        first: usize,
    },
    /// The round in which everything ends; `ends` are the ports that are still open.
    End { ends: Vec<usize> },
    /// Give what changed since the last commit.
    Checkpoint,
    /// Go back to in front of the last round, in which these ports had ended.
    Undo { ended: Vec<usize> },
}

/// What a worker tells.
#[derive(Debug)]
pub(crate) enum Told {
    Round {
        effects: Box<Effects>,
        taken: Taken,
        gauges: Gauges,
    },
    Changes(Delta),
    Undone,
    Failed(Error),
    /// Another worker is gone, and that one knows why.
    Orphaned,
}

/// A worker.
pub(crate) struct Worker {
    pub(crate) job: JobHandle,
    pub(crate) machine: Box<dyn Machine>,
    pub(crate) undo: Option<Undo>,
    pub(crate) prefix: [u8; 3],
    pub(crate) stop_on_reject: bool,
    pub(crate) shuffle: Shuffle,
    /// Ports that have ended.
    pub(crate) ended: Vec<usize>,
    /// Ports that are idle, and those that were in front of the last round.
    pub(crate) idle: Vec<usize>,
    pub(crate) idle_before: Vec<usize>,
}

/// What is the same for all workers in one round.
struct Turn<'a> {
    now_ms: Option<i64>,
    rests: &'a [Rest],
    ends: &'a [usize],
    /// Everything ends.
    last: bool,
    first: usize,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// Why a round was not finished.
enum Broken {
    Failed(Error),
    Orphaned,
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Orphaned> for Broken {
    fn from(Orphaned: Orphaned) -> Self {
        Self::Orphaned
    }
}

impl Worker {
    /// Follows orders until there are no more or one cannot be carried out.
    pub(crate) fn run(mut self, orders: &Receiver<Order>, told: &Sender<Told>) {
        for order in orders {
            let result = match order {
                Order::Round { share, now_ms, rests, ends, first } => {
                    let turn = Turn { now_ms, rests: &rests, ends: &ends, last: false, first };
                    self.round(share.as_ref(), &turn)
                }
                Order::End { ends } => {
                    self.round(None, &Turn { now_ms: None, rests: &[], ends: &ends, last: true, first: 0 })
                }
                Order::Checkpoint => {
                    let delta = changes(self.machine.as_mut(), self.undo.as_mut(), &self.prefix);
                    delta.map(Told::Changes).map_err(Broken::from)
                }
                Order::Undo { ended } => self.undo(&ended).map_err(Broken::from),
            };
            let (message, more) = match result {
                Ok(message) => (message, true),
                Err(Broken::Failed(error)) => (Told::Failed(error), false),
                Err(Broken::Orphaned) => (Told::Orphaned, false),
            };
            if told.send(message).is_err() || !more {
                return;
            }
        }
    }

    fn undo(&mut self, ended: &[usize]) -> Result<Told, Error> {
        if let Some(undo) = &self.undo {
            self.machine = undo.restore(&self.job, ended, &self.idle_before)?;
            self.ended = ended.to_vec();
            self.idle.clone_from(&self.idle_before);
        }
        self.shuffle.clear();
        Ok(Told::Undone)
    }

    fn round(&mut self, share: Option<&(Share, Option<usize>)>, turn: &Turn<'_>) -> Result<Told, Broken> {
        if let Some(undo) = &mut self.undo {
            undo.mark(self.machine.as_mut())?;
        }
        let mut effects = Box::<Effects>::default();
        let place =
            share.map_or_else(|| "what other workers read".to_owned(), |(share, _)| share.place.clone());
        let place = || place.clone();
        self.idle_before.clone_from(&self.idle);
        self.machine.refresh();
        let Self { machine, idle, stop_on_reject, .. } = self;
        let stop_on_reject = *stop_on_reject;
        let taken = guard(&place, || {
            if let Some(now_ms) = turn.now_ms {
                (0..machine.n_sources()).for_each(|port| machine.clock(port, now_ms));
            }
            turn.rests.iter().for_each(|rest| match *rest {
                Rest::Idle(port) => {
                    idle.push(port);
                    machine.idle(port);
                }
                Rest::Active(port) => {
                    idle.retain(|idle| *idle != port);
                    machine.active(port);
                }
            });
            let taken = match share {
                Some((share, limit)) => feed(machine.as_mut(), share, *limit, stop_on_reject),
                None => Taken::All,
            };
            turn.ends.iter().for_each(|&port| machine.end(port));
            machine.drain(&mut effects);
            taken
        })?;
        let n_exchanges = self.machine.n_exchanges();
        self.shuffle.gather(&mut effects, n_exchanges);
        let dry = self.dried_up(turn);
        for exchange in (0..n_exchanges).rev() {
            self.exchange(exchange, dry.contains(&exchange), turn.first, &mut effects, &place)?;
        }
        failed(self.machine.as_mut())?;
        let gauges = self.machine.observe();
        Ok(Told::Round { effects, taken, gauges })
    }

    /// The shuffles to which nothing comes any more behind this round.
    fn dried_up(&mut self, turn: &Turn<'_>) -> Vec<usize> {
        if turn.last {
            return (0..self.machine.n_exchanges()).collect();
        }
        if turn.ends.is_empty() {
            return Vec::new();
        }
        let before = dry(self.machine.as_mut(), &self.ended);
        self.ended.extend(turn.ends);
        let now = dry(self.machine.as_mut(), &self.ended);
        now.into_iter().filter(|exchange| !before.contains(exchange)).collect()
    }

    fn exchange(
        &mut self,
        exchange: usize,
        end: bool,
        first: usize,
        effects: &mut Effects,
        place: &dyn Fn() -> String,
    ) -> Result<(), Broken> {
        self.shuffle.send(exchange)?;
        let machine = self.machine.as_mut();
        self.shuffle.receive(exchange, first, machine, |feed| guard(place, feed).map_err(Broken::from))?;
        let entry = self.machine.n_sources() + exchange;
        let machine = &mut self.machine;
        guard(place, || {
            if end {
                machine.end(entry);
            }
            machine.drain(effects);
        })?;
        self.shuffle.gather(effects, exchange);
        Ok(())
    }
}

fn feed(machine: &mut dyn Machine, share: &Share, limit: Option<usize>, stop_on_reject: bool) -> Taken {
    let batch = &share.chunk.batch;
    match limit {
        None => machine.feed(share.port, Batch::Raw { batch, from: 0, stop_on_reject }),
        Some(limit) => {
            let mut before = batch.clone();
            before.records.truncate(limit);
            machine.feed(share.port, Batch::Raw { batch: &before, from: 0, stop_on_reject })
        }
    }
}
