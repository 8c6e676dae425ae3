//! A job on Apache RocketMQ: each queue of each stage is a split with a worker of its own, and stages are joined
//! by shuffle topics.
//!
//! What is decided is decided by [`streams_core::protocol`]; here its actions are done: [`io`] talks to brokers,
//! [`remote`] keeps state, in the instance's own [`rows`] or in a [`log`] that all instances read, [`topics`] finds
//! or makes the topics, [`fleet`] tells the workers what came of it.

mod copy;
mod fleet;
pub(crate) mod io;
mod log;
mod message;
mod remote;
pub(crate) mod rows;
mod tables;
pub(crate) mod topics;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use streams_core::protocol::stages::{self, StagePlan};
use streams_core::store::Store;
use streams_core::store::memory::MemoryStore;
use tokio::runtime::Runtime;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::cli::{ClusterConfig, RunConfig};
use crate::codec::{Shapes, TextPorts};
use crate::error::{Error, ErrorKind};
use crate::job::JobHandle;
#[cfg(feature = "mysql")]
use crate::remote::mysql::Mysql;
use crate::report::{Counters, Outcome};
use crate::rocketmq::{self, Broker, Config, Membership, Tls};
use crate::run::{Ended, note};
use crate::signals::StopFlag;

use fleet::Fleet;
use log::Log;
#[cfg(feature = "mysql")]
use remote::Copies;
use remote::{Failure, Remote};
use rows::SplitRows;
use topics::JobRow;

/// How long a member that was killed may take to disappear.
const DEPARTURE: Duration = Duration::from_secs(10);

/// For commits to a store of one's own, and for looking up the names of hosts.
const BLOCKING_THREADS: usize = 2;

/// Runs the job until a signal ends it.
pub(crate) fn run(job: JobHandle, config: &RunConfig, cluster: &ClusterConfig) -> Ended {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return (Counters::default(), Err(error)),
    };
    let began = Instant::now();
    let mut counters = Counters::default();
    let result = runtime.block_on(start(job, config, cluster, &mut counters));
    counters.elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    // A pull that waits for messages is not waited for.
    runtime.shutdown_background();
    (counters, result)
}

/// The threads that wait for servers.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    // Commits wait for each other in the store, so more threads for them would only take memory.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build();
    runtime.map_err(|error| Error::source(format!("the threads for the servers cannot be started: {error}")))
}

