//! The state of a run on topics: the record of the job, and a row for each queue of each stage.

#[cfg(feature = "mysql")]
pub(super) mod database;

use std::collections::BTreeMap;

use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::rows_of;
use streams_core::store::{Delta, Store};
use streams_core::topology::Topology;

use super::kept::{Holder, Part};
use super::offsets::Source;
use crate::cli::StartPosition;
use crate::cli::upkeep::{Reset, ResetTo, UpkeepConfig};
use crate::cluster::io::{self, resolve};
use crate::cluster::rows::{SplitRow, encoded, is_split, key_of};
use crate::cluster::topics::JobRow;
use crate::cluster::{connect, failed, random_number, runtime};
use crate::error::Error;
use crate::rocketmq::Broker;
use crate::store::JOB;

/// What is kept beside the rows of operators.
pub(super) struct Topics {
    row: JobRow,
    splits: BTreeMap<Split, SplitRow>,
}

impl Topics {
    pub(super) fn of_store(store: &dyn Store) -> Result<Self, Error> {
        let bytes = store.get(JOB).map_err(Error::state)?;
        let bytes = bytes.ok_or_else(|| Error::state("the record of the job is missing"))?;
        Ok(Self { row: JobRow::decode(&bytes)?, splits: SplitRow::all(store)? })
    }

    pub(super) fn is_of(&self, topology: &Topology) -> Result<(), Error> {
        if self.row.job == topology.job {
            return Ok(());
        }
        Err(Error::state(format!(
            "the state belongs to the job `{}`, not to `{}`",
            self.row.job, topology.job
        )))
    }

    /// Whether a job of so many stages can go on from here.
    pub(super) fn admits(&self, topology: &Topology, n_stages: usize) -> Result<(), Error> {
        self.is_of(topology)?;
        if self.row.stages.len() == n_stages {
            return Ok(());
        }
        Err(Error::state(format!(
            "it is that of a job of {} stages, and this one has {n_stages}",
            self.row.stages.len()
        )))
    }

    /// Names the group that the job's topics are named by.
    #[cfg(feature = "mysql")]
    pub(super) fn group(&self) -> &str {
        &self.row.group
    }

    pub(super) fn parts(&self) -> Vec<Part> {
        let part = |split: &Split| Part { name: self.row.place(*split), prefix: rows_of(*split).to_vec() };
        self.splits.keys().map(part).collect()
    }

    /// When the last commit was made.
    pub(super) fn committed_ms(&self) -> Option<i64> {
        let snapshots = self.splits.values().filter_map(|row| row.snapshot().ok().flatten());
        snapshots.filter_map(|snapshot| snapshot.committed_ms).max()
    }

    /// How far each queue was read.
    pub(super) fn sources(&self) -> Result<Vec<Source>, Error> {
        let one = |(split, row): (&Split, &SplitRow)| {
            let snapshot = row.snapshot()?;
            let queue = self.row.source(*split).map(|(topic, queue)| (topic.to_owned(), queue.to_string()));
            let (input, place) = queue.unwrap_or_default();
            Ok(Source {
                input,
                place,
                offset: snapshot.as_ref().map_or(0, |snapshot| snapshot.offset),
                line: None,
                behind: None,
                commits: Some(row.version),
                note: match (snapshot, row.clean) {
                    (None, _) => "nothing committed",
                    (Some(_), true) => "left clean",
                    (Some(_), false) => "in use, or its owner was killed",
                },
            })
        };
        self.splits.iter().map(one).collect()
    }

    /// Asks the brokers how much more there is.
    pub(super) fn ask_brokers(
        &self,
        namesrv: &[String],
        mut sources: Vec<Source>,
    ) -> Result<Vec<Source>, Error> {
        with_broker(namesrv, &self.row.group, async |broker| {
            for (split, source) in self.splits.keys().zip(&mut sources) {
                if let Some((topic, queue)) = self.row.source(*split) {
                    let (_, max) = broker.bounds(topic, &queue).await.map_err(failed)?;
                    source.behind = Some(max.saturating_sub(source.offset));
                }
            }
            Ok(())
        })?;
        Ok(sources)
    }

