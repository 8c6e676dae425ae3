//! The state of splits in a topic: for the groups of jobs without a shuffle, whose state is little enough to be
//! written whole with every commit. No server beside the brokers is needed.
//!
//! The topic is called `GROUP-state` and lies on one broker. Queue 0 has the record of the job, and each split a
//! queue of its own, whose log [`entry`] explains. What survives: everything, as long as the broker keeps what it
//! has acknowledged; but a group of which no instance runs for longer than the topic's retention (three days
//! unless it was changed) begins anew, at the offsets that it last reported.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use streams_core::protocol::assign::Member;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::instance::Holder;
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::{CommitOutcome, Found};
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store as _};

use super::random_number;
use super::remote::Failure;
use crate::error::{Error, ErrorKind};
use crate::rocketmq::{self, Broker, Outgoing, QueueId, Sent};

mod entry;

use entry::{Commit, Entry, Record, Standing, Taken};

/// The queue of the job's record.
const RECORD: u16 = 0;
/// Entries that are read at a time when a log is read from its end.
const BLOCK: u64 = 8;
/// A split's state may have so many bytes: a message may have four million.
const MOST_BYTES: usize = 3_000_000;
/// How often, and how far apart, is looked for what the broker has acknowledged: its index lags behind.
const LOOKS: u32 = 200;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The logs of a group.
#[derive(Clone)]
pub(super) struct Log {
    inner: Arc<Inner>,
}

struct Inner {
    broker: Broker,
    topic: String,
    /// The broker that has the topic.
    home: String,
    me: Member,
    n_sources: u16,
    /// Splits of which this instance is or was the owner.
    splits: Mutex<BTreeMap<Split, Own>>,
    /// Takes whose fate is unknown: the same entry is written again, since two would fence each other.
    takes: Mutex<BTreeMap<Split, u64>>,
}

/// What an owner knows of its split.
#[derive(Debug, Clone)]
struct Own {
    standing: Standing,
    rows: MemoryStore,
    /// The offset that the next entry will have if nobody else writes.
    next: u64,
}

