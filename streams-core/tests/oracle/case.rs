//! One case: a job, a stream, and whether the engine gives what the oracle says.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::drive::{Mode, Script};
use crate::generate;
use crate::jobs;
use crate::oracle::{self, Mutation, Tally};
use crate::outcome::{Outcome, Steps};
use crate::plan::Job;
use crate::streams::{Item, stream};

/// How many streams each job is given, where nothing else is said.
const N_STREAMS: usize = 100;

/// How many streams each job is given: `STREAMS_ORACLE_STREAMS` says so for more.
pub(crate) fn n_streams() -> usize {
    std::env::var("STREAMS_ORACLE_STREAMS").map_or(N_STREAMS, |text| text.parse().unwrap())
}

/// One case.
pub(crate) struct Case {
    pub(crate) job: Job,
    pub(crate) number: usize,
    pub(crate) seed: u64,
    pub(crate) items: Vec<Item>,
}

impl Case {
    /// Job `number` with its stream number `n`.
    pub(crate) fn new(number: usize, n: usize) -> Self {
        let job = generate::job(number);
        // Those that are there only on request have seeds of their own.
        let seed = match n < N_STREAMS {
            true => (number * N_STREAMS + n) as u64,
            false => (1 << 40) | ((number as u64) << 24) | n as u64,
        };
        let items = stream(seed, n, job.n_ports);
        Self { job, number, seed, items }
    }

    /// What the oracle says and what it reached, or how the engine differs.
    pub(crate) fn check(&self, mutation: Mutation) -> Result<(Outcome, Tally), String> {
        self.check_items(&self.items, mutation)
    }

    fn check_items(&self, items: &[Item], mutation: Mutation) -> Result<(Outcome, Tally), String> {
        let (expected, tally) = oracle::evaluate(&self.job, items, mutation);
        for (mode, steps) in [(Mode::Batches, Steps::Ignored), (Mode::Steps, Steps::Compared)] {
            let outputs = self.job.output_names();
            let script = Script { ports: self.job.ports(), outputs: &outputs, items, mode };
            let run = jobs::run(self.number);
            let actual = catch_unwind(AssertUnwindSafe(|| run(&script)));
            let Ok(actual) = actual else { return Err(format!("{mode:?}: the engine panicked")) };
            if let Some(difference) = expected.difference(&actual, steps) {
                return Err(format!("{mode:?}: {difference}"));
            }
        }
        Ok((expected, tally))
    }

    /// A report of the mismatch, with as little input as still shows it.
    pub(crate) fn report(&self) -> String {
        let mut items = self.items.clone();
        let fails = |items: &[Item]| self.check_items(items, Mutation::None).is_err();
        // Halves first, then smaller and smaller parts, down to single items.
        let mut length = items.len().max(1).div_ceil(2);
        loop {
            let mut from = 0;
            while from < items.len() {
                let mut fewer = items.clone();
                fewer.drain(from..(from + length).min(items.len()));
                if fails(&fewer) { items = fewer } else { from += length }
            }
            if length == 1 {
                break;
            }
            length = length.div_ceil(2);
        }
        let difference = self.check_items(&items, Mutation::None).err();
        let difference = difference.unwrap_or_else(|| "it does not fail again".to_owned());
        let listing: String =
            items.iter().enumerate().map(|(step, item)| format!("  {step}: {item:?}\n")).collect();
        format!("stream {}\n{}items:\n{listing}{difference}", self.seed, self.job.source())
    }
}