async fn start(
    job: JobHandle,
    config: &RunConfig,
    cluster: &ClusterConfig,
    counters: &mut Counters,
) -> Result<Outcome, Error> {
    let shapes = Shapes::new(&config.from, &config.to);
    let job = job.bound(&config.settings, 1, TextPorts::new(&shapes));
    let stages = stages::stages(|| job.sharded(&[]))?;
    // Reads them again as long as the job runs.
    let looked_up = crate::tables::Tables::open(&job, config)?;
    let has_shuffle = stages.iter().any(|stage| !stage.upstream.is_empty());
    if has_shuffle && !cluster.local_only && !cluster.has_remote() {
        return Err(Error::usage(
            "--namesrv: this job has state behind a shuffle; say where it lives: --remote mysql://USER@HOST/DATABASE lets instances share it, --local-only keeps it on this machine, for one instance",
        ));
    }
    let copy = match &config.state {
        Some(dir) if !cluster.local_only => {
            let store = crate::store::open_copy(dir, config.store).map_err(Error::state)?;
            Some(copy::LocalCopy::new(store)?)
        }
        _ => None,
    };

    // Whoever has a copy has a name of its own, so that it gets the splits again that it has rows of.
    let name =
        copy.as_ref().map_or_else(|| Ok(format!("{:016x}", random_number())), copy::LocalCopy::name)?;
    let client = format!("{}@{name}", cluster.group);
    let broker = connect(&cluster.namesrv, &cluster.group, &client).await?;

    let n_sources = u16::try_from(config.from.len()).unwrap_or(u16::MAX);
    let remote = match (cluster.local_only, &config.state) {
        (true, Some(dir)) => own(crate::store::open(dir, config.store).map_err(Error::state)?)?,
        (true, None) => own(Box::new(MemoryStore::new()))?,
        #[cfg(feature = "mysql")]
        (false, _) if let Some(address) = &cluster.remote => {
            let mysql = Mysql::open(address, &cluster.group, &client).await;
            let copies = if copy.is_some() { Copies::OnDisk } else { Copies::No };
            Remote::Mysql(mysql.map_err(|failure| give_up(failure.into()))?, copies)
        }
        (false, _) => {
            let log = Log::open(&broker, &cluster.group, &client, n_sources, 0).await;
            Remote::Log(log.map_err(failed)?)
        }
    };
    let (version, row) = job_row(&job, config, cluster, &stages, &broker, &remote).await?;
    remote.refresh().await.map_err(give_up)?;
    let tables = tables::Tables::open(config, &remote).await?;
    let membership = match remote.is_shared() {
        true => broker.join(&cluster.group, &row.topics()).await.map_err(failed)?,
        false => alone(&broker, cluster, &row.topics()).await?,
    };
    match (&remote, &config.state) {
        (Remote::Own(_), None) => note(
            "without --state DIR the state is in memory: a stop or a crash loses the windows that are open, and the group's offsets are where the next run begins",
        ),
        (Remote::Own(_), Some(_)) => note(
            "--local-only: the state is on this machine alone; where it is lost, open windows are lost with it",
        ),
        _ => {}
    }
    let stop =
        StopFlag::listen().map_err(|error| Error::state(format!("cannot listen for signals: {error}")))?;
    let membership = Arc::new(membership);
    let fingerprint = fingerprint(&job, config, looked_up.fixed())?;
    let fixed = looked_up.fixed().keys().cloned().collect();
    let known = fleet::Known { stages, row, version, fingerprint, fixed };
    let around = fleet::Around {
        remote,
        copy,
        tables,
        broker: broker.clone(),
        membership: Arc::clone(&membership),
        client,
    };
    let mut fleet = Fleet::new(job, config, cluster, known, around)?;
    let result = fleet.run(&stop).await;
    *counters = fleet.counters().await;
    // Who leaves without a word is noticed when the connection closes, a moment later.
    let _ = membership.leave().await;
    broker.shutdown().await;
    result.map(|()| Outcome::Interrupted)
}

/// Reaches the brokers, with the keys that the environment has.
pub(crate) async fn connect(namesrv: &[String], group: &str, client: &str) -> Result<Broker, Error> {
    let mut names = Config::new(namesrv, group, client);
    names.access_key = secret("ROCKETMQ_ACCESS_KEY");
    names.secret_key = secret("ROCKETMQ_SECRET_KEY");
    names.tls = tls(std::env::var_os("ROCKETMQ_TLS"), std::env::var("ROCKETMQ_TLS_CA").ok())?;
    Broker::connect(&names).await.map_err(failed)
}

fn own(store: Box<dyn Store>) -> Result<Remote, Error> {
    Ok(Remote::Own(SplitRows::open(store)?))
}

/// The record of the job as it is to run: the one that is in force, compared with what is asked for; or a new one.
async fn job_row(
    job: &JobHandle,
    config: &RunConfig,
    cluster: &ClusterConfig,
    stages: &[StagePlan],
    broker: &Broker,
    remote: &Remote,
) -> Result<(u64, JobRow), Error> {
    loop {
        let (before, row) = match JobRow::load(remote).await.map_err(give_up)? {
            None => (0, JobRow::create(job, config, cluster, stages, broker).await?),
            Some((version, found)) => {
                let row = found.clone().compare(job, config, cluster, stages, broker).await?;
                if row == found {
                    return Ok((version, row));
                }
                (version, row)
            }
        };
        remote.widen(row.most_queues(config.from.len())).await.map_err(give_up)?;
        // Another instance may have been first.
        if row.save(before, remote).await.map_err(give_up)? {
            return Ok((before + 1, row));
        }
    }
}

