//! A job on a simulated fleet: many instances, a log and a store that fail in every way they can, and checks
//! after every step that no record is lost, doubled or changed. Feature `sim`.
//!
//! A seed is a run, byte for byte. A run that breaks an invariant is made smaller and shown.
//!
//! ```
//! use streams_core::prelude::*;
//! use streams_core::sim::sim;
//!
//! #[record]
//! struct Flow { host: String, out_flow: u64, at: i64 }
//! #[record]
//! struct Total { host: String, from: i64, total: u64 }
//!
//! #[stream_job]
//! fn traffic(flows: Stream<Flow>) -> Stream<Total> {
//!     flows
//!         .event_time(|f| f.at, out_of_order(secs(5)))
//!         .key_by(|f| f.host.clone())
//!         .window(tumbling(secs(10)))
//!         .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow) })
//! }
//!
//! let report = sim(traffic).seeds(20).run();
//! assert!(report.tally.commits > 0);
//! ```
//!
//! What it is not: a test of brokers and databases. Their adapters have no decisions of their own, and tests of
//! theirs.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use crate::error::BuildError;
use crate::lookup::TABLE;
use crate::plan::{Job, Settings};

mod blueprint;
mod draw;
mod exhaustive;
mod local;
mod log;
mod plan;
mod random;
mod reference;
mod report;
mod shrink;
mod store;
mod world;

use blueprint::Blueprint;
use plan::{Limits, RunPlan};
use report::Trace;
use world::World;

pub use crate::bug::Bug;
pub use exhaustive::Exhausted;
pub use plan::Generator;
pub use report::{Failure, Report, Tally, Violation};
pub use world::choices::Budget;

/// Simulates `job`; say how much, then [`Sim::run`].
#[must_use]
pub fn sim<J: Job>(_job: J) -> Sim<J> {
    Sim {
        settings: Settings::new(),
        first: 0,
        seeds: 100,
        limits: Limits { disorder_ms: 3_000, ..Limits::default() },
        generators: Vec::new(),
        tables: Vec::new(),
        fixed: BTreeSet::new(),
        bug: None,
        _job: PhantomData,
    }
}

/// Runs of a job that are about to be made.
pub struct Sim<J> {
    settings: Settings,
    first: u64,
    seeds: u64,
    limits: Limits,
    generators: Vec<Option<Generator>>,
    tables: Vec<(String, blueprint::RowsOf)>,
    /// Addresses of those that never change.
    fixed: BTreeSet<String>,
    bug: Option<Bug>,
    _job: PhantomData<fn() -> J>,
}

impl<J: Job> std::fmt::Debug for Sim<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sim")
            .field("job", &J::TOPOLOGY.job)
            .field("seeds", &self.seeds)
            .finish_non_exhaustive()
    }
}

impl<J: Job> Sim<J> {
    /// How many runs.
    #[must_use]
    pub fn seeds(self, seeds: u64) -> Self {
        Self { seeds, ..self }
    }

    /// The seed of the first one.
    #[must_use]
    pub fn from_seed(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// How many records each run has; else that follows from the seed.
    #[must_use]
    pub fn records(mut self, n: usize) -> Self {
        self.limits.n_records = Some(n);
        self
    }

    /// How many instances the fleet has.
    #[must_use]
    pub fn instances(mut self, n: usize) -> Self {
        self.limits.n_instances = Some(n.max(1));
        self
    }

    /// How many queues each topic has.
    #[must_use]
    pub fn queues(mut self, n: usize) -> Self {
        self.limits.n_queues = Some(n.max(1));
        self
    }

    /// All stages are held: what they give out leaves after the commit that has it.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.limits.held = Some(true);
        self
    }

