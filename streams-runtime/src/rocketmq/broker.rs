//! The entry: a connection to a cluster, its topics, and the bounds and reported positions of queues.

use std::sync::Arc;
use std::time::Duration;

use rocketmq_protocol::code::response_code::ResponseCode;
use rocketmq_protocol::protocol::header::create_topic_request_header::CreateTopicRequestHeader;
use rocketmq_protocol::protocol::header::get_max_offset_request_header::GetMaxOffsetRequestHeader;
use rocketmq_protocol::protocol::header::get_min_offset_request_header::GetMinOffsetRequestHeader;
use rocketmq_protocol::protocol::header::query_consumer_offset_request_header::QueryConsumerOffsetRequestHeader;
use rocketmq_protocol::protocol::header::search_offset_request_header::SearchOffsetRequestHeader;
use rocketmq_protocol::protocol::header::update_consumer_offset_header::UpdateConsumerOffsetRequestHeader;
use rocketmq_protocol::{RemotingCommand, RequestCode};
use tokio::time::sleep;

use super::codes::{accepted, is};
use super::config::{Config, group_name};
use super::error::Error;
use super::route::{Names, QueueId, Queues, Target};
use super::wire::{ANSWER_MS, Lane, Wire};

const READ_AND_WRITE: i32 = 6;

/// How often, and how far apart, is looked whether the name servers know a new topic.
const LOOKS: u32 = 50;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The brokers of a cluster. Clones share their connections, which close when the last of them is dropped, or
/// by [`Broker::shutdown`].
#[derive(Clone, Debug)]
pub struct Broker {
    pub(super) config: Arc<Config>,
    pub(super) wire: Arc<Wire>,
    pub(super) names: Arc<Names>,
}

