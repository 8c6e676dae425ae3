//! Reading a queue from an offset on.

use std::collections::BTreeMap;

use bytes::{Buf as _, Bytes};
use rocketmq_model::common::message::MessageConst;
use rocketmq_model::common::message::message_ext::MessageExt;
use rocketmq_model::common::sys_flag::message_sys_flag::MessageSysFlag;
use rocketmq_protocol::code::response_code::ResponseCode;
use rocketmq_protocol::common::message::message_decoder;
use rocketmq_protocol::protocol::header::pull_message_request_header::PullMessageRequestHeader;
use rocketmq_protocol::{RemotingCommand, RequestCode};
use xxhash_rust::xxh3::xxh3_64;

use super::broker::{Broker, offset as offset_of};
use super::codes::is;
use super::error::Error;
use super::route::QueueId;
use super::wire::{ANSWER_MS, Lane};

/// Flags of the request: wait if nothing is there, and all that is filtered by is in the request itself.
const MAY_WAIT: i32 = 1 << 1;
const SELF_CONTAINED: i32 = 1 << 2;

/// The broker looks at waiting requests every five seconds, and may end a wait so much later.
const LATE_MS: u64 = 5_000;

/// What a pull found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// In the order of their offsets, none below the one asked for. Offsets can be missing between them where
    /// the topic is compacted.
    pub messages: Vec<PulledMessage>,
    /// Where to go on: behind the last message, or further where the broker knows of a hole.
    pub next: u64,
    /// The first offset of the queue.
    pub min: u64,
    /// One behind the last that consumers can see.
    pub max: u64,
    /// Whether the master answered. A replica may not have the newest messages.
    pub from_master: bool,
}

/// A message of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledMessage {
    /// Its place in the queue.
    pub offset: u64,
    /// The same whenever it is read, also from a replica; another one for another message.
    pub id: u64,
    /// When the broker stored it, by the broker's clock.
    pub stored_ms: i64,
    /// Its content, decompressed.
    pub body: Bytes,
    /// The word that consumers choose by.
    pub tags: Option<String>,
    /// Words that tools find it by, separated by spaces.
    pub keys: Option<String>,
    /// All other properties, the broker's own among them.
    pub properties: BTreeMap<String, String>,
}

impl Broker {
    /// Messages of a queue from `offset` on, at most `max_messages`: the broker has limits of its own, 32
    /// unless they were raised. If none is there, waits for one about `wait_ms` long, and up to five seconds
    /// longer; then gives none.
    ///
    /// Reads from the master, or from a replica where there is no master.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when the queue does not reach to the offset, [`Error::Away`] when the broker is
    /// not there.
    pub async fn pull(
        &self,
        topic: &str,
        queue: &QueueId,
        offset: u64,
        max_messages: u32,
        wait_ms: u64,
    ) -> Result<Pulled, Error> {
        let place = || format!("reading queue {queue} of topic `{topic}` at {offset}");
        let wrong = |what: &str| Error::Config { what: format!("{}: {what}", place()) };
        let header = PullMessageRequestHeader {
            consumer_group: self.config.group.as_str().into(),
            topic: topic.into(),
            lite_topic: None,
            queue_id: queue.id.into(),
            queue_offset: i64::try_from(offset).map_err(|_| wrong("there is no such offset"))?,
            max_msg_nums: i32::try_from(max_messages.max(1)).unwrap_or(i32::MAX),
            sys_flag: if wait_ms > 0 { MAY_WAIT | SELF_CONTAINED } else { SELF_CONTAINED },
            commit_offset: 0,
            suspend_timeout_millis: wait_ms,
            sub_version: 0,
            subscription: Some("*".into()),
            expression_type: Some("TAG".into()),
            max_msg_bytes: None,
            request_source: None,
            proxy_forward_client_id: None,
            topic_request: None,
        };
        let request = RemotingCommand::create_request_command(RequestCode::PullMessage, header);
        let target = self.names.target(&self.wire, topic, queue).await?;
        let limit_ms =
            ANSWER_MS.saturating_add(if wait_ms > 0 { wait_ms.saturating_add(LATE_MS) } else { 0 });
        let mut answer =
            self.wire.call(Lane::Pull, &target.address, request, limit_ms).await.map_err(|lost| {
                self.names.forget(topic);
                Error::Away { place: place(), reason: lost.reason() }
            })?;
        let nothing =
            is(&answer, ResponseCode::PullNotFound) || is(&answer, ResponseCode::PullRetryImmediately);
        let moved = is(&answer, ResponseCode::PullOffsetMoved);
        if !nothing && !moved {
            self.judged(place, topic, &answer)?;
        }
        let min = offset_of(place, "minOffset", &answer)?;
        let max = offset_of(place, "maxOffset", &answer)?;
        if moved && !target.is_master && offset > max {
            return Err(Error::Away { place: place(), reason: "the replica has not come so far".to_owned() });
        }
        if moved {
            return Err(Error::OutOfRange {
                topic: topic.to_owned(),
                queue: queue.clone(),
                offset,
                min,
                max,
            });
        }
        let next = offset_of(place, "nextBeginOffset", &answer)?;
        let messages = match answer.take_body() {
            Some(body) if !nothing => messages(body),
            _ => Ok(Vec::new()),
        };
        let garbled = |what: String| Error::Garbled { place: place(), what };
        let mut messages = messages.map_err(garbled)?;
        // The broker starts at the block of its index that has the offset, if the topic is compacted.
        messages.retain(|message| message.offset >= offset);
        if !messages.is_sorted_by(|a, b| a.offset < b.offset) {
            return Err(garbled("the messages are not in order".to_owned()));
        }
        let behind = messages.last().map_or(offset, |last| last.offset.saturating_add(1));
        Ok(Pulled { messages, next: next.max(behind), min, max, from_master: target.is_master })
    }
}

/// All messages of an answer's body, or what is wrong with it: to skip one would be to lose it.
fn messages(mut body: Bytes) -> Result<Vec<PulledMessage>, String> {
    let mut messages = Vec::new();
    while body.has_remaining() {
        let decoded = message_decoder::decode(&mut body, true, true, true, false, true);
        let decoded = decoded.ok_or("a message is damaged, or compressed in an unknown way")?;
        messages.push(message(&decoded)?);
    }
    Ok(messages)
}

fn message(from: &MessageExt) -> Result<PulledMessage, String> {
    if from.sys_flag() & MessageSysFlag::INNER_BATCH_FLAG != 0 {
        return Err("the topic keeps batches as one message each".to_owned());
    }
    let offset = from.queue_offset();
    let offset = u64::try_from(offset).map_err(|_| format!("a message has the offset {offset}"))?;
    let mut properties = BTreeMap::new();
    for (name, value) in from.message.properties().as_map() {
        properties.insert(name.to_string(), value.to_string());
    }
    Ok(PulledMessage {
        offset,
        id: xxh3_64(from.msg_id().as_bytes()),
        stored_ms: from.store_timestamp(),
        body: from.body().unwrap_or_default(),
        tags: properties.remove(MessageConst::PROPERTY_TAGS),
        keys: properties.remove(MessageConst::PROPERTY_KEYS),
        properties,
    })
}
