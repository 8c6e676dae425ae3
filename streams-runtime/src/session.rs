//! Everything around the machines of a run: inputs, outputs, bad records, counters, checkpoints, progress.
//!
//! The drivers decide what is fed when; a session keeps what has been taken so far, and makes snapshots of
//! it. It knows no machine.

use std::time::{Duration, Instant};

use streams_core::batch::RawBatch;
use streams_core::effects::{Effects, Gauges};
use streams_core::store::Delta;

use crate::codec::Shapes;
use crate::commit::Committer;
use crate::deadletter::{Bad, DeadLetters, OnBad};
use crate::error::{Error, ErrorKind};
use crate::progress::{Progress, Sight};
use crate::report::Counters;
use crate::signals::StopFlag;
use crate::sink::Writer;
use crate::snapshot::{Snapshot, SourceMark};
use crate::source::file::absolute;
use crate::source::{Inputs, Position};

/// How far the machines have been fed from one port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fed {
    pub(crate) position: Position,
    pub(crate) ended: bool,
}

/// A run, without its machines.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) inputs: Inputs,
    pub(crate) shapes: std::sync::Arc<Shapes>,
    pub(crate) outputs: Vec<Writer>,
    pub(crate) letters: DeadLetters,
    pub(crate) on_bad: OnBad,
    /// By port; inputs may have been read further.
    pub(crate) fed: Vec<Fed>,
    /// The port whose turn it is behind what was fed.
    pub(crate) turn: usize,
    pub(crate) counters: Counters,
    /// The last snapshot; the next one is made from it.
    pub(crate) snapshot: Snapshot,
    /// The counters of the last snapshot whose commit was begun, and of the last one known to be durable.
    pub(crate) begun: Counters,
    pub(crate) durable: Counters,
    pub(crate) committer: Option<Committer>,
    pub(crate) interval: Duration,
    pub(crate) last_checkpoint: Instant,
    pub(crate) changed: bool,
    pub(crate) started: Instant,
    pub(crate) progress: Progress,
    pub(crate) stop: StopFlag,
}

impl Session {
    /// Writes what a machine produced; `source` is the port and batch that its rejects refer to.
    pub(crate) fn settle(
        &mut self,
        effects: &mut Effects,
        source: Option<(usize, &RawBatch)>,
    ) -> Result<(), Error> {
        for (index, (writer, out)) in self.outputs.iter_mut().zip(&mut effects.outputs).enumerate() {
            if let Some(error) = out.error.take() {
                return Err(Error::output(format!(
                    "a record for {} (port `{}`) cannot be encoded: {error}",
                    writer.url, writer.port
                )));
            }
            if !out.bytes.is_empty() {
                if writer.is_empty()
                    && let Some(header) = self.shapes.output(index).header.get()
                {
                    writer.write(header, 0)?;
                }
                writer.write(&out.bytes, out.records)?;
                out.bytes.clear();
            }
            self.counters.records_out += std::mem::take(&mut out.records);
        }
        self.counters.late += std::mem::take(&mut effects.late);
        self.counters.repeated += std::mem::take(&mut effects.repeated);
        if !effects.rejects.is_empty() {
            let source =
                source.and_then(|(port, batch)| self.inputs.ports.get(port).map(|input| (input, batch)));
            for reject in effects.rejects.drain(..) {
                if let Some(text) = self.letters.take(&Bad::new(&reject, source), &mut self.counters)? {
                    self.progress.say(&text);
                }
            }
        }
        Ok(())
    }

    /// The machines have taken `records` more of this port, up to `position`.
    pub(crate) fn took(&mut self, port: usize, position: Position, records: usize) {
        self.changed = true;
        self.counters.records_in += records as u64;
        if let Some(fed) = self.fed.get_mut(port) {
            fed.position = position;
        }
    }

    /// The machines have been told that this port has ended.
    pub(crate) fn ended(&mut self, port: usize) {
        self.changed = true;
        let end = self.inputs.ports.get(port).map(|input| input.position);
        if let (Some(fed), Some(position)) = (self.fed.get_mut(port), end) {
            *fed = Fed { position, ended: true };
        }
        if let Some(text) = self.inputs.ports.get(port).and_then(crate::source::Input::left) {
            self.progress.say(&format!("note: {text}"));
        }
    }

    /// The ports that the machines have been told of.
    pub(crate) fn ended_ports(&self) -> Vec<usize> {
        self.fed.iter().enumerate().filter(|(_, fed)| fed.ended).map(|(port, _)| port).collect()
    }

    /// Nothing comes at the moment: what has been gathered is shown.
    pub(crate) fn idle(&mut self) -> Result<(), Error> {
        self.outputs.iter_mut().chain(&mut self.letters.writer).try_for_each(Writer::flush)
    }

    /// Whether it is time for a checkpoint. Without a state this is the time to show what has been gathered.
    pub(crate) fn is_checkpoint_due(&mut self) -> Result<bool, Error> {
        if self.last_checkpoint.elapsed() < self.interval {
            return Ok(false);
        }
        match &mut self.committer {
            Some(committer) => {
                let busy = committer.is_busy()?;
                if !busy {
                    self.durable = self.begun;
                }
                Ok(!busy && self.changed)
            }
            None => {
                self.last_checkpoint = Instant::now();
                self.idle()?;
                Ok(false)
            }
        }
    }

