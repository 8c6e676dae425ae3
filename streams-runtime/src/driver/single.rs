//! The whole job as one machine on the main thread.

use streams_core::batch::{Batch, RawBatch, Taken};
use streams_core::effects::{Effects, Reject};
use streams_core::machine::Machine;

use super::spill::Spill;
use super::{End, failed, guard, lines_of};
use crate::clock::Clock;
use crate::deadletter::{Bad, OnBad};
use crate::error::Error;
use crate::job::JobHandle;
use crate::session::Session;
use crate::snapshot::machine_prefix;
use crate::source::{Chunk, Next, Position};
use crate::undo::{Undo, changes};

/// One machine with its way back.
pub(crate) struct Single<'a> {
    pub(crate) job: &'a JobHandle,
    pub(crate) session: &'a mut Session,
    pub(crate) machine: Box<dyn Machine>,
    pub(crate) undo: Option<Undo>,
    /// Where the state may be larger than memory.
    pub(crate) spill: Option<Spill>,
    pub(crate) clock: Clock,
    /// What time it was when the last batch came in.
    pub(crate) read_ms: Option<i64>,
}

impl std::fmt::Debug for Single<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Single").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Single<'_> {
    /// Runs to the end of the input, or until a signal.
    pub(crate) fn run(mut self) -> Result<End, Error> {
        let mut effects = Effects::default();
        let end = loop {
            if self.session.stop.is_set() {
                break End::Signal;
            }
            match self.session.inputs.next()? {
                Next::Chunk(port, chunk) => self.chunk(port, chunk, &mut effects)?,
                Next::End(port) => self.end(port, &mut effects)?,
                Next::Quiet(port) => self.rest(port, &mut effects)?,
                Next::Awake(port) => self.machine.active(port),
                Next::Idle => {
                    self.tick(&mut effects)?;
                    self.session.idle()?;
                }
                Next::Done => break End::Input,
            }
            if self.spill.as_ref().is_some_and(Spill::is_due) {
                self.give_up()?;
            } else if self.session.is_checkpoint_due()? {
                self.checkpoint()?;
            }
            let machine = &mut self.machine;
            self.session.show(|| machine.observe());
        };
        if self.session.changed {
            self.checkpoint()?;
        }
        self.session.wait()?;
        Ok(end)
    }

    fn checkpoint(&mut self) -> Result<(), Error> {
        if self.session.committer.is_none() {
            return Ok(());
        }
        let delta = changes(self.machine.as_mut(), self.undo.as_mut(), &machine_prefix(0))?;
        self.session.checkpoint(delta)
    }

    /// Commits what the machine has, and goes on with one that reads it when it is needed.
    fn give_up(&mut self) -> Result<(), Error> {
        self.checkpoint()?;
        // Order: what is not durable yet is in no store, so it must stay in memory.
        self.session.wait()?;
        let (ended, idle) = (self.session.ended_ports(), self.session.inputs.idle_ports());
        if let Some(spill) = &mut self.spill {
            self.machine = self.job.machine_over(spill.again(), &machine_prefix(0), &ended, &idle)?;
        }
        Ok(())
    }

    fn chunk(&mut self, port: usize, chunk: Chunk, effects: &mut Effects) -> Result<(), Error> {
        let stop_on_reject = self.session.on_bad == OnBad::Stop;
        if let Some(undo) = &mut self.undo {
            undo.mark(self.machine.as_mut())?;
        }
        self.read_ms = self.clock.read();
        self.machine.refresh();
        let taken = self.feed(port, &chunk.batch, stop_on_reject, effects)?;
        if let Taken::Until(index) = taken {
            return Err(self.stop(port, &chunk.batch, index, effects)?);
        }
        self.session.settle(effects, Some((port, &chunk.batch)))?;
        self.session.took(port, chunk.end, chunk.batch.records.len());
        if let Some(spill) = &mut self.spill {
            spill.took(chunk.batch.bytes.len());
        }
        self.session.turn = self.session.inputs.turn;
        self.session.inputs.recycle(port, chunk.batch);
        Ok(())
    }

    fn feed(
        &mut self,
        port: usize,
        batch: &RawBatch,
        stop_on_reject: bool,
        effects: &mut Effects,
    ) -> Result<Taken, Error> {
        let input = self.session.inputs.ports.get(port);
        let place = || lines_of(&input.map(crate::source::Input::shown).unwrap_or_default(), batch);
        let (machine, read_ms) = (&mut self.machine, self.read_ms);
        let taken = guard(&place, || {
            if let Some(now_ms) = read_ms {
                machine.clock(port, now_ms);
            }
            let taken = machine.feed(port, Batch::Raw { batch, from: 0, stop_on_reject });
            machine.drain(effects);
            taken
        })?;
        failed(machine.as_mut())?;
        Ok(taken)
    }

    /// Time goes on while nothing comes in: windows may fire.
    fn tick(&mut self, effects: &mut Effects) -> Result<(), Error> {
        let Some(now_ms) = self.clock.tick() else { return Ok(()) };
        let ports = 0..self.session.fed.len();
        let idle = self.session.inputs.idle_ports();
        let place = "windows of processing time";
        self.between(place, effects, &idle, |machine| ports.for_each(|port| machine.clock(port, now_ms)))?;
        self.session.changed = true;
        Ok(())
    }

    /// An input has had nothing for so long that others do not wait for it; windows may fire.
    fn rest(&mut self, port: usize, effects: &mut Effects) -> Result<(), Error> {
        let mut idle = self.session.inputs.idle_ports();
        idle.retain(|idle| *idle != port);
        let place = format!("what waited for {}", self.shown(port));
        self.between(&place, effects, &idle, |machine| machine.idle(port))?;
        self.session.changed = true;
        Ok(())
    }

    fn end(&mut self, port: usize, effects: &mut Effects) -> Result<(), Error> {
        let idle = self.session.inputs.idle_ports();
        let place = format!("the end of {}", self.shown(port));
        self.between(&place, effects, &idle, |machine| machine.end(port))?;
        self.session.ended(port);
        Ok(())
    }

    fn shown(&self, port: usize) -> String {
        self.session.inputs.ports.get(port).map(crate::source::Input::shown).unwrap_or_default()
    }

    /// Does what no record does, and writes what came of it; or goes back to in front of that, when the inputs in
    /// `idle` were idle, where something failed and the job is to stop.
    fn between(
        &mut self,
        place: &str,
        effects: &mut Effects,
        idle: &[usize],
        call: impl FnOnce(&mut dyn Machine),
    ) -> Result<(), Error> {
        if let Some(undo) = &mut self.undo {
            undo.mark(self.machine.as_mut())?;
        }
        let machine = self.machine.as_mut();
        guard(&|| place.to_owned(), || {
            call(machine);
            machine.drain(effects);
        })?;
        failed(self.machine.as_mut())?;
        let rejected = self.session.on_bad == OnBad::Stop && !effects.rejects.is_empty();
        if let (true, Some(undo)) = (rejected, &self.undo) {
            self.machine = undo.restore(self.job, &self.session.ended_ports(), idle)?;
            let rejects = std::mem::take(&mut effects.rejects);
            return Err(self.refuse(&rejects, None)?);
        }
        self.session.settle(effects, None)?;
        self.session.turn = self.session.inputs.turn;
        Ok(())
    }

    /// Commits everything in front of the bad record with this index; the result is the error to end with.
    fn stop(
        &mut self,
        port: usize,
        batch: &RawBatch,
        index: usize,
        effects: &mut Effects,
    ) -> Result<Error, Error> {
        let rejects = std::mem::take(&mut effects.rejects);
        if let Some(undo) = &self.undo {
            // An operator may have acted on the record before another one refused it.
            let idle = self.session.inputs.idle_ports();
            self.machine = undo.restore(self.job, &self.session.ended_ports(), &idle)?;
            *effects = Effects::default();
            let mut before = batch.clone();
            before.records.truncate(index);
            self.feed(port, &before, false, effects)?;
        }
        self.session.settle(effects, None)?;
        if let Some(record) = batch.records.get(index) {
            self.session.took(port, Position { offset: record.offset, line: record.line }, index);
            // The rest of this batch comes next, so it is still this port's turn.
            self.session.turn = port;
        }
        self.refuse(&rejects, Some((port, batch)))
    }

    fn refuse(&mut self, rejects: &[Reject], fed: Option<(usize, &RawBatch)>) -> Result<Error, Error> {
        self.checkpoint()?;
        self.session.wait()?;
        let fed =
            fed.and_then(|(port, batch)| self.session.inputs.ports.get(port).map(|input| (input, batch)));
        let reject = rejects.first().expect("a batch is taken in part only because of a reject");
        let bad = Bad::new(reject, fed);
        Ok(self.session.stopped(&bad.place(), &bad.reason(), &bad.shown()))
    }
}
