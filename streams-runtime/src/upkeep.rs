//! Looking at a job's state, carrying it from store to store, and setting back what its inputs have been read to:
//! `JOB state …` and `JOB offsets …`.
//!
//! [`kept`] finds the state wherever it lies; everything else works on that. What changes a state does it in one
//! commit, and only while no instance of the job has it. Nothing here runs a job: the job's code is asked for the
//! types of its rows and for what it can go on with.

mod get;
mod import;
mod kept;
mod list;
mod offsets;
mod savepoint;
#[cfg(feature = "rocketmq")]
mod topics;

use crate::cli::upkeep::{Task, UpkeepConfig};
use crate::codec::{Shapes, TextPorts};
use crate::error::Error;
use crate::job::JobHandle;
use crate::url::Url;

use kept::Kept;

/// Does what was asked for; gives what is to be shown.
pub(crate) fn perform(job: &JobHandle, config: &UpkeepConfig) -> Result<String, Error> {
    let kept = || Kept::find(job.topology, &config.place);
    match &config.task {
        Task::List(form) => list::run(job.topology, &kept()?, *form),
        Task::Get { operator, key } => get::run(job, config, &kept()?, operator, key),
        Task::Export(file) => savepoint::export(job.topology, &kept()?, file),
        Task::Import { file, is_last } => import::run(job, config, file, *is_last),
        Task::ShowOffsets(form) => offsets::show(config, &kept()?, *form),
        Task::ResetOffsets(reset) => offsets::reset(job.topology, config, &mut kept()?, reset),
    }
}

/// The job with ports that nothing is read from or written to.
fn without_ports(job: &JobHandle, settings: &streams_core::plan::Settings, workers: usize) -> JobHandle {
    let ports = |n: usize| vec![Url::print(); n];
    let (from, to) = (ports(job.topology.sources().count()), ports(job.topology.sinks().count()));
    job.clone().bound(settings, workers, TextPorts::new(&Shapes::new(&from, &to)))
}
