//! Runs a generated job through the engine, in two ways that must give the same.

use streams_core::Job;
use streams_core::testing::Harness;

use crate::event::{Event, take_looks};
use crate::outcome::{Outcome, Row};
use crate::streams::{Item, What};

/// How the items are given to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Records that follow one another on one port as one batch, outputs read at the end.
    Batches,
    /// One at a time, outputs read behind each, with a checkpoint and a new machine where the items say so.
    Steps,
}

/// The items of a case and the names that its job uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script<'a> {
    pub(crate) ports: &'a [&'a str],
    pub(crate) outputs: &'a [String],
    pub(crate) items: &'a [Item],
    pub(crate) mode: Mode,
}

/// Runs one job.
pub(crate) type Run = fn(&Script<'_>) -> Outcome;

/// Runs one job; what the table of generated jobs holds for each.
pub(crate) fn run<J: Job>(job: J, script: &Script<'_>) -> Outcome {
    take_looks();
    let mut machine = Harness::new(job);
    let mut outcome = Outcome { ports: vec![Vec::new(); script.outputs.len()], ..Outcome::default() };
    match script.mode {
        Mode::Batches => {
            batches(&mut machine, script);
            machine.end();
        }
        Mode::Steps => {
            for (step, item) in script.items.iter().enumerate() {
                if item.restart {
                    machine.restart().expect("events can be encoded");
                }
                let port = script.ports[item.port];
                match &item.what {
                    What::Record(event) => machine.push(port, event.clone()),
                    What::Advance(at) => machine.advance(port, *at),
                    What::End => machine.end_port(port),
                }
                collect(&mut machine, script, step, &mut outcome);
            }
            if script.items.last().is_some_and(|last| last.restart) {
                machine.restart().expect("events can be encoded");
            }
            machine.end();
        }
    }
    collect(&mut machine, script, script.items.len(), &mut outcome);
    Outcome {
        late: machine.late(),
        repeated: machine.repeated(),
        rejects: machine.rejects().len() as u64,
        looks: take_looks(),
        ..outcome
    }
}

fn batches<J: Job>(machine: &mut Harness<J>, script: &Script<'_>) {
    let mut batch: Vec<Event> = Vec::new();
    for (number, item) in script.items.iter().enumerate() {
        let port = script.ports[item.port];
        match &item.what {
            What::Record(event) => {
                batch.push(event.clone());
                let next = script.items.get(number + 1);
                let goes_on =
                    next.is_some_and(|next| next.port == item.port && matches!(next.what, What::Record(_)));
                if !goes_on {
                    machine.push_all(port, std::mem::take(&mut batch));
                }
            }
            What::Advance(at) => machine.advance(port, *at),
            What::End => machine.end_port(port),
        }
    }
}

fn collect<J: Job>(machine: &mut Harness<J>, script: &Script<'_>, step: usize, outcome: &mut Outcome) {
    for (rows, output) in outcome.ports.iter_mut().zip(script.outputs) {
        let fresh = machine.take_timed::<Event>(output).into_iter();
        rows.extend(fresh.map(|(at, event)| Row { step, at, event }));
    }
}