impl Log {
    /// Opens the logs of a group, of as many queues as may be needed for `n_queues` of each of `n_sources` topics.
    pub(super) async fn open(
        broker: &Broker,
        group: &str,
        me: &str,
        n_sources: u16,
        n_queues: u16,
    ) -> Result<Self, rocketmq::Error> {
        let topic = format!("{group}-state");
        let home = broker.widen_topic(&topic, 1 + n_sources * n_queues).await?;
        let inner = Inner {
            broker: broker.clone(),
            topic,
            home,
            me: me.to_owned(),
            n_sources,
            splits: Mutex::default(),
            takes: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Sees to it that there is a log for each of `n_queues` of each source.
    pub(super) async fn widen(&self, n_queues: u16) -> Result<(), Failure> {
        let n = 1 + self.inner.n_sources * n_queues;
        self.inner.broker.widen_topic(&self.inner.topic, n).await.map(drop).map_err(Failure::from)
    }

    /// The job's record with its version.
    pub(super) async fn job(&self) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        let found = self.record(None).await?;
        Ok(found.map(|record| (record.version, record.bytes)))
    }

    /// Writes the job's record behind version `before`; says whether it is in force.
    pub(super) async fn put_job(&self, before: u64, bytes: &[u8]) -> Result<bool, Failure> {
        let record = Record { version: before + 1, repeated: false, bytes: bytes.to_vec() };
        let offset = self.append(&self.queue(RECORD), &Entry::Job(record.clone())).await?;
        Ok(self.record(Some(offset + 1)).await?.is_some_and(|found| found.bytes == record.bytes))
    }

    /// Writes the record that is in force once more, so that it outlives the topic's retention.
    pub(super) async fn repeat_job(&self) -> Result<(), Failure> {
        if let Some(record) = self.record(None).await? {
            let again = Entry::Job(Record { repeated: true, ..record });
            self.append(&self.queue(RECORD), &again).await?;
        }
        Ok(())
    }

    /// The record that is in force in front of `end`, or now.
    async fn record(&self, end: Option<u64>) -> Result<Option<Record>, Failure> {
        let queue = self.queue(RECORD);
        let (min, max) = self.end(&queue).await?;
        let entries = self.read(&queue, min, end.unwrap_or(max)).await?;
        Ok(entry::record(entries.into_iter().filter_map(|(_, entry)| match entry {
            Entry::Job(record) => Some(record),
            Entry::Taken(_) | Entry::Commit(_) => None,
        })))
    }

    /// Takes the split; `None` where other code did not leave it clean.
    pub(super) async fn raise(&self, split: Split, fingerprint: u64) -> Result<Option<Token>, Failure> {
        let queue = self.queue_of(split);
        let (min, max) = self.end(&queue).await?;
        let refused = |standing: &Option<Standing>| {
            standing.as_ref().is_some_and(|standing| standing.belongs_to_other_code(fingerprint))
        };
        if refused(&self.standing(&queue, min, max).await?) {
            return Ok(None);
        }
        let nonce = *self.takes().entry(split).or_insert_with(random_number);
        let taken = Taken { nonce, member: self.inner.me.clone(), fingerprint };
        let offset = self.append(&queue, &Entry::Taken(taken.clone())).await?;
        self.takes().remove(&split);
        // Order: what stands in front of the entry is all that the owners before this one will ever have made.
        let before = self.standing(&queue, min, offset).await?;
        if refused(&before) {
            return Ok(None);
        }
        let Some(standing) = entry::fold(before, offset, Entry::Taken(taken)) else { return Ok(None) };
        let token = standing.token();
        let rows = rows_of(&standing)?;
        self.splits().insert(split, Own { standing, rows, next: offset + 1 });
        Ok(Some(token))
    }

    /// What the last commit left of a split that this instance has taken; none before snapshot 0.
    pub(super) fn read_snapshot(&self, split: Split) -> Result<Option<Found>, Failure> {
        let splits = self.splits();
        let Some(own) = splits.get(&split) else { return Ok(None) };
        let Standing { version, takes, snapshot: Some(bytes), .. } = &own.standing else { return Ok(None) };
        Ok(Some(Found { version: *version, snapshot: Box::new(decode(bytes)?), is_next: *takes == 1 }))
    }

    /// Whose the split is, as far as its log reaches now; none where nobody ever had it.
    pub(super) async fn holder(&self, split: Split) -> Result<Option<Holder>, Failure> {
        Ok(self.now(split).await?.map(|standing| standing.holder()))
    }

    /// The last snapshot of a split.
    pub(super) async fn snapshot(&self, split: Split) -> Result<Option<Snapshot>, Failure> {
        let standing = self.now(split).await?;
        standing.and_then(|standing| standing.snapshot).as_deref().map(decode).transpose()
    }

    async fn now(&self, split: Split) -> Result<Option<Standing>, Failure> {
        let queue = self.queue_of(split);
        let (min, max) = self.end(&queue).await?;
        self.standing(&queue, min, max).await
    }

    /// Rows of a split that this instance has taken.
    pub(super) fn rows(&self, split: Split) -> MemoryStore {
        self.splits().get(&split).map(|own| own.rows.clone()).unwrap_or_default()
    }

    /// Commits if token and version are still these.
    pub(super) async fn commit(
        &self,
        split: Split,
        (token, version): (Token, u64),
        snapshot: &Snapshot,
        delta: &Delta,
        clean: bool,
    ) -> Result<CommitOutcome, Failure> {
        let own = self.splits().get(&split).cloned();
        let Some(mut own) = own.filter(|own| own.standing.token() == token) else {
            return Ok(CommitOutcome::Fenced);
        };
        if own.standing.version != version {
            return Ok(CommitOutcome::Fenced);
        }
        let fatal = |error: &dyn std::fmt::Display| Failure::Fatal(Error::state(error));
        own.rows.commit(delta).map_err(|error| fatal(&error))?;
        let commit = Commit {
            at: own.next,
            owner: own.standing.owner.clone(),
            epoch: token.epoch,
            version: version + 1,
            clean,
            snapshot: snapshot.encode().map_err(|error| fatal(&error))?,
            rows: own.rows.rows().map(|(key, value)| (key.to_vec(), value.to_vec())).collect(),
        };
        let queue = self.queue_of(split);
        let entry = Entry::Commit(Box::new(commit));
        let Ok(offset) = self.send(&queue, &entry).await? else {
            // Whether it was stored shows when the split is observed.
            return Ok(CommitOutcome::Unknown);
        };
        let mut standing = Some(own.standing);
        // Where somebody else has written meanwhile, the order of the queue decides.
        let between = match offset == own.next {
            true => vec![(offset, entry)],
            false => self.read(&queue, own.next, offset + 1).await?,
        };
        for (offset, entry) in between {
            standing = entry::fold(standing, offset, entry);
        }
        let Some(standing) = standing.filter(|standing| standing.token() == token) else {
            return Ok(CommitOutcome::Fenced);
        };
        self.splits().insert(split, Own { standing, rows: own.rows, next: offset + 1 });
        Ok(CommitOutcome::Done)
    }

    /// Token and version of a split that this instance has taken, when a commit's fate is unknown.
    pub(super) async fn observe(&self, split: Split) -> Result<Option<(Token, u64)>, Failure> {
        let queue = self.queue_of(split);
        let own = self.splits().get(&split).cloned();
        let Some(own) = own else { return Ok(None) };
        let (_, max) = self.end(&queue).await?;
        let mut standing = Some(own.standing);
        for (offset, entry) in self.read(&queue, own.next, max).await? {
            standing = entry::fold(standing, offset, entry);
        }
        let Some(standing) = standing else { return Ok(None) };
        let answer = (standing.token(), standing.version);
        let rows = rows_of(&standing)?;
        self.splits().insert(split, Own { standing, rows, next: own.next.max(max) });
        Ok(Some(answer))
    }

    fn takes(&self) -> MutexGuard<'_, BTreeMap<Split, u64>> {
        self.inner.takes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn splits(&self) -> MutexGuard<'_, BTreeMap<Split, Own>> {
        self.inner.splits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, id: u16) -> QueueId {
        QueueId { broker: self.inner.home.clone(), id }
    }

