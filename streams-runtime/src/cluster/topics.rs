//! The topics of a job and their queues, as they were when the job was created: they are part of its state, since
//! which queue a key belongs to must never change (rule 2).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use streams_core::protocol::ids::{Incarnation, Split, Stage, Target, Topic};
use streams_core::protocol::stages::{StagePlan, outputs};

use super::remote::{Failure, Remote};
use super::{failed, random_number};
use crate::cli::{ClusterConfig, RunConfig};
use crate::error::{Error, ErrorKind};
use crate::job::JobHandle;
use crate::rocketmq::{self, Broker, QueueId};
use crate::run::note;
use crate::url::{Place, Url};

/// The row's form. In the first one keys that are whole numbers belonged to other queues.
const VERSION: u32 = 2;

/// A topic and its queues in their frozen order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queues {
    pub(super) topic: String,
    queues: Vec<(String, u16)>,
    /// How many of them were there when the job was created: the start position is for those.
    original: usize,
}

/// What is known of a job as long as its state lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobRow {
    version: u32,
    pub(crate) job: String,
    pub(crate) group: String,
    incarnation: u64,
    /// What the stages read, by number.
    pub(crate) stages: Vec<Queues>,
    /// By output port; none for one that is printed.
    pub(super) outputs: Vec<Option<Queues>>,
}

impl Queues {
    fn new(topic: &str, queues: Vec<QueueId>) -> Self {
        let original = queues.len();
        Self { topic: topic.to_owned(), queues: queues.into_iter().map(named).collect(), original }
    }

    pub(crate) fn len(&self) -> u16 {
        u16::try_from(self.queues.len()).unwrap_or(u16::MAX)
    }

    /// All of them, by their places in the list.
    pub(super) fn numbers(&self) -> BTreeSet<u16> {
        (0..self.len()).collect()
    }

    pub(super) fn queue(&self, index: u16) -> Option<QueueId> {
        let (broker, id) = self.queues.get(usize::from(index))?;
        Some(QueueId { broker: broker.clone(), id: *id })
    }

    /// Whether a queue was there when the job was created.
    pub(super) fn is_original(&self, index: u16) -> bool {
        usize::from(index) < self.original
    }

    /// Those of `there` that are not known yet are put behind the others; says which are known and missing.
    fn grow(&mut self, there: Vec<QueueId>) -> Vec<String> {
        let there: Vec<(String, u16)> = there.into_iter().map(named).collect();
        let missing = self.queues.iter().filter(|queue| !there.contains(queue));
        let missing = missing.map(|(broker, id)| format!("{broker}:{id}")).collect();
        for queue in there {
            if !self.queues.contains(&queue) {
                self.queues.push(queue);
            }
        }
        missing
    }
}

fn named(queue: QueueId) -> (String, u16) {
    (queue.broker, queue.id)
}

impl JobRow {
    /// The record that is in force, with its version; none where the job has never run.
    pub(super) async fn load(remote: &Remote) -> Result<Option<(u64, Self)>, Failure> {
        let Some((version, bytes)) = remote.job().await? else { return Ok(None) };
        let row = Self::decode(&bytes)?;
        Ok(Some((version, row)))
    }

