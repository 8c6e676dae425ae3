//! What runs did, and what went wrong in one.

use std::fmt;
use std::time::Duration;

use super::random::mix;

/// Something that must never be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The invariant, by its name in the project's protocol.
    pub invariant: &'static str,
    /// What was found.
    pub text: String,
    /// The step of the run.
    pub step: u32,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is broken at step {}: {}", self.invariant, self.step, self.text)
    }
}

/// Counts of one run or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Things that happened.
    pub steps: u64,
    /// Records of the input.
    pub records: u64,
    /// Instances that lost their memory.
    pub crashes: u64,
    /// Splits that got another owner.
    pub takeovers: u64,
    /// Owners that were not told that they own no longer.
    pub zombies: u64,
    /// Items that readers had seen before.
    pub duplicates: u64,
    /// Commits.
    pub commits: u64,
    /// Runs whose results were compared with those of one machine.
    pub compared: u64,
    /// Owners that ran into a panic of the job's code.
    pub panics: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.records += other.records;
        self.crashes += other.crashes;
        self.takeovers += other.takeovers;
        self.zombies += other.zombies;
        self.duplicates += other.duplicates;
        self.commits += other.commits;
        self.compared += other.compared;
        self.panics += other.panics;
    }
}

/// What many runs did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Report {
    /// How many runs there were.
    pub seeds: u64,
    /// What they did.
    pub tally: Tally,
    /// How many runs the log lost a message in, which had to be noticed.
    pub losses: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl Report {
    /// Steps per second.
    #[must_use]
    pub fn steps_per_second(&self) -> u64 {
        (self.tally.steps as f64 / self.elapsed.as_secs_f64().max(1e-9)) as u64
    }

    /// Adds another report.
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.tally.add(&other.tally);
        self.losses += other.losses;
        self.elapsed += other.elapsed;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { steps, records, crashes, takeovers, zombies, duplicates, commits, compared, panics } =
            self.tally;
        write!(
            f,
            "{} seeds, {steps} steps, {records} records, {commits} commits, {crashes} crashes, {takeovers} takeovers, \
             {zombies} zombies, {panics} panics, {duplicates} duplicates dropped, {} losses noticed, {compared} compared with one \
             machine, 0 violations, {} steps/s",
            self.seeds,
            self.losses,
            self.steps_per_second()
        )
    }
}

/// A run that broke an invariant, as small as it could be made.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What is broken.
    pub violation: Violation,
    /// The shape of the fleet and what went wrong in it on purpose.
    pub plan: String,
    /// The run itself as JSON, for [`Sim::replay`](super::Sim::replay); empty where
    /// [`Sim::exhaust`](super::Sim::exhaust) found it, which goes through orders of events.
    pub run: String,
    /// Everything that happened, one thing a line.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.violation)?;
        writeln!(f, "{}", self.plan)?;
        // The end is what matters; a liveness failure has no end.
        let skipped = self.trace.len().saturating_sub(400);
        if skipped > 0 {
            writeln!(f, "({skipped} lines before)")?;
        }
        for line in self.trace.iter().skip(skipped) {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// A hash over everything that happens, and the text of it where somebody wants to read it.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) hash: u64,
    pub(crate) lines: Option<Vec<String>>,
}

impl Trace {
    pub(crate) fn recorded() -> Self {
        Self { hash: 0, lines: Some(Vec::new()) }
    }

    pub(crate) fn note(&mut self, what: u64, step: u32, text: impl FnOnce() -> String) {
        self.hash = mix(self.hash ^ what, u64::from(step));
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{step:>6} {}", text()));
        }
    }
}
