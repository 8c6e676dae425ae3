//! The command line of a job: `JOB run`, `JOB topology`, `JOB state`, `JOB offsets`, `--help`, `--version`.
//!
//! All mistakes are found before anything runs and told at once, one line each. [`args`] reads the words,
//! [`bind`] and [`upkeep`] give them their meaning for this job, [`probe`] looks at the files they name, [`help`]
//! explains. Nothing here runs a job.

pub(crate) mod args;
pub(crate) mod bind;
pub(crate) mod cluster;
pub(crate) mod help;
pub(crate) mod idle;
pub(crate) mod memory;
pub(crate) mod probe;
pub(crate) mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use streams_core::plan::Settings;
use streams_core::topology::{Rendering, Topology};

use crate::deadletter::OnBad;
use crate::error::{Error, ErrorKind};
use crate::store::Kind;
use crate::url::Url;

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Command {
    Run(Box<RunConfig>),
    Topology(Rendering),
    Upkeep(Box<upkeep::UpkeepConfig>),
    Help,
    Version,
}

/// How to run a job.
#[derive(Debug, Clone)]
pub(crate) struct RunConfig {
    /// By input port.
    pub(crate) from: Vec<Url>,
    /// By output port.
    pub(crate) to: Vec<Url>,
    pub(crate) settings: Settings,
    pub(crate) state: Option<PathBuf>,
    /// What keeps the state.
    pub(crate) store: Kind,
    /// How many bytes the state may take in memory, about; all of it without a number.
    pub(crate) memory: Option<u64>,
    pub(crate) workers: usize,
    pub(crate) checkpoint_interval: Duration,
    pub(crate) dead_letter: Option<PathBuf>,
    pub(crate) on_bad: OnBad,
    /// By input port: nothing waits for it when it has had nothing for so long.
    pub(crate) idle_after: Vec<Option<Duration>>,
    pub(crate) report: Option<PathBuf>,
    /// On Apache RocketMQ.
    pub(crate) cluster: Option<ClusterConfig>,
}

/// How to run a job on Apache RocketMQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterConfig {
    /// Addresses of name servers.
    pub(crate) namesrv: Vec<String>,
    /// The group of instances.
    pub(crate) group: String,
    pub(crate) start: StartPosition,
    /// Whether state is kept on this machine alone.
    pub(crate) local_only: bool,
    /// The database that instances share.
    #[cfg(feature = "mysql")]
    pub(crate) remote: Option<crate::remote::mysql::Address>,
    /// How many queues a shuffle topic is created with.
    pub(crate) shuffle_queues: u16,
}

impl ClusterConfig {
    /// Whether a database keeps the state.
    #[cfg_attr(not(feature = "rocketmq"), expect(dead_code, reason = "there are no brokers in such a build"))]
    pub(crate) fn has_remote(&self) -> bool {
        #[cfg(feature = "mysql")]
        return self.remote.is_some();
        #[cfg(not(feature = "mysql"))]
        false
    }
}

/// Where a queue is read from that existed when the job was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartPosition {
    Earliest,
    Latest,
    /// The first message stored at this time or later, in ms since the Unix epoch.
    At(i64),
}

/// Where the job is called from.
pub(crate) struct Surroundings<'a> {
    /// Looks up a variable of the environment.
    pub(crate) env: &'a dyn Fn(&str) -> Option<OsString>,
    /// How the program was called, for examples.
    pub(crate) program: String,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Reads the command line of a job.
pub(crate) fn parse(
    topology: &Topology,
    words: Vec<OsString>,
    around: &Surroundings<'_>,
) -> Result<Command, Error> {
    let mut problems = Vec::new();
    let words = args::read(topology, words, &mut problems);
    let command = match words.command {
        Some(args::Verb::Help) => return Ok(Command::Help),
        Some(args::Verb::Version) => return Ok(Command::Version),
        Some(args::Verb::Topology) => Command::Topology(bind::rendering(&words, &mut problems)),
        Some(args::Verb::Run) => {
            let config = bind::run(topology, &words, around, &mut problems);
            probe::files(topology, &config, &mut problems);
            Command::Run(Box::new(config))
        }
        Some(verb @ (args::Verb::State | args::Verb::Offsets)) => {
            match upkeep::config(topology, verb, &words, around, &mut problems) {
                Some(config) => Command::Upkeep(Box::new(config)),
                None => Command::Help,
            }
        }
        None => {
            if problems.is_empty() {
                let program = &around.program;
                problems.push(format!(
                    "say what to do: `{program} run`, `{program} topology`, `{program} state`, `{program} offsets` or `{program} --help`"
                ));
            }
            Command::Help
        }
    };
    if problems.is_empty() { Ok(command) } else { Err(ErrorKind::Usage(problems).into()) }
}

/// The flag of a setting: its name with `-` for `_`.
pub(crate) fn flag(setting: &str) -> String {
    setting.replace('_', "-")
}

/// The environment variable of a setting.
pub(crate) fn variable(job: &str, setting: &str) -> String {
    format!("{job}_{setting}").to_uppercase()
}

#[cfg(test)]
mod tests;