impl Broker {
    /// Connects to the first name server that answers.
    ///
    /// # Errors
    /// When the configuration cannot be meant, and within seven seconds per address when none answers.
    /// Whether any broker is there is not asked yet.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        config.check()?;
        let wire = Wire::new(config)?;
        let broker = Self {
            config: Arc::new(config.clone()),
            wire: Arc::new(wire),
            names: Arc::new(Names::new(&config.namesrv)),
        };
        match broker.names.cluster(&broker.wire).await {
            Ok(_) => Ok(broker),
            Err(error) => {
                broker.shutdown().await;
                Err(error)
            }
        }
    }

    /// The queues of `topic`, as the name servers know them now.
    ///
    /// # Errors
    /// [`Error::NoTopic`] when no broker has the topic and all that ever had it in this process's time are
    /// there; [`Error::Away`] when one of them is down.
    pub async fn queues(&self, topic: &str) -> Result<Queues, Error> {
        Ok(self.names.fresh(&self.wire, topic).await?.queues())
    }

    /// Creates `topic` with so many queues on every broker, and waits until the name servers know it. Does
    /// nothing if it is there already with the same number.
    ///
    /// # Errors
    /// [`Error::Refused`] when it is there with other numbers: that would change it under those who use it.
    pub async fn create_topic(&self, topic: &str, n_read: u16, n_write: u16) -> Result<(), Error> {
        let place = || format!("creating topic `{topic}`");
        match self.queues(topic).await {
            Ok(queues) => return as_asked(place(), &queues, n_read, n_write),
            Err(Error::NoTopic { .. }) => {}
            Err(other) => return Err(other),
        }
        let brokers = self.names.cluster(&self.wire).await?;
        for (name, address) in &brokers {
            self.set_queues(topic, (name, address.as_deref()), n_read, n_write).await?;
        }
        for _ in 0..LOOKS {
            match self.queues(topic).await {
                Ok(queues)
                    if brokers.keys().all(|name| queues.write.iter().any(|queue| queue.broker == *name)) =>
                {
                    return as_asked(place(), &queues, n_read, n_write);
                }
                Ok(_) | Err(Error::NoTopic { .. }) => sleep(LOOK_AGAIN).await,
                Err(other) => return Err(other),
            }
        }
        Err(Error::Away {
            place: place(),
            reason: "created, but the name server does not know it yet".to_owned(),
        })
    }

    /// Sees to it that `topic` has at least `n` queues on one broker, and on no other: the name of that broker.
    /// A topic that is not there is created on the first broker by name; queues are never removed.
    ///
    /// # Errors
    /// When its broker is away or refuses.
    pub async fn widen_topic(&self, topic: &str, n: u16) -> Result<String, Error> {
        let brokers = self.names.cluster(&self.wire).await?;
        let there = match self.queues(topic).await {
            Ok(queues) => queues.write,
            Err(Error::NoTopic { .. }) => Vec::new(),
            Err(other) => return Err(other),
        };
        let home = there.first().map(|queue| queue.broker.clone());
        let home = home.or_else(|| brokers.keys().next().cloned()).ok_or_else(|| Error::Away {
            place: format!("creating topic `{topic}`"),
            reason: "the name server knows no broker".to_owned(),
        })?;
        if there.len() >= usize::from(n) {
            return Ok(home);
        }
        let address = brokers.get(&home).cloned().flatten();
        self.set_queues(topic, (&home, address.as_deref()), n, n).await?;
        for _ in 0..LOOKS {
            match self.queues(topic).await {
                Ok(queues) if queues.write.len() >= usize::from(n) => return Ok(home),
                Ok(_) | Err(Error::NoTopic { .. }) => sleep(LOOK_AGAIN).await,
                Err(other) => return Err(other),
            }
        }
        Err(Error::Away {
            place: format!("creating topic `{topic}`"),
            reason: "created, but the name server does not know it yet".to_owned(),
        })
    }

    /// Creates a topic on one broker, or changes the numbers of its queues there.
    async fn set_queues(
        &self,
        topic: &str,
        (name, address): (&str, Option<&str>),
        n_read: u16,
        n_write: u16,
    ) -> Result<(), Error> {
        let place = || format!("creating topic `{topic}` on broker `{name}`");
        let away = |reason: String| Error::Away { place: place(), reason };
        let address = address.ok_or_else(|| away("its master is down".to_owned()))?;
        let header = CreateTopicRequestHeader {
            topic: topic.into(),
            default_topic: "TBW102".into(),
            read_queue_nums: n_read.into(),
            write_queue_nums: n_write.into(),
            perm: READ_AND_WRITE,
            topic_filter_type: "SINGLE_TAG".into(),
            topic_sys_flag: Some(0),
            order: false,
            attributes: None,
            force: Some(false),
            topic_request_header: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::UpdateAndCreateTopic, header);
        let answer = self.wire.call(Lane::Control, address, request, ANSWER_MS).await;
        accepted(place, &answer.map_err(|lost| away(lost.reason()))?)
    }

    /// The first offset of a queue and the one behind its last message, as its master knows them. The second
    /// may not count yet what was stored a moment ago; it does behind [`Broker::settle`].
    ///
    /// # Errors
    /// When the master is away, or there is no such queue.
    pub async fn bounds(&self, topic: &str, queue: &QueueId) -> Result<(u64, u64), Error> {
        let place = || format!("asking for the bounds of queue {queue} of topic `{topic}`");
        let header = GetMinOffsetRequestHeader {
            topic: topic.into(),
            queue_id: queue.id.into(),
            topic_request_header: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::GetMinOffset, header);
        let min = offset(place, "offset", &self.of_master(place, topic, queue, request).await?)?;
        let header = GetMaxOffsetRequestHeader {
            topic: topic.into(),
            queue_id: queue.id.into(),
            committed: true,
            topic_request_header: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::GetMaxOffset, header);
        let max = offset(place, "offset", &self.of_master(place, topic, queue, request).await?)?;
        // The oldest messages may have been deleted between the two questions.
        Ok((min, max.max(min)))
    }

    /// The offset of the first message that was stored at `timestamp_ms` or later; if there is none, the one
    /// behind the last message.
    ///
    /// # Errors
    /// When the master is away, or there is no such queue.
    pub async fn offset_at(&self, topic: &str, queue: &QueueId, timestamp_ms: i64) -> Result<u64, Error> {
        let place = || format!("asking for the offset at a time in queue {queue} of topic `{topic}`");
        let header = SearchOffsetRequestHeader {
            topic: topic.into(),
            lite_topic: None,
            queue_id: queue.id.into(),
            timestamp: timestamp_ms,
            boundary_type: Default::default(),
            topic_request_header: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::SearchOffsetByTimestamp, header);
        offset(place, "offset", &self.of_master(place, topic, queue, request).await?)
    }

    /// Tells the broker how far `group` has come, for tools that show its lag.
    ///
    /// # Errors
    /// When the master is away, or there is no such queue; [`Error::Refused`] when the broker has no such
    /// group: it does once a member has joined.
    pub async fn report(&self, group: &str, topic: &str, queue: &QueueId, offset: u64) -> Result<(), Error> {
        group_name(group)?;
        let place = || format!("reporting the offset of group `{group}` in queue {queue} of topic `{topic}`");
        let wrong = |_| Error::Config { what: format!("{}: {offset} is no offset", place()) };
        let header = UpdateConsumerOffsetRequestHeader {
            consumer_group: group.into(),
            topic: topic.into(),
            queue_id: queue.id.into(),
            commit_offset: i64::try_from(offset).map_err(wrong)?,
            topic_request_header: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::UpdateConsumerOffset, header);
        self.of_master(place, topic, queue, request).await.map(drop)
    }

    /// What was reported last; `None` if nothing ever was.
    ///
    /// # Errors
    /// When the master is away, or there is no such queue.
    pub async fn reported(&self, group: &str, topic: &str, queue: &QueueId) -> Result<Option<u64>, Error> {
        group_name(group)?;
        let place = || {
            format!("asking for the reported offset of group `{group}` in queue {queue} of topic `{topic}`")
        };
        let header = QueryConsumerOffsetRequestHeader {
            consumer_group: group.into(),
            topic: topic.into(),
            queue_id: queue.id.into(),
            set_zero_if_not_found: Some(false),
            topic_request_header: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::QueryConsumerOffset, header);
        let answer = self.unjudged(place, topic, queue, request).await?;
        if is(&answer, ResponseCode::QueryNotFound) {
            return Ok(None);
        }
        self.judged(place, topic, &answer)?;
        offset(place, "offset", &answer).map(Some)
    }

    /// Closes all connections, of clones too. Members that did not leave are gone with them.
    pub async fn shutdown(&self) {
        self.wire.shutdown().await;
    }

    /// Where to find a queue's master.
    pub(super) async fn master(
        &self,
        place: impl Fn() -> String,
        topic: &str,
        queue: &QueueId,
    ) -> Result<Target, Error> {
        let target = self.names.target(&self.wire, topic, queue).await?;
        if target.is_master {
            return Ok(target);
        }
        self.names.forget(topic);
        Err(Error::Away {
            place: place(),
            reason: format!("the master of broker `{}` is down", queue.broker),
        })
    }

    pub(super) async fn of_master(
        &self,
        place: impl Fn() -> String,
        topic: &str,
        queue: &QueueId,
        request: RemotingCommand,
    ) -> Result<RemotingCommand, Error> {
        let answer = self.unjudged(&place, topic, queue, request).await?;
        self.judged(place, topic, &answer)?;
        Ok(answer)
    }

    async fn unjudged(
        &self,
        place: impl Fn() -> String,
        topic: &str,
        queue: &QueueId,
        request: RemotingCommand,
    ) -> Result<RemotingCommand, Error> {
        let target = self.master(&place, topic, queue).await?;
        self.wire.call(Lane::Control, &target.address, request, ANSWER_MS).await.map_err(|lost| {
            self.names.forget(topic);
            Error::Away { place: place(), reason: lost.reason() }
        })
    }

    /// Brokers move and topics change; after a no, the next call asks the name servers again.
    pub(super) fn judged(
        &self,
        place: impl Fn() -> String,
        topic: &str,
        answer: &RemotingCommand,
    ) -> Result<(), Error> {
        accepted(place, answer).inspect_err(|_| self.names.forget(topic))
    }
}