    /// No stage is held, but for sources that may be idle.
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.limits.held = Some(false);
        self
    }

    /// Sources never say that they are idle.
    #[must_use]
    pub fn never_idle(mut self) -> Self {
        self.limits.idleness = Some(false);
        self
    }

    /// Sources say that they are idle, in every run.
    #[must_use]
    pub fn often_idle(mut self) -> Self {
        self.limits.idleness = Some(true);
        self
    }

    /// Nothing goes wrong.
    #[must_use]
    pub fn without_faults(mut self) -> Self {
        self.limits.no_faults = true;
        self
    }

    /// How far 64-bit signed integers in drawn records lie behind the clock at the most.
    #[must_use]
    pub fn disorder(mut self, most: Duration) -> Self {
        self.limits.disorder_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// A setting of the job, as text.
    #[must_use]
    pub fn setting(mut self, name: &str, text: &str) -> Self {
        self.settings.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Makes the records of an input port by hand: from a random number and a growing clock in ms, as JSON.
    /// A name that the job does not have is ignored.
    #[must_use]
    pub fn records_of(
        mut self,
        port: &str,
        make: impl Fn(u64, i64) -> String + Send + Sync + 'static,
    ) -> Self {
        if let Some(index) = J::TOPOLOGY.sources().position(|node| node.name == port) {
            if self.generators.len() <= index {
                self.generators.resize_with(index + 1, || None);
            }
            if let Some(place) = self.generators.get_mut(index) {
                *place = Some(std::sync::Arc::new(make));
            }
        }
        self
    }

    /// Makes the rows of a table that the job looks up, by the name of its parameter: from a number that grows
    /// whenever the table changes, as JSON. Instances read it again at moments of their own. Each result must be made
    /// of the rows that its owner had, once, whoever makes it again; the table of a job without such rows is empty.
    ///
    /// # Panics
    /// When the job has no such table; a run does when a row is no row of it.
    #[must_use]
    #[track_caller]
    pub fn rows_of(mut self, table: &str, make: impl Fn(u64) -> Vec<String> + Send + Sync + 'static) -> Self {
        let spec = J::SETTINGS.iter().find(|spec| spec.name == table && spec.placeholder == TABLE);
        let spec = spec.unwrap_or_else(|| panic!("the job has no table `{table}`"));
        let own = || spec.default.map_or_else(|| format!("sim:{table}"), str::to_owned);
        let address = self.settings.entry(table.to_owned()).or_insert_with(own).clone();
        self.tables.push((address, std::sync::Arc::new(make)));
        self
    }

    /// The rows of a table that the job looks up and that never change, as JSON; so results need no commit before
    /// they leave.
    ///
    /// # Panics
    /// As [`Self::rows_of`].
    #[must_use]
    #[track_caller]
    pub fn fixed_rows(mut self, table: &str, rows: Vec<String>) -> Self {
        self = self.rows_of(table, move |_| rows.clone());
        self.fixed.extend(self.settings.get(table).cloned());
        self
    }

    /// Plants a known bug, to see that it is found.
    #[must_use]
    pub fn plant(self, bug: Bug) -> Self {
        Self { bug: Some(bug), ..self }
    }

    /// Makes all runs.
    ///
    /// # Panics
    /// When one of them breaks an invariant: with the run as small as it could be made.
    pub fn run(self) -> Report {
        match self.try_run() {
            Ok(report) => report,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Makes all runs; ends with the first that breaks an invariant.
    ///
    /// # Errors
    /// That run.
    ///
    /// # Panics
    /// When the job cannot be built with these settings, or its records cannot be drawn.
    pub fn try_run(&self) -> Result<Report, Box<Failure>> {
        let blueprint = self.blueprint().unwrap_or_else(|error| panic!("{error}"));
        let began = Instant::now();
        let mut report = Report::default();
        let _planted = Planted::new(self.bug);
        for seed in self.first..self.first + self.seeds {
            let plan = self.plan(seed, &blueprint);
            let mut world = World::new(&blueprint, &plan, Trace::default());
            if world.run().is_some() {
                return Err(Box::new(shrink::shrink(&blueprint, plan)));
            }
            report.seeds += 1;
            report.losses += u64::from(world.lossy);
            report.tally.add(&world.tally);
        }
        report.elapsed = began.elapsed();
        Ok(report)
    }

    /// The first seed that breaks an invariant, and the invariant; not made smaller.
    ///
    /// # Panics
    /// As [`Self::try_run`].
    #[must_use]
    pub fn first_violation(&self) -> Option<(u64, Violation)> {
        let blueprint = self.blueprint().unwrap_or_else(|error| panic!("{error}"));
        let _planted = Planted::new(self.bug);
        (self.first..self.first + self.seeds).find_map(|seed| {
            let plan = self.plan(seed, &blueprint);
            let violation = World::new(&blueprint, &plan, Trace::default()).run()?;
            Some((seed, violation))
        })
    }

    /// Makes a run that was written down: what a seed stands for changes with the simulator, a run does not. It is
    /// [`Failure::run`]; what it breaks, if anything. What was said of this simulation beside the job, its settings
    /// and the planted bug counts for nothing.
    ///
    /// # Panics
    /// As [`Self::try_run`], and when the text is no run of this job.
    #[must_use]
    pub fn replay(&self, run: &str) -> Option<Violation> {
        let blueprint = self.blueprint().unwrap_or_else(|error| panic!("{error}"));
        let plan: RunPlan =
            serde_json::from_str(run).unwrap_or_else(|error| panic!("the text is no run: {error}"));
        let (sources, shuffles) = (plan.shape.source_queues.len(), plan.shape.shuffle_queues.len());
        assert!(
            (sources, shuffles) == (blueprint.n_sources, blueprint.n_exchanges()),
            "the run is of a job with {sources} sources and {shuffles} shuffles; this one has {} and {}",
            blueprint.n_sources,
            blueprint.n_exchanges()
        );
        let _planted = Planted::new(self.bug);
        World::new(&blueprint, &plan, Trace::default()).run()
    }

    /// A hash over everything that happens in the run of a seed.
    ///
    /// # Panics
    /// As [`Self::try_run`].
    #[must_use]
    pub fn trace_hash(&self, seed: u64) -> u64 {
        let blueprint = self.blueprint().unwrap_or_else(|error| panic!("{error}"));
        let plan = self.plan(seed, &blueprint);
        let mut world = World::new(&blueprint, &plan, Trace::default());
        world.run();
        world.trace.hash
    }

    /// Hashes over what the sources of a run send, by split: once as the seed says, once with other batches,
    /// checkpoints and orders of events.
    ///
    /// # Panics
    /// As [`Self::try_run`].
    #[must_use]
    pub fn accepted_streams(&self, seed: u64) -> [u64; 2] {
        let blueprint = self.blueprint().unwrap_or_else(|error| panic!("{error}"));
        let mut plan = self.plan(seed, &blueprint);
        // Where the end of a queue is depends on when somebody looks.
        plan.shape.latest = false;
        let other = RunPlan { schedule: random::mix(plan.schedule, 19), ..plan.clone() };
        [plan, other].map(|plan| {
            let mut world = World::new(&blueprint, &plan, Trace::default());
            world.run();
            world.source_streams()
        })
    }

    /// Goes through every order of events on two instances with one queue for each topic, or through `most`
    /// states of it.
    ///
    /// # Errors
    /// A run that breaks an invariant.
    ///
    /// # Panics
    /// As [`Self::try_run`].
    pub fn exhaust(&self, budget: Budget, most: u64) -> Result<Exhausted, Box<Failure>> {
        let blueprint = self.blueprint().unwrap_or_else(|error| panic!("{error}"));
        let plan = exhaustive::tiny(self.plan(self.first, &blueprint).inputs, &blueprint);
        let _planted = Planted::new(self.bug);
        exhaustive::explore(&blueprint, &plan, budget, most)
    }

    fn blueprint(&self) -> Result<Blueprint, BuildError> {
        Blueprint::of::<J>(&self.settings, self.tables.clone(), self.fixed.clone())
    }

    fn plan(&self, seed: u64, blueprint: &Blueprint) -> RunPlan {
        let plan = RunPlan::of(seed, blueprint, &self.limits, &self.generators);
        plan.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Takes a planted bug out again, also when a run panics.
struct Planted;

impl Planted {
    fn new(bug: Option<Bug>) -> Self {
        crate::bug::plant(bug);
        Self
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        crate::bug::plant(None);
    }
}
