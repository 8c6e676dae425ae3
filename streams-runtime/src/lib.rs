//! Runs `#[stream_job]`s: connectors, durable state, checkpoints and a command line, embedded in the job's own
//! binary. Nothing else has to be installed or started.
//!
//! ```no_run
//! use streams_runtime::prelude::*;
//!
//! #[record]
//! struct Flow { host: String, out_flow: u64, at: i64 }
//! #[record]
//! struct Total { host: String, from: i64, total: u64, count: u64 }
//!
//! /// Outgoing traffic per host, every ten seconds; records may be five seconds out of order.
//! #[stream_job]
//! fn traffic(flows: Stream<Flow>) -> Stream<Total> {
//!     flows
//!         .event_time(|f| f.at, out_of_order(secs(5)))
//!         .filter(|f| f.out_flow > 0)
//!         .key_by(|f| f.host.clone())
//!         .window(tumbling(secs(10)))
//!         .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     streams_runtime::main(traffic)
//! }
//! ```
//!
//! What it is not: a cluster manager or a server. One process reads, computes and writes; its state is a
//! directory. The operators and the machine are in `streams-core`, which does no I/O.

// The futures of the RocketMQ client are deep, and whether they can move to another thread is asked of all of them.
#![cfg_attr(feature = "rocketmq", recursion_limit = "256")]

#[doc(hidden)]
pub mod __private {
    //! Everything that the expansion of `#[stream_job]` names.
    pub use streams_core::__private::*;
}
pub mod prelude;
#[cfg(feature = "mysql")]
pub mod remote;
#[cfg(feature = "rocketmq")]
pub mod rocketmq;
pub mod store;

mod cli;
mod clock;
#[cfg(feature = "rocketmq")]
mod cluster;
mod codec;
mod commit;
mod deadletter;
mod driver;
pub mod embed;
mod error;
mod format;
mod job;
mod progress;
mod report;
mod run;
mod session;
mod several;
mod signals;
mod sink;
mod snapshot;
mod source;
mod tables;
mod undo;
mod upkeep;
mod url;
mod wording;

use std::io::Write as _;
use std::process::ExitCode;

use streams_core::plan::Job;

use error::{Error, ErrorKind};

pub use several::{OneOf, main_of_all};
#[cfg(feature = "sim")]
pub use streams_core::sim;
pub use streams_core::{setting, testing, time, topology};
pub use streams_macros::{record, stream_job, stream_part};

/// The `main` of a job's binary: reads the command line, does what it says, and gives the exit code: 0 done,
/// 1 the job failed, 2 the command line is wrong. `--help` explains the rest.
pub fn main<J: Job>(_job: J) -> ExitCode {
    let mut words = std::env::args_os();
    let program = several::program(words.next());
    let job = job::JobHandle::of::<J>();
    let program = program.unwrap_or_else(|| job.topology.job.to_owned());
    perform(job, program, words.collect())
}

/// Does what the words say with one job.
fn perform(job: job::JobHandle, program: String, words: Vec<std::ffi::OsString>) -> ExitCode {
    let topology = job.topology;
    let around = cli::Surroundings { env: &|name| std::env::var_os(name), program };
    let command = match cli::parse(topology, words, &around) {
        Ok(command) => command,
        Err(error) => {
            tell(&error);
            return ExitCode::from(error.exit_code());
        }
    };
    match command {
        cli::Command::Help => show(&cli::help::text(topology, &around.program)),
        cli::Command::Version => {
            show(&format!("{} (streams-runtime {})\n", topology.job, env!("CARGO_PKG_VERSION")))
        }
        cli::Command::Topology(rendering) => show(&topology.render(rendering)),
        cli::Command::Upkeep(config) => match upkeep::perform(&job, &config) {
            Ok(text) => show(&text),
            Err(error) => {
                tell(&error);
                ExitCode::from(error.exit_code())
            }
        },
        cli::Command::Run(config) => {
            let ended = match &config.cluster {
                #[cfg(feature = "rocketmq")]
                Some(cluster) => cluster::run(job, &config, cluster),
                _ => run::run(job, &config),
            };
            ExitCode::from(run::conclude(topology, &config, ended))
        }
    }
}

/// Writes to standard output; a reader that has gone is no failure.
fn show(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// Writes an error to standard error, one line a mistake.
fn tell(error: &Error) {
    let mut stderr = std::io::stderr().lock();
    if let ErrorKind::Usage(problems) = error.kind() {
        for problem in problems {
            let _ = writeln!(stderr, "error: {problem}");
        }
    } else {
        let _ = writeln!(stderr, "error: {error}");
    }
}

/// The README's programs compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