    /// Begins to commit what has been fed and written so far, with the machines' changes in `delta`.
    pub(crate) fn checkpoint(&mut self, delta: Delta) -> Result<(), Error> {
        self.checkpoint_as(self.snapshot.id + 1, delta)
    }

    /// The same, as the snapshot with this id.
    pub(crate) fn checkpoint_as(&mut self, id: u64, mut delta: Delta) -> Result<(), Error> {
        self.idle()?;
        self.last_checkpoint = Instant::now();
        let Some(committer) = &mut self.committer else { return Ok(()) };
        // One at a time: the counter below counts on the one before.
        committer.wait()?;
        self.durable = self.begun;
        let mut counters = self.counters;
        counters.checkpoints = id;
        counters.elapsed_ms += elapsed_ms(self.started);
        let sources = self.inputs.ports.iter().zip(&self.fed).enumerate().map(|(index, (input, fed))| {
            let tail = input.file.as_ref().map_or(Ok(0), |file| file.tail_hash(fed.position.offset));
            let tail =
                tail.map_err(|error| Error::source(format!("cannot read {} again: {error}", input.shown())))?;
            Ok(SourceMark {
                port: input.port.to_owned(),
                path: input.path.as_deref().map(absolute),
                offset: fed.position.offset,
                line: fed.position.line,
                tail,
                ended: fed.ended,
                unread: if fed.ended { input.unread } else { 0 },
                columns: self.shapes.input(index).column_names(),
            })
        });
        self.snapshot.sources = sources.collect::<Result<_, Error>>()?;
        self.snapshot.id = id;
        self.snapshot.turn = self.turn;
        self.snapshot.outputs = self.outputs.iter().map(Writer::mark).collect();
        self.snapshot.dead_letters = self.letters.writer.as_ref().map(Writer::mark);
        self.snapshot.counters = counters;
        self.snapshot.committed_ms = Some(crate::clock::now_ms());
        self.snapshot.save(&mut delta)?;
        let writers = self.outputs.iter().chain(&self.letters.writer);
        let outputs = writers.map(Writer::to_sync).collect::<Result<Vec<_>, _>>()?;
        committer.begin(delta, outputs.into_iter().flatten().collect())?;
        self.begun = counters;
        self.changed = false;
        Ok(())
    }

    /// Waits until everything that was begun is durable.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        self.idle()?;
        self.committer.as_mut().map_or(Ok(()), Committer::wait)?;
        self.durable = self.begun;
        Ok(())
    }

    /// Makes known to the state which outputs there are, where it does not know all of them; so that a crash at any
    /// later moment finds how much of each belongs to it.
    pub(crate) fn declare_outputs(&mut self) -> Result<(), Error> {
        let outputs: Vec<_> = self.outputs.iter().map(Writer::mark).collect();
        let letters = self.letters.writer.as_ref().map(Writer::mark);
        if outputs == self.snapshot.outputs && letters == self.snapshot.dead_letters {
            return Ok(());
        }
        self.checkpoint_as(self.snapshot.id, Delta::new())?;
        self.wait()
    }

    /// What stands after a failure: with a state its last checkpoint, else what the outputs have taken.
    pub(crate) fn standing(&mut self) -> Counters {
        // What has been gathered is good; an output that fails now has told so, or will at the next run.
        let _ = self.idle();
        let mut counters = self.totals();
        if let Some(committer) = &mut self.committer {
            if committer.is_sound() {
                self.durable = self.begun;
            }
            return Counters { elapsed_ms: counters.elapsed_ms, ..self.durable };
        }
        counters.records_out = self.outputs.iter().map(Writer::written).sum();
        if let Some(letters) = &self.letters.writer {
            counters.dead_letter = letters.written();
        }
        counters
    }

    /// The counters with the time of this run, and the checkpoints begun.
    pub(crate) fn totals(&self) -> Counters {
        let mut counters = self.counters;
        counters.elapsed_ms += elapsed_ms(self.started);
        counters.checkpoints = self.snapshot.id;
        counters
    }

    /// Draws the progress, when it is time.
    pub(crate) fn show(&mut self, observe: impl FnOnce() -> Gauges) {
        if self.progress.is_due() {
            let (read, total_bytes) = self.inputs.progress();
            let fed: u64 = self.fed.iter().map(|fed| fed.position.offset).sum();
            let sight = Sight {
                records: self.counters.records_in,
                bytes: if total_bytes.is_some() { fed } else { read },
                total_bytes,
                watermark_ms: observe().watermark_ms,
            };
            self.progress.draw(&sight);
        }
    }

    /// The error of `--on-bad stop`, after everything before the bad record has been committed.
    pub(crate) fn stopped(&self, place: &str, reason: &str, shown: &str) -> Error {
        let remedy = if self.committer.is_some() {
            "everything before it is committed; correct it and run again with the same --state directory, or run with --on-bad dead-letter or skip"
        } else {
            "everything before it has been written; correct it, or run with --on-bad dead-letter or skip"
        };
        let shown = if shown.is_empty() { String::new() } else { format!(": {shown}") };
        ErrorKind::BadRecord(format!("stopped at a bad record: {place}: {reason}{shown}\n{remedy}")).into()
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