/// Joins the group, which must have no other member: another instance could not come by the state of a queue.
async fn alone(broker: &Broker, cluster: &ClusterConfig, topics: &[&str]) -> Result<Membership, Error> {
    let membership = broker.join(&cluster.group, topics).await.map_err(failed)?;
    let began = Instant::now();
    loop {
        let members = membership.members().await.map_err(failed)?;
        if members.len() <= 1 {
            return Ok(membership);
        }
        // One that was killed is still a member for a moment.
        if began.elapsed() > DEPARTURE {
            let _ = membership.leave().await;
            return Err(Error::usage(format!(
                "--local-only: the group `{}` has {} other members; state that is kept on one machine cannot follow its queues to another, so a second instance is refused: stop the other one, or give this one another --group",
                cluster.group,
                members.len() - 1
            )));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A key from the environment, so that it stands on no command line.
fn secret(variable: &str) -> Option<rocketmq::Secret> {
    std::env::var(variable).ok().filter(|text| !text.is_empty()).map(rocketmq::Secret::new)
}

/// What a variable that is on or off says; off without it.
fn switch(variable: &str, text: Option<OsString>) -> Result<bool, Error> {
    let Some(text) = text else { return Ok(false) };
    match text.to_str() {
        Some("yes" | "true" | "1" | "on") => Ok(true),
        Some("no" | "false" | "0" | "off" | "") => Ok(false),
        _ => Err(Error::usage(format!(
            "{variable}: `{}` is neither on nor off; write yes, true, 1 or on, or no, false, 0 or off",
            text.display()
        ))),
    }
}

/// What the two variables about encryption say together.
fn tls(on: Option<OsString>, authority: Option<String>) -> Result<Tls, Error> {
    let asked = on.as_ref().is_some_and(|text| !text.is_empty());
    match (switch("ROCKETMQ_TLS", on)?, authority.filter(|file| !file.is_empty())) {
        (false, Some(_)) if asked => Err(Error::usage(
            "ROCKETMQ_TLS_CA: says whom to trust, and ROCKETMQ_TLS says not to encrypt; leave one of them out",
        )),
        (_, Some(file)) => Ok(Tls::Authority(file)),
        (true, None) => Ok(Tls::System),
        (false, None) => Ok(Tls::Off),
    }
}

/// What a broker said ends the run.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
pub(crate) fn failed(error: rocketmq::Error) -> Error {
    ErrorKind::Broker(error.to_string()).into()
}

/// A server that is away when the run begins ends it.
fn give_up(failure: Failure) -> Error {
    match failure {
        Failure::Away(text) => ErrorKind::Broker(text).into(),
        Failure::Fatal(error) => error,
    }
}

/// A number that no other process draws: from the seeds that the standard library gives its hash maps.
pub(crate) fn random_number() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// In pieces: as a whole it would be the most memory that a small job ever takes.
fn hash_file(path: PathBuf) -> std::io::Result<u64> {
    let mut hash = Xxh3Default::new();
    std::io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.digest())
}

/// Tells code with other results apart: the job's tokens, its settings, the program itself (rule 19), and the rows of
/// tables that never change.
fn fingerprint(job: &JobHandle, config: &RunConfig, fixed: &BTreeMap<String, u64>) -> Result<u64, Error> {
    let program = std::env::current_exe().and_then(hash_file);
    let program = program.map_err(|error| {
        Error::usage(format!("this program cannot be read, to tell it from other builds: {error}"))
    })?;
    let urls = config.from.iter().chain(&config.to);
    let formats: Vec<_> = urls.map(|url| (url.format(), url.tags())).collect();
    let tokens = job.topology.fingerprint;
    // Where a source may be idle its numbers are those of its commits (rule 8).
    let idle = &config.idle_after;
    let settings = &config.settings;
    Ok(xxh3_64(format!("{tokens} {program} {settings:?} {formats:?} {idle:?} {fixed:?}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches() {
        let read = |text: &str| switch("X", Some(text.into())).map_err(|error| error.to_string());
        for text in ["yes", "true", "1", "on"] {
            assert_eq!(read(text), Ok(true));
        }
        for text in ["no", "false", "0", "off", ""] {
            assert_eq!(read(text), Ok(false));
        }
        assert_eq!(switch("X", None).map_err(|error| error.to_string()), Ok(false));
        let text = read("TRUE").unwrap_err();
        assert!(text.contains("X: `TRUE` is neither on nor off; write yes"), "{text}");
    }

    #[test]
    fn encryption() {
        let read = |on: &str, authority: &str| tls(Some(on.into()), Some(authority.to_owned())).ok();
        assert_eq!(read("", ""), Some(Tls::Off));
        assert_eq!(read("yes", ""), Some(Tls::System));
        assert_eq!(read("", "ca.pem"), Some(Tls::Authority("ca.pem".to_owned())));
        assert_eq!(read("yes", "ca.pem"), read("", "ca.pem"));
        assert_eq!(read("no", "ca.pem"), None);
    }
}