    fn queue_of(&self, split: Split) -> QueueId {
        self.queue(1 + split.queue * self.inner.n_sources + split.stage.0)
    }

    /// The first offset and the one behind the last.
    async fn end(&self, queue: &QueueId) -> Result<(u64, u64), Failure> {
        Ok(self.inner.broker.bounds(&self.inner.topic, queue).await?)
    }

    /// How a split stands in front of `end`. Reads from there back to the last entry that says all.
    async fn standing(&self, queue: &QueueId, min: u64, end: u64) -> Result<Option<Standing>, Failure> {
        let mut entries: Vec<(u64, Entry)> = Vec::new();
        let mut from = end;
        while from > min && !entries.first().is_some_and(|(offset, entry)| entry.stands_alone(*offset)) {
            let to = from;
            from = to.saturating_sub(BLOCK).max(min);
            entries.splice(0..0, self.read(queue, from, to).await?);
            let base = entries.iter().rposition(|(offset, entry)| entry.stands_alone(*offset));
            entries.drain(..base.unwrap_or(0));
        }
        let is_whole = entries.first().is_some_and(|(offset, entry)| entry.stands_alone(*offset));
        if min > 0 && !is_whole {
            return Err(Failure::Fatal(
                ErrorKind::Broker(format!(
                    "queue {queue} of topic `{}` has lost the state of a split: it holds {min} to {end}, and nothing in there says how the split stands; the group did not run for longer than the broker keeps messages: begin with another --group",
                    self.inner.topic
                ))
                .into(),
            ));
        }
        Ok(entries.into_iter().fold(None, |standing, (offset, entry)| entry::fold(standing, offset, entry)))
    }

    /// The entries from `from` on and in front of `to`, which are known to be stored.
    async fn read(&self, queue: &QueueId, from: u64, to: u64) -> Result<Vec<(u64, Entry)>, Failure> {
        let Inner { broker, topic, .. } = &*self.inner;
        let mut found = Vec::new();
        let mut at = from;
        for _ in 0..LOOKS {
            if at >= to {
                return Ok(found);
            }
            let most = u32::try_from(to - at).unwrap_or(u32::MAX);
            match broker.pull(topic, queue, at, most, 0).await {
                Ok(pulled) => {
                    for message in pulled.messages.iter().filter(|message| message.offset < to) {
                        let entry = Entry::decode(&message.body).map_err(|error| {
                            let place = format!("offset {} of queue {queue} of topic `{topic}`", message.offset);
                            Failure::Fatal(Error::state(format!(
                                "{place} is no entry of a state's log: {error}; the topic belongs to the group alone"
                            )))
                        })?;
                        found.push((message.offset, entry));
                        at = message.offset + 1;
                    }
                    if pulled.messages.is_empty() {
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                }
                // Its index has not come that far.
                Err(rocketmq::Error::OutOfRange { max, .. }) if at >= max => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                Err(rocketmq::Error::OutOfRange { min, .. }) if at < min => at = min,
                Err(other) => return Err(other.into()),
            }
        }
        Err(Failure::Away(format!("queue {queue} of topic `{topic}` does not show what was stored at {at}")))
    }

    /// Writes an entry: its offset.
    async fn append(&self, queue: &QueueId, entry: &Entry) -> Result<u64, Failure> {
        self.send(queue, entry).await?.map_err(Failure::Away)
    }

    /// Writes an entry: its offset, or why nobody knows.
    async fn send(&self, queue: &QueueId, entry: &Entry) -> Result<Result<u64, String>, Failure> {
        let Inner { broker, topic, .. } = &*self.inner;
        let body = entry.encode().map_err(|error| Failure::Fatal(Error::state(error)))?;
        if body.len() > MOST_BYTES {
            return Err(Failure::Fatal(Error::state(format!(
                "the state of a queue has {} bytes, and {MOST_BYTES} fit into a message of topic `{topic}`; keep it in a database with --remote",
                body.len()
            ))));
        }
        let message = Outgoing { body: body.into(), ..Outgoing::default() };
        match broker.send(topic, queue, &[message]).await? {
            Sent::Stored { offset } => Ok(Ok(offset)),
            Sent::Unknown(reason) => Ok(Err(reason)),
            Sent::Refused(reason) => Err(Failure::Fatal(ErrorKind::Broker(reason).into())),
        }
    }
}

fn decode(bytes: &[u8]) -> Result<Snapshot, Failure> {
    Snapshot::decode(bytes).map_err(|error| {
        Failure::Fatal(Error::state(format!("the snapshot of a queue cannot be read: {error}")))
    })
}

fn rows_of(standing: &Standing) -> Result<MemoryStore, Failure> {
    let mut delta = Delta::new();
    standing.rows.iter().for_each(|(key, value)| delta.put(key, value));
    let mut rows = MemoryStore::new();
    rows.commit(&delta).map_err(|error| Failure::Fatal(Error::state(error)))?;
    Ok(rows)
}
