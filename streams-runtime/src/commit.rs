//! Makes snapshots durable on a thread of its own, so that records are processed meanwhile.
//!
//! At most one commit is under way. Its order is fixed: the outputs' bytes first, then the store's batch that
//! counts them; a crash between the two leaves bytes that the next start cuts off.

use std::fs::File;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use streams_core::store::{Delta, Store};

use crate::error::Error;

/// One snapshot on its way.
#[derive(Debug)]
struct Commit {
    delta: Delta,
    outputs: Vec<(String, File)>,
}

/// The committing thread.
#[derive(Debug)]
pub(crate) struct Committer {
    work: Option<SyncSender<Commit>>,
    done: Receiver<Result<(), Error>>,
    thread: Option<JoinHandle<()>>,
    busy: bool,
    failed: bool,
}

impl Committer {
    /// Takes the store over.
    pub(crate) fn start(mut store: Box<dyn Store>) -> Self {
        let (work, todo) = sync_channel::<Commit>(1);
        let (finished, done) = sync_channel(1);
        let thread = std::thread::spawn(move || {
            for commit in todo {
                if finished.send(run(store.as_mut(), &commit)).is_err() {
                    return;
                }
            }
        });
        Self { work: Some(work), done, thread: Some(thread), busy: false, failed: false }
    }

    /// Whether a commit is still under way; an error is that of the last one.
    pub(crate) fn is_busy(&mut self) -> Result<bool, Error> {
        if self.busy {
            match self.done.try_recv() {
                Ok(result) => {
                    self.busy = false;
                    self.failed |= result.is_err();
                    result?;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Err(gone()),
            }
        }
        Ok(self.busy)
    }

    /// Waits for the commit under way.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.busy) {
            return Ok(());
        }
        let result = self.done.recv().map_err(|_| gone()).flatten();
        self.failed |= result.is_err();
        result
    }

    /// Whether everything that was begun has become durable, once that is known.
    pub(crate) fn is_sound(&mut self) -> bool {
        self.wait().is_ok() && !self.failed
    }

    /// Begins a commit, behind the one under way.
    pub(crate) fn begin(&mut self, delta: Delta, outputs: Vec<(String, File)>) -> Result<(), Error> {
        self.wait()?;
        let work = self.work.as_ref().expect("the sender lives as long as the committer");
        work.send(Commit { delta, outputs }).map_err(|_| gone())?;
        self.busy = true;
        Ok(())
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.work = None;
        // What is under way is finished before the process ends: half a commit would be no harm, but a whole
        // one saves the work.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::state("the thread that commits snapshots has ended unexpectedly; the last checkpoint stands")
}

fn run(store: &mut dyn Store, commit: &Commit) -> Result<(), Error> {
    // Order: outputs before the store, so that no snapshot counts bytes that a power loss could take.
    for (path, file) in &commit.outputs {
        file.sync_data().map_err(|error| {
            let again = "the last checkpoint stands; run it again with the same --state directory";
            Error::output(format!(
                "cannot make {path} durable: {error}; {}",
                crate::sink::remedy(&error, again)
            ))
        })?;
    }
    store.commit(&commit.delta).map_err(|error| {
        Error::state(format!("checkpoint failed: {error}; the last checkpoint stands, run it again with the same --state directory"))
    })
}
