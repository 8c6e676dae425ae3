//! A job inside a program: records come from iterators that the program makes, results go into values of its own.
//!
//! For programs that have their records already, for measuring, and for tests on more records than one would write
//! down. Nothing is read, written or kept: the state of the job ends with the run. What survives a crash is the
//! business of [`crate::main()`].

use std::sync::Arc;

use streams_core::batch::{Batch, Taken};
use streams_core::effects::{Effects, Reject};
use streams_core::layout::{Exchanged, Fused, Layout};
use streams_core::machine::Machine;
use streams_core::plan::{Plan, Settings};
use streams_core::ports::Input;
use streams_core::topology::Node;

pub use streams_core::error::BuildError;
pub use streams_core::plan::Job;
pub use streams_core::ports::Output;

mod ports;
mod workers;

use ports::Inside;

/// Takes the results of a run; a `Vec` takes them all.
pub trait Gather<R>: Default + Send + 'static {
    /// One result with its event time in ms.
    fn gather(&mut self, at_ms: i64, result: R);
}

impl<R: Send + 'static> Gather<R> for Vec<R> {
    #[inline(always)]
    fn gather(&mut self, _at_ms: i64, result: R) {
        self.push(result);
    }
}

/// Which part of the records a worker is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The worker, from 0.
    pub worker: usize,
    /// How many there are.
    pub workers: usize,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome<G> {
    /// The results, by worker.
    pub gathered: Vec<G>,
    /// Records that failed, by worker.
    pub rejects: Vec<Reject>,
    /// Records that came too late for every window.
    pub late: u64,
}

/// A job with one input and one output, to be run on records of the program's making.
///
/// Several workers share the job by key, each on a thread of its own. They go through rounds, in which each takes
/// [`batch`](Self::batch) records; the records of a job with a `key_by` are in the order of these batches, round by
/// round and worker by worker. What has come through a `key_by` is taken four rounds later, so that no worker waits
/// for a slower one: where it meets records that come through fewer, as in a join with a table that the job makes
/// itself, these are that much ahead. The results of each worker are the same in every run.
///
/// # Examples
/// ```
/// use streams_runtime::embed::Embedded;
/// use streams_runtime::prelude::*;
///
/// #[record]
/// struct Reading { sensor: u64, celsius: i64, at: i64 }
///
/// #[record]
/// #[derive(Debug, PartialEq)]
/// struct Warmest { sensor: u64, celsius: i64 }
///
/// #[stream_job]
/// fn warmest(readings: Stream<Reading>) -> Stream<Warmest> {
///     readings
///         .event_time(|r| r.at, out_of_order(secs(1)))
///         .key_by(|r| r.sensor)
///         .window(tumbling(mins(1)))
///         .aggregate(Warmest { sensor: key(), celsius: max(|r| r.celsius) })
/// }
///
/// let readings = (0..60_000).map(|n| Reading { sensor: n % 2, celsius: n as i64 / 1_000, at: n as i64 });
/// let outcome = Embedded::new(warmest).run::<_, Warmest, Vec<_>>(|_| readings.clone()).unwrap();
/// assert_eq!(outcome.gathered[0][1], Warmest { sensor: 1, celsius: 59 });
/// ```
#[derive(Debug)]
pub struct Embedded<J> {
    workers: usize,
    batch: usize,
    settings: Settings,
    _job: std::marker::PhantomData<fn() -> J>,
}

impl<J: Job> Embedded<J> {
    /// One worker, and the defaults of the job's settings.
    #[must_use]
    pub fn new(_job: J) -> Self {
        Self { workers: 1, batch: 1_024, settings: Settings::new(), _job: std::marker::PhantomData }
    }

    /// Sets one of the job's settings, as on its command line.
    #[must_use]
    pub fn setting(mut self, name: &str, text: impl Into<String>) -> Self {
        self.settings.insert(name.to_owned(), text.into());
        self
    }

    /// Shares the job by key over so many threads; 0 counts as 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// How many records a worker takes in a round; 0 counts as 1.
    #[must_use]
    pub fn batch(mut self, records: usize) -> Self {
        self.batch = records.max(1);
        self
    }

    /// Runs the job to the end of its records. `records` is called once for each worker, with its share.
    ///
    /// # Errors
    /// When a setting is wrong, or the job's ports are not one input of the iterator's records and one output of
    /// `R`.
    ///
    /// # Panics
    /// When the job's code panics, with its panic.
    pub fn run<I, R, G>(&self, mut records: impl FnMut(Share) -> I) -> Result<Outcome<G>, BuildError>
    where
        I: IntoIterator<IntoIter: Send + 'static>,
        I::Item: Input,
        R: Output,
        G: Gather<R>,
    {
        self.check_settings()?;
        let mut gathered = Vec::new();
        let mut machines = Vec::new();
        for worker in 0..self.workers {
            let slot = Arc::default();
            let records = records(Share { worker, workers: self.workers }).into_iter();
            let inside = Inside::<_, R, G>::new(records, &slot);
            let machine = match self.workers {
                1 => self.build(Fused, inside),
                n_machines => self.build(Exchanged { n_machines }, inside),
            }?;
            machines.push(machine);
            gathered.push(slot);
        }
        let ends = match <[_; 1]>::try_from(machines) {
            Ok([machine]) => vec![alone(machine, self.batch)],
            Err(machines) => workers::run(machines, self.batch),
        };
        let mut outcome = Outcome { gathered: Vec::new(), rejects: Vec::new(), late: 0 };
        for (mut effects, slot) in ends.into_iter().zip(&gathered) {
            outcome.rejects.append(&mut effects.rejects);
            outcome.late += effects.late;
            outcome.gathered.push(ports::taken(slot));
        }
        Ok(outcome)
    }

    fn check_settings(&self) -> Result<(), BuildError> {
        let unknown = self.settings.keys().find(|name| J::SETTINGS.iter().all(|spec| spec.name != **name));
        let Some(name) = unknown else { return Ok(()) };
        let known: Vec<&str> = J::SETTINGS.iter().map(|spec| spec.name).collect();
        let reason = format!("the job has no such setting; its settings are: {}", known.join(", "));
        Err(BuildError::Setting { name: name.clone(), reason })
    }

    fn build<L, I, R, G>(&self, layout: L, inside: Inside<I, R, G>) -> Result<Box<dyn Machine>, BuildError>
    where
        L: Layout,
        I: Iterator<Item: Input> + Send + 'static,
        R: Output,
        G: Gather<R>,
    {
        let topology = const { &J::TOPOLOGY };
        for (mut ports, direction) in
            [(names(topology.sources()), "input"), (names(topology.sinks()), "output")]
        {
            if let (2.., Some(port)) = (ports.len(), ports.pop()) {
                let reason = format!("a run inside a program has one {direction}, and the job has more");
                return Err(BuildError::Port { port: port.to_owned(), reason });
            }
        }
        let problems = inside.problems();
        let machine = J::build(Plan::new::<J>(layout, inside, self.settings.clone()))?;
        ports::first(&problems).map_or(Ok(machine), Err)
    }
}

/// Runs the whole job on this thread.
fn alone(mut machine: Box<dyn Machine>, batch: usize) -> Effects {
    let mut effects = Effects::default();
    while machine.feed(0, Batch::Pulled(batch)) != Taken::Dry {
        machine.drain(&mut effects);
    }
    machine.end(0);
    machine.drain(&mut effects);
    effects
}

fn names(nodes: impl Iterator<Item = &'static Node>) -> Vec<&'static str> {
    nodes.map(|node| node.name).collect()
}