    /// Reads a record.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let row: Self = serde_json::from_slice(bytes).map_err(|error| {
            Error::state(format!("the state's record of the job cannot be read: {error}"))
        })?;
        if row.version != VERSION {
            return Err(Error::state(format!(
                "the state was written by another version of this toolkit (its record has form {}, this program knows {VERSION}); use the program that wrote it, or begin again with another --group and another --state",
                row.version
            )));
        }
        Ok(row)
    }

    /// Puts the record behind version `before`; says whether it is in force, which it is not where another
    /// instance was first.
    pub(super) async fn save(&self, before: u64, remote: &Remote) -> Result<bool, Failure> {
        let bytes = serde_json::to_vec(self)
            .map_err(|error| Error::state(format!("the record of the job cannot be written: {error}")))?;
        remote.put_job(before, &bytes).await
    }

    /// All splits.
    pub(super) fn splits(&self) -> BTreeSet<Split> {
        let stages = (0..).map(Stage).zip(&self.stages);
        stages
            .flat_map(|(stage, queues)| (0..queues.len()).map(move |queue| Split { stage, queue }))
            .collect()
    }

    /// The most queues that one of the first `n_sources` topics has.
    pub(super) fn most_queues(&self, n_sources: usize) -> u16 {
        self.stages.iter().take(n_sources).map(Queues::len).max().unwrap_or(0)
    }

    /// The topics that the job reads.
    pub(super) fn topics(&self) -> Vec<&str> {
        self.stages.iter().map(|queues| queues.topic.as_str()).collect()
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        Incarnation(self.incarnation)
    }

    /// The record of a job that has never run; topics are made where they are missing.
    pub(super) async fn create(
        job: &JobHandle,
        config: &RunConfig,
        cluster: &ClusterConfig,
        stages: &[StagePlan],
        broker: &Broker,
    ) -> Result<Self, Error> {
        let mut read = Vec::new();
        for (port, url) in job.topology.sources().zip(&config.from) {
            let topic = topic_of(url);
            let queues = broker.queues(topic).await.map_err(|error| missing(error, port.name))?;
            read.push(usable(Queues::new(topic, queues.read), "read")?);
        }
        let n = cluster.shuffle_queues;
        for exchange in 0..stages.len() - read.len() {
            let topic = format!("{}-shuffle-{exchange}", cluster.group);
            let made = broker.create_topic(&topic, n, n).await;
            made.map_err(|error| {
                Error::from(ErrorKind::Broker(format!(
                    "the shuffle topic cannot be made: {error}\ncreate it with `mqadmin updateTopic -n {} -c CLUSTER -t {topic} -r {n} -w {n}`, or give the number of its queues with --shuffle-queues",
                    cluster.namesrv.join(";")
                )))
            })?;
            let queues = broker.queues(&topic).await.map_err(failed)?;
            read.push(Queues::new(&topic, queues.read));
        }
        let reached = outputs(stages);
        let mut written = Vec::new();
        for (index, (port, url)) in job.topology.sinks().zip(&config.to).enumerate() {
            let is_reached = reached.contains(&Topic::Output(u16::try_from(index).unwrap_or(u16::MAX)));
            written.push(match url.place() {
                Place::Topic(topic) if is_reached => {
                    if matches!(broker.queues(topic).await, Err(rocketmq::Error::NoTopic { .. })) {
                        note(&format!(
                            "topic `{topic}` (port `{}`) does not exist; creating it with {n} queues",
                            port.name
                        ));
                        broker.create_topic(topic, n, n).await.map_err(failed)?;
                    }
                    let queues = broker.queues(topic).await.map_err(failed)?;
                    Some(usable(Queues::new(topic, queues.write), "written")?)
                }
                _ => None,
            });
        }
        Ok(Self {
            version: VERSION,
            job: job.topology.job.to_owned(),
            group: cluster.group.clone(),
            incarnation: random_number(),
            stages: read,
            outputs: written,
        })
    }

    /// The record that was found, compared with what is asked for and what is there.
    pub(super) async fn compare(
        mut self,
        job: &JobHandle,
        config: &RunConfig,
        cluster: &ClusterConfig,
        stages: &[StagePlan],
        broker: &Broker,
    ) -> Result<Self, Error> {
        let other = |what: &str, has: &str, asked: &str| {
            Error::usage(format!(
                "the state is that of {what} `{has}`, and `{asked}` was asked for; go back to what it was, or begin anew with another --group and another --state directory"
            ))
        };
        if self.job != job.topology.job {
            return Err(other("the job", &self.job, job.topology.job));
        }
        if self.group != cluster.group {
            return Err(other("the group", &self.group, &cluster.group));
        }
        if self.stages.len() != stages.len() {
            return Err(Error::usage(format!(
                "the state is that of a job of {} stages, and this one has {}; begin anew with another --group and another --state directory",
                self.stages.len(),
                stages.len()
            )));
        }
        for (queues, url) in self.stages.iter().zip(&config.from) {
            if queues.topic != topic_of(url) {
                return Err(other("the topic", &queues.topic, topic_of(url)));
            }
        }
        for (queues, url) in self.outputs.iter().zip(&config.to) {
            let asked = matches!(url.place(), Place::Topic(_)).then(|| topic_of(url));
            let has = queues.as_ref().map(|queues| queues.topic.as_str());
            if has != asked {
                return Err(other("the output", has.unwrap_or("print:"), url.as_str()));
            }
        }
        self.look(config.from.len(), broker).await?;
        Ok(self)
    }

    /// Compares with what the brokers have now: sources may have grown, nothing may be missing. Says whether there
    /// are new queues.
    pub(super) async fn look(&mut self, n_sources: usize, broker: &Broker) -> Result<bool, Error> {
        let mut grown = false;
        for (stage, known) in self.stages.iter_mut().enumerate() {
            let there = broker.queues(&known.topic).await.map_err(failed)?.read;
            let (before, n_there) = (known.len(), there.len());
            let missing = known.grow(there);
            gone(known, &missing)?;
            if known.len() > before && stage >= n_sources {
                return Err(ErrorKind::Broker(format!(
                    "shuffle topic `{}` has {n_there} queues and was created with {before}; set it back, since keys belong to queues",
                    known.topic
                ))
                .into());
            }
            grown |= known.len() > before;
        }
        for known in self.outputs.iter().flatten() {
            let there = broker.queues(&known.topic).await.map_err(failed)?.write;
            let missing = known.clone().grow(there);
            gone(known, &missing)?;
        }
        Ok(grown)
    }

    /// Topic and queue that a split reads.
    pub(crate) fn source(&self, split: Split) -> Option<(&str, QueueId)> {
        let queues = self.stages.get(usize::from(split.stage.0))?;
        Some((&queues.topic, queues.queue(split.queue)?))
    }

    /// The queue of a split, for people.
    pub(crate) fn place(&self, split: Split) -> String {
        match self.source(split) {
            Some((topic, queue)) => format!("queue {queue} of topic `{topic}`"),
            None => format!("{split:?}"),
        }
    }

    /// Topic and queue of a target; none for results that are printed.
    pub(super) fn target(&self, target: Target) -> Option<(&str, QueueId)> {
        let queues = match target.topic {
            Topic::Of(Stage(stage)) => self.stages.get(usize::from(stage))?,
            Topic::Output(output) => self.outputs.get(usize::from(output))?.as_ref()?,
        };
        Some((&queues.topic, queues.queue(target.queue)?))
    }
}

fn gone(known: &Queues, missing: &[String]) -> Result<(), Error> {
    if missing.is_empty() {
        return Ok(());
    }
    Err(ErrorKind::Broker(format!(
        "topic `{}` has lost its queues {}; bring the broker back, or begin anew with another --group and another --state directory",
        known.topic,
        missing.join(", ")
    ))
    .into())
}

/// A topic that may not be used has no queue.
fn usable(queues: Queues, done: &str) -> Result<Queues, Error> {
    if queues.len() > 0 {
        return Ok(queues);
    }
    Err(ErrorKind::Broker(format!(
        "topic `{}` has no queue that can be {done}; permit it: `mqadmin updateTopic -t {0} -p 6`",
        queues.topic
    ))
    .into())
}

fn missing(error: rocketmq::Error, port: &str) -> Error {
    match error {
        rocketmq::Error::NoTopic { topic } => ErrorKind::Broker(format!(
            "topic `{topic}` (port `{port}`) does not exist; create it, or name another with --from {port}=topic:NAME"
        ))
        .into(),
        other => failed(other),
    }
}

fn topic_of(url: &Url) -> &str {
    match url.place() {
        Place::Topic(topic) => topic,
        _ => "",
    }
}
