//! The whole job as one machine on the main thread.

use streams_core::batch::{Batch, RawBatch, Taken};
use streams_core::effects::{Effects, Reject};
use streams_core::machine::Machine;

use super::{End, guard, lines_of};
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
                Next::Idle => self.session.idle()?,
                Next::Done => break End::Input,
            }
            if self.session.is_checkpoint_due()? {
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

    fn chunk(&mut self, port: usize, chunk: Chunk, effects: &mut Effects) -> Result<(), Error> {
        let stop_on_reject = self.session.on_bad == OnBad::Stop;
        if let Some(undo) = &mut self.undo {
            undo.mark(self.machine.as_mut())?;
        }
        let taken = self.feed(port, &chunk.batch, stop_on_reject, effects)?;
        if let Taken::Until(index) = taken {
            return Err(self.stop(port, &chunk.batch, index, effects)?);
        }
        self.session.settle(effects, Some((port, &chunk.batch)))?;
        self.session.took(port, chunk.end, chunk.batch.records.len());
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
        let machine = &mut self.machine;
        guard(&place, || {
            let taken = machine.feed(port, Batch::Raw { batch, from: 0, stop_on_reject });
            machine.drain(effects);
            taken
        })
    }

    fn end(&mut self, port: usize, effects: &mut Effects) -> Result<(), Error> {
        if let Some(undo) = &mut self.undo {
            undo.mark(self.machine.as_mut())?;
        }
        let input = self.session.inputs.ports.get(port);
        let place = || format!("the end of {}", input.map(crate::source::Input::shown).unwrap_or_default());
        let machine = &mut self.machine;
        guard(&place, || {
            machine.end(port);
            machine.drain(effects);
        })?;
        let rejected = self.session.on_bad == OnBad::Stop && !effects.rejects.is_empty();
        if let (true, Some(undo)) = (rejected, &self.undo) {
            // What fails at the end of the input goes back to in front of the end.
            self.machine = undo.restore(self.job, &self.session.ended_ports())?;
            let rejects = std::mem::take(&mut effects.rejects);
            return Err(self.refuse(&rejects, None)?);
        }
        self.session.settle(effects, None)?;
        self.session.ended(port);
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
            self.machine = undo.restore(self.job, &self.session.ended_ports())?;
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