    /// Moves the queues that are meant, in one commit.
    pub(super) fn reset(
        &mut self,
        topology: &Topology,
        config: &UpkeepConfig,
        holder: &mut Holder,
        reset: &Reset,
    ) -> Result<(), Error> {
        let ports: Vec<&str> = topology.sources().map(|port| port.name).collect();
        // An owner clears the mark when it takes a queue, and sets it when it will do nothing more. Without it, what
        // was sent behind the last commit would come again under its old numbers, with other contents.
        if let Some(split) = self.splits.iter().find(|(_, row)| !row.clean).map(|(split, _)| *split) {
            return Err(Error::usage(format!(
                "offsets reset: {} is in use by an instance of the job, or its last owner was killed; stop all instances with SIGTERM, and where one was killed, let the job run once more and stop it; nothing was moved",
                self.row.place(split)
            )));
        }
        if config.namesrv.is_empty() {
            return Err(Error::usage(
                "offsets reset: the brokers know where the queues begin and end; add --namesrv HOST:9876",
            ));
        }
        let is_meant = |split: &Split| {
            let port = ports.get(usize::from(split.stage.0));
            port.is_some_and(|port| reset.input.as_deref().is_none_or(|input| *port == input))
        };
        let mut moved = BTreeMap::new();
        with_broker(&config.namesrv, &self.row.group, async |broker| {
            for (split, row) in self.splits.iter().filter(|(split, _)| is_meant(split)) {
                let Some(snapshot) = row.snapshot()? else { continue };
                let offset = self.place(broker, *split, reset.to).await?;
                if offset != snapshot.offset {
                    moved.insert(*split, (row.clone(), rewound(row, snapshot, offset)?));
                }
            }
            Ok(())
        })?;
        match holder {
            Holder::Store(store) => {
                let mut delta = Delta::new();
                for (split, (_, row)) in &moved {
                    delta.put(&key_of(*split), &row.encode()?);
                }
                store.commit(&delta).map_err(Error::state)?;
            }
            #[cfg(feature = "mysql")]
            Holder::Database(database) => database.replace(&moved)?,
        }
        self.splits.extend(moved.into_iter().map(|(split, (_, row))| (split, row)));
        Ok(())
    }

    async fn place(&self, broker: &Broker, split: Split, to: ResetTo) -> Result<u64, Error> {
        let Some((topic, queue)) = self.row.source(split) else {
            return Err(Error::state("the state has a queue that its record does not have"));
        };
        let start = match to {
            ResetTo::Earliest => StartPosition::Earliest,
            ResetTo::Latest => StartPosition::Latest,
            ResetTo::Time(ms) => StartPosition::At(ms),
            ResetTo::Number(offset) => {
                let (min, max) = broker.bounds(topic, &queue).await.map_err(failed)?;
                if (min..=max).contains(&offset) {
                    return Ok(offset);
                }
                let why = format!("has messages from {min} on and in front of {max}");
                return Err(super::offsets::impossible(&self.row.place(split), to, &why));
            }
        };
        let source = io::Source { topic: topic.to_owned(), queue, is_shuffle: false, tags: Vec::new() };
        resolve(broker, &source, start, None).await.map_err(failed)
    }
}

/// A row of a savepoint as that of a run that may have gone on since.
pub(super) fn restored(key: &[u8], value: Vec<u8>) -> Result<Vec<u8>, Error> {
    if !is_split(key) {
        return Ok(value);
    }
    let (_, row) = SplitRow::decode(key, &value)?;
    row.restored()?.encode().map_err(Error::state)
}

/// The row behind a commit that only moves the offset.
fn rewound(row: &SplitRow, snapshot: Snapshot, offset: u64) -> Result<SplitRow, Error> {
    // A token of its own: copies of the rows know that they are of another commit.
    let owner = Token { epoch: row.owner.map_or(0, |owner| owner.epoch) + 1, nonce: random_number() };
    let snapshot = Snapshot {
        owner: Some(owner),
        offset,
        // The message in front is another one, and what other jobs have sent may come again.
        last_id: None,
        rejected: Vec::new(),
        seen: Default::default(),
        committed_ms: Some(crate::clock::now_ms()),
        ..snapshot
    };
    let bytes = encoded(&snapshot)?;
    Ok(SplitRow { owner: Some(owner), version: row.version + 1, snapshot: Some(bytes), ..row.clone() })
}

fn with_broker(
    namesrv: &[String],
    group: &str,
    ask: impl AsyncFnOnce(&Broker) -> Result<(), Error>,
) -> Result<(), Error> {
    let runtime = runtime()?;
    let asked = runtime.block_on(async {
        let client = format!("{group}@upkeep-{:016x}", random_number());
        let broker = connect(namesrv, group, &client).await?;
        let asked = ask(&broker).await;
        broker.shutdown().await;
        asked
    });
    runtime.shutdown_background();
    asked
}
