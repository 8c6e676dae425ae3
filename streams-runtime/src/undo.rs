//! Takes a machine back to where it was before a batch, for `--on-bad stop`: a bad record may be found behind
//! operators that have acted on it already, and nothing of it may stay.
//!
//! Costs a checkpoint into memory for each batch and a copy of the state; used under that policy only.

use streams_core::machine::Machine;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store};

use crate::driver::guard;
use crate::error::Error;
use crate::job::JobHandle;

/// Whether what a machine changes is committed at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    Some,
    None,
}

/// The state of one machine at the last [`Undo::mark`].
#[derive(Debug)]
pub(crate) struct Undo {
    prefix: [u8; 3],
    saved: MemoryStore,
    since_commit: Option<Delta>,
}

impl Undo {
    /// Begins with the rows under `prefix`. Without commits nothing is gathered for one.
    pub(crate) fn new(store: &dyn Store, prefix: [u8; 3], commits: Commits) -> Result<Self, Error> {
        let mut rows = Delta::new();
        let scanned = store.scan(&prefix, &mut |key, value| {
            rows.put(key, value);
            Ok(())
        });
        scanned.map_err(Error::state)?;
        let mut saved = MemoryStore::new();
        saved.commit(&rows).map_err(Error::state)?;
        Ok(Self { prefix, saved, since_commit: (commits == Commits::Some).then(Delta::new) })
    }

    /// Remembers the machine as it is.
    pub(crate) fn mark(&mut self, machine: &mut dyn Machine) -> Result<(), Error> {
        let delta = saved(machine, &self.prefix)?;
        self.saved.commit(&delta).map_err(Error::state)?;
        if let Some(since_commit) = &mut self.since_commit {
            since_commit.append(&delta);
        }
        Ok(())
    }

    /// A machine as it was at the last mark, when the inputs in `ended` had ended and those in `idle` were idle.
    pub(crate) fn restore(
        &self,
        job: &JobHandle,
        ended: &[usize],
        idle: &[usize],
    ) -> Result<Box<dyn Machine>, Error> {
        job.machine_at(&self.saved, &self.prefix, ended, idle)
    }

    /// Everything that changed since the last commit.
    pub(crate) fn take(&mut self) -> Delta {
        self.since_commit.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// What a machine must commit: its changes since the last commit, marked where marks are kept.
pub(crate) fn changes(
    machine: &mut dyn Machine,
    undo: Option<&mut Undo>,
    prefix: &[u8],
) -> Result<Delta, Error> {
    match undo {
        Some(undo) => {
            undo.mark(machine)?;
            Ok(undo.take())
        }
        None => saved(machine, prefix),
    }
}

/// What changed in the machine since the last call. Encoding keys and accumulators is the job's code, too.
fn saved(machine: &mut dyn Machine, prefix: &[u8]) -> Result<Delta, Error> {
    let mut delta = Delta::new();
    let place = || "a checkpoint".to_owned();
    guard(&place, || machine.checkpoint(&mut delta, prefix))?.map_err(Error::state)?;
    Ok(delta)
}
