//! A job without its type: what the drivers need of it, so that only this file is compiled once per job.

use streams_core::effects::Effects;
use streams_core::error::StateError;
use streams_core::layout::{Exchanged, Fused};
use streams_core::lookup::Tables;
use streams_core::machine::{Built, Machine, feeding};
use streams_core::plan::{Job, Plan, Settings};
use streams_core::store::Store;
use streams_core::store::backing::Backing;
use streams_core::topology::Topology;

use crate::codec::TextPorts;
use crate::driver::guard;
use crate::error::Error;

/// A job, ready to be built any number of times.
#[derive(Debug, Clone)]
pub(crate) struct JobHandle {
    pub(crate) topology: &'static Topology,
    build: fn(usize, TextPorts, Settings) -> Built,
    #[cfg(feature = "rocketmq")]
    sharded: fn(Vec<usize>, TextPorts, Settings) -> Built,
    settings: Settings,
    workers: usize,
    ports: Option<TextPorts>,
    /// The tables that its machines look rows up in.
    pub(crate) tables: Tables,
}

impl JobHandle {
    /// The handle of the job `J`.
    pub(crate) fn of<J: Job>() -> Self {
        Self {
            topology: const { &J::TOPOLOGY },
            build: build::<J>,
            #[cfg(feature = "rocketmq")]
            sharded: sharded::<J>,
            settings: Settings::new(),
            workers: 1,
            ports: None,
            tables: Tables::default(),
        }
    }

    /// With everything that its machines are built from.
    pub(crate) fn bound(self, settings: &Settings, workers: usize, ports: TextPorts) -> Self {
        Self { settings: settings.clone(), workers, ports: Some(ports), ..self }
    }

    /// A new machine without state.
    pub(crate) fn machine(&self) -> Result<Box<dyn Machine>, Error> {
        let ports = self.ports.clone().expect("machines are built behind `bound`");
        let place = || "the start of the job".to_owned();
        let built = guard(&place, || (self.build)(self.workers, ports, self.settings.clone()))?;
        self.with_tables(built)
    }

    fn with_tables(&self, built: Built) -> Result<Box<dyn Machine>, Error> {
        let mut machine = built.map_err(|error| Error::usage(error.to_string()))?;
        machine.tables(&self.tables);
        Ok(machine)
    }

    /// A new machine without state, whose shuffles go through topics with so many queues.
    #[cfg(feature = "rocketmq")]
    pub(crate) fn sharded(&self, n_queues: &[usize]) -> Result<Box<dyn Machine>, Error> {
        let ports = self.ports.clone().expect("machines are built behind `bound`");
        let place = || "the start of the job".to_owned();
        let built = guard(&place, || (self.sharded)(n_queues.to_vec(), ports, self.settings.clone()))?;
        self.with_tables(built)
    }

    /// A machine with the state that lies under `prefix`, for which the inputs in `ended` have ended.
    pub(crate) fn machine_with(
        &self,
        store: &dyn Store,
        prefix: &[u8],
        ended: &[usize],
    ) -> Result<Box<dyn Machine>, Error> {
        let mut machine = self.machine()?;
        let place = || "the state of an earlier run".to_owned();
        let loaded = guard(&place, || {
            machine.new_split(store, prefix)?;
            // State does not say that an input has ended, because it may have grown; what its end had to bring
            // forth has come forth already.
            ended.iter().for_each(|&port| machine.end(port));
            for exchange in dry(machine.as_mut(), ended) {
                let entry = machine.n_sources() + exchange;
                machine.end(entry);
            }
            machine.drain(&mut Effects::default());
            Ok(())
        })?;
        loaded.map_err(unreadable)?;
        Ok(machine)
    }

    /// A machine whose rows are read when they are needed, and never all.
    pub(crate) fn machine_over(
        &self,
        rows: Box<dyn Backing>,
        prefix: &[u8],
        ended: &[usize],
        idle: &[usize],
    ) -> Result<Box<dyn Machine>, Error> {
        let mut machine = self.machine()?;
        let loaded = guard(&|| "the state of an earlier run".to_owned(), || {
            machine.attach(rows, prefix)?;
            ended.iter().for_each(|&port| machine.end(port));
            idle.iter().for_each(|&port| machine.idle(port));
            machine.drain(&mut Effects::default());
            machine.failure().map_or(Ok(()), Err)
        })?;
        loaded.map_err(unreadable)?;
        Ok(machine)
    }

    /// The same as [`Self::machine_with`], for which the inputs in `idle` are idle.
    pub(crate) fn machine_at(
        &self,
        store: &dyn Store,
        prefix: &[u8],
        ended: &[usize],
        idle: &[usize],
    ) -> Result<Box<dyn Machine>, Error> {
        let mut machine = self.machine_with(store, prefix, ended)?;
        // Nothing fires: event time does not come further than it had come when the state was written.
        guard(&|| "the state of this run".to_owned(), || {
            idle.iter().for_each(|&port| machine.idle(port));
            machine.drain(&mut Effects::default());
        })?;
        Ok(machine)
    }

    /// Whether a bad record can be found behind an operator that acted on it, or on what came with it.
    pub(crate) fn rejects_late(&self) -> bool {
        self.workers > 1
            || self.topology.nodes.iter().any(|node| matches!(node.kind, "try_map" | "aggregate"))
    }
}

/// A state that this program cannot read.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
fn unreadable(error: StateError) -> Error {
    let remedy = "run the program that wrote the state, or begin again with another --state directory";
    Error::state(format!("{error}; {remedy}"))
}

/// The exchanges to which nothing can come any more when the inputs in `ended` have ended, upstream ones first.
pub(crate) fn dry(machine: &mut dyn Machine, ended: &[usize]) -> Vec<usize> {
    let feeding = feeding(machine).into_iter().enumerate().rev();
    let dry = feeding.filter(|(_, ports)| ports.iter().all(|port| ended.contains(port)));
    dry.map(|(exchange, _)| exchange).collect()
}

#[cfg(feature = "rocketmq")]
fn sharded<J: Job>(n_queues: Vec<usize>, ports: TextPorts, settings: Settings) -> Built {
    J::build(Plan::new::<J>(streams_core::layout::Sharded { n_queues }, ports, settings))
}

fn build<J: Job>(workers: usize, ports: TextPorts, settings: Settings) -> Built {
    if workers == 1 {
        J::build(Plan::new::<J>(Fused, ports, settings))
    } else {
        J::build(Plan::new::<J>(Exchanged { n_machines: workers }, ports, settings))
    }
}