/// A number in an answer's header.
pub(super) fn number<N: std::str::FromStr>(
    place: impl Fn() -> String,
    name: &str,
    answer: &RemotingCommand,
) -> Result<N, Error> {
    let value = answer.ext_fields().and_then(|fields| fields.get(name));
    value.and_then(|value| value.parse().ok()).ok_or_else(|| Error::Garbled {
        place: place(),
        what: match value {
            Some(value) => format!("the answer has `{value}` as `{name}`"),
            None => format!("the answer has no `{name}`"),
        },
    })
}

/// An offset in an answer's header; brokers say -1 for a queue that nothing was ever written to.
pub(super) fn offset(place: impl Fn() -> String, name: &str, answer: &RemotingCommand) -> Result<u64, Error> {
    number::<i64>(place, name, answer).map(|offset| u64::try_from(offset).unwrap_or(0))
}

fn as_asked(place: String, queues: &Queues, n_read: u16, n_write: u16) -> Result<(), Error> {
    let differs = |queues: &[QueueId], n: u16| {
        let mut brokers: Vec<&str> = queues.iter().map(|queue| queue.broker.as_str()).collect();
        brokers.dedup();
        queues.len() != brokers.len() * usize::from(n) || (queues.is_empty() && n > 0)
    };
    if differs(&queues.read, n_read) || differs(&queues.write, n_write) {
        return Err(Error::Refused {
            place,
            reason: format!(
                "it exists with {} queues to read and {} to write to, not with {n_read} and {n_write} on each \
                 broker",
                queues.read.len(),
                queues.write.len()
            ),
            remedy: "use another name, or change the topic with the broker's own tools",
        });
    }
    Ok(())
}
