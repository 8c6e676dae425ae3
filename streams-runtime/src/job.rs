//! A job without its type: what the drivers need of it, so that only this file is compiled once per job.

use streams_core::effects::Effects;
use streams_core::error::StateError;
use streams_core::layout::{Exchanged, Fused};
use streams_core::machine::{Built, Machine, feeding};
use streams_core::plan::{Job, Plan, Settings};
use streams_core::store::Store;
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
        guard(&place, || (self.build)(self.workers, ports, self.settings.clone()))?
            .map_err(|error| Error::usage(error.to_string()))
    }

    /// A new machine without state, whose shuffles go through topics with so many queues.
    #[cfg(feature = "rocketmq")]
    pub(crate) fn sharded(&self, n_queues: &[usize]) -> Result<Box<dyn Machine>, Error> {
        let ports = self.ports.clone().expect("machines are built behind `bound`");
        let place = || "the start of the job".to_owned();
        guard(&place, || (self.sharded)(n_queues.to_vec(), ports, self.settings.clone()))?
            .map_err(|error| Error::usage(error.to_string()))
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
        loaded.map_err(|error: StateError| {
            let remedy =
                "run the program that wrote the state, or begin again with another --state directory";
            Error::state(format!("{error}; {remedy}"))
        })?;
        Ok(machine)
    }

    /// Whether a bad record can be found behind an operator that acted on it, or on what came with it.
    pub(crate) fn rejects_late(&self) -> bool {
        self.workers > 1
            || self.topology.nodes.iter().any(|node| matches!(node.kind, "try_map" | "aggregate"))
    }
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
