//! The instance's copy of the rows of its splits, beside a remote store that has the truth (rule 16).
//!
//! One thread does all steps, in the order in which they were asked for: so what an ended worker has left to do is
//! done before the next one for the same split begins.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use streams_core::error::StateError;
use streams_core::protocol::ids::Split;
use streams_core::protocol::worker::{Local, rows_of};
use streams_core::store::Delta;
use streams_core::store::local::{LocalCommits, Marks};

use super::random_number;
use crate::error::Error;
use crate::run::note;
use crate::store::INSTANCE;

/// What came of a step.
pub(super) enum Copied {
    Marks(Marks),
    Done,
}

type Job = Box<dyn FnOnce(&mut dyn LocalCommits) + Send>;

/// The copy.
pub(super) struct LocalCopy {
    store: Arc<Mutex<Box<dyn LocalCommits>>>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl LocalCopy {
    /// Begins with the store of a directory.
    pub(super) fn new(store: Box<dyn LocalCommits>) -> Result<Self, Error> {
        let store = Arc::new(Mutex::new(store));
        let (jobs, todo) = channel::<Job>();
        let shared = Arc::clone(&store);
        let thread = std::thread::Builder::new().name("copy".to_owned()).spawn(move || {
            for job in todo {
                let mut store = shared.lock().unwrap_or_else(PoisonError::into_inner);
                job(&mut **store);
            }
        });
        let thread = thread.map_err(|error| {
            Error::state(format!("the thread of the local copy cannot be started: {error}"))
        })?;
        Ok(Self { store, jobs: Some(jobs), thread: Some(thread) })
    }

    /// The name of this instance, the same at every start: what its copy is worth depends on whose splits it gets.
    pub(super) fn name(&self) -> Result<String, Error> {
        let mut store = self.lock();
        if let Some(name) = store.get(INSTANCE).map_err(Error::state)? {
            return Ok(String::from_utf8_lossy(&name).into_owned());
        }
        let name = format!("{:016x}", random_number());
        let mut delta = Delta::new();
        delta.put(INSTANCE, name.as_bytes());
        store.commit(&delta).map_err(Error::state)?;
        Ok(name)
    }

    /// Does a step, and tells what came of it.
    pub(super) fn step(
        &self,
        split: Split,
        step: Local,
        tell: impl FnOnce(Result<Copied, StateError>) + Send + 'static,
    ) {
        self.run(Box::new(move |store| tell(done(store, split, step))));
    }

    /// Removes what is here of a split that is not this instance's any more.
    pub(super) fn forget(&self, split: Split) {
        self.run(Box::new(move |store| {
            let rows = rows_of(split);
            if store.marks(&rows).is_ok_and(|marks| marks != Marks::default())
                && let Err(error) = store.forget(&rows, &rows)
            {
                // It is of no use and does no harm: when the split comes back it is compared, and replaced.
                note(&format!("what is left of a split that has gone cannot be removed: {error}"));
            }
        }));
    }

    /// Lets `f` read all rows.
    pub(super) fn with_store<R>(&self, f: impl FnOnce(&dyn LocalCommits) -> R) -> R {
        f(&**self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn LocalCommits>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread lives as long as the sender.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for LocalCopy {
    /// What was asked for is done.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn done(store: &mut dyn LocalCommits, split: Split, step: Local) -> Result<Copied, StateError> {
    let rows = rows_of(split);
    match step {
        Local::Marks => return store.marks(&rows).map(Copied::Marks),
        // They are read where they are needed.
        Local::Rows => {}
        Local::Prepare { id, delta } => store.prepare(&rows, id, &delta)?,
        Local::Promote { id } => store.promote(&rows, id)?,
        Local::Discard { id } => store.discard(&rows, id)?,
        Local::Save { id, page, load } => store.load(&rows, id, &page, &load)?,
        Local::Forget => store.forget(&rows, &rows)?,
    }
    Ok(Copied::Done)
}
