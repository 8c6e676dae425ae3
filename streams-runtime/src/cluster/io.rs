//! What brokers are asked, as tasks: each ends with what came of one action.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use streams_core::protocol::frame::Frame;
use streams_core::protocol::ids::{Incarnation, Split, Target, Topic};
use streams_core::protocol::worker::Message;

use super::message;
use crate::cli::StartPosition;
use crate::rocketmq::{Broker, Error, QueueId, Sent};

/// How many messages a pull asks for: records of a source, or frames of many records.
const RECORDS: u32 = 256;
const FRAMES: u32 = 4;
/// How long a broker may keep a pull that finds nothing.
const WAIT_MS: u64 = 1_000;
/// Between two attempts, at first and at the most.
const PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 5_000;

/// What a pull found.
pub(super) struct Polled {
    pub(super) messages: Vec<Message>,
    pub(super) min: u64,
    pub(super) max: u64,
    /// The id of the message in front of the offset that was asked for.
    pub(super) before: Option<u64>,
    pub(super) fresh: bool,
}

/// A queue to read, and how.
pub(crate) struct Source {
    pub(crate) topic: String,
    pub(crate) queue: QueueId,
    pub(crate) is_shuffle: bool,
    /// Messages with one of these are asked for; all where there are none.
    pub(crate) tags: Vec<String>,
}

/// How long to wait behind so many failures in a row; spread, so that workers do not come together.
pub(super) fn pause(failures: u32) -> Duration {
    let most = PAUSE_MS.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE_MS);
    let spread = super::random_number() % (most / 2).max(1);
    Duration::from_millis(most / 2 + spread)
}

/// Where reading begins.
pub(crate) async fn resolve(
    broker: &Broker,
    source: &Source,
    start: StartPosition,
    reported: Option<&str>,
) -> Result<u64, Error> {
    let Source { topic, queue, .. } = source;
    let (min, max) = broker.bounds(topic, queue).await?;
    // Without a state the group's own offset is all that is known of an earlier run.
    if let Some(group) = reported
        && let Some(offset) = broker.reported(group, topic, queue).await?
        && (min..=max).contains(&offset)
    {
        return Ok(offset);
    }
    match start {
        StartPosition::Earliest => Ok(min),
        StartPosition::Latest => Ok(max),
        StartPosition::At(ms) => Ok(broker.offset_at(topic, queue, ms).await?.clamp(min, max)),
    }
}

/// Messages from `offset` on; `known` is the id of a message that was read before, with the offset behind it. Where
/// none is there the broker waits for one, if it `waits`.
pub(super) async fn poll(
    broker: &Broker,
    source: &Source,
    offset: u64,
    known: Option<(u64, u64)>,
    waits: bool,
) -> Result<Polled, Error> {
    let Source { topic, queue, is_shuffle, tags } = source;
    let before = match known {
        Some((behind, id)) if behind == offset => Some(id),
        _ => before(broker, source, offset).await?,
    };
    let most = if *is_shuffle { FRAMES } else { RECORDS };
    match broker.pull(topic, queue, offset, most, if waits { WAIT_MS } else { 0 }).await {
        Ok(pulled) => {
            // A position is a count of messages: where some are missing, more than they would be lost.
            let expected = offset..;
            let hole = pulled.messages.iter().zip(expected).find(|(message, at)| message.offset != *at);
            let behind = offset + pulled.messages.len() as u64;
            let next = hole.map(|(message, _)| message.offset);
            if let Some(found) = next.or((pulled.next > behind).then_some(pulled.next)) {
                return Err(Error::Refused {
                    place: format!("reading queue {queue} of topic `{topic}` at {offset}"),
                    reason: format!("the queue goes on at {found}, so messages are missing"),
                    remedy: "a compacted topic cannot be read; where retention has passed the job, begin with another --state directory",
                });
            }
            let messages = pulled.messages.into_iter().map(|message| Message {
                result_of: message::result_of(&message),
                // Here and not at the broker, which chooses by a hash of the tag, and says nothing of the others.
                is_unwanted: !tags.is_empty() && !tags.iter().any(|tag| message.tags.as_ref() == Some(tag)),
                id: message.id,
                stored_ms: message.stored_ms,
                body: match is_shuffle {
                    true => message::unpack(&message.body).into_owned(),
                    false => message.body.to_vec(),
                },
            });
            let messages = messages.collect();
            let (min, max) = (pulled.min, pulled.max);
            Ok(Polled { messages, min, max, before, fresh: pulled.from_master })
        }
        // The worker says what that means.
        Err(Error::OutOfRange { min, max, .. }) => {
            Ok(Polled { messages: Vec::new(), min, max, before, fresh: true })
        }
        Err(other) => Err(other),
    }
}

/// The id of the message in front of `offset`, where it is still there.
async fn before(broker: &Broker, source: &Source, offset: u64) -> Result<Option<u64>, Error> {
    let Some(at) = offset.checked_sub(1) else { return Ok(None) };
    match broker.pull(&source.topic, &source.queue, at, 1, 0).await {
        Ok(pulled) => match pulled.messages.first().filter(|message| message.offset == at) {
            Some(message) => Ok(Some(message.id)),
            None if at < pulled.min => Ok(None),
            None => Err(Error::Away {
                place: format!("reading queue {} of topic `{}` at {at}", source.queue, source.topic),
                reason: "the message in front of the position did not come".to_owned(),
            }),
        },
        Err(Error::OutOfRange { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Puts a frame into a queue: the offset of the last message, or why nobody knows what became of it.
pub(super) async fn send(
    broker: &Broker,
    topic: &str,
    queue: &QueueId,
    target: Target,
    frame: Frame,
    tag: Option<&str>,
) -> Result<Result<u64, String>, Error> {
    let messages = match target.topic {
        Topic::Output(_) => message::of_output(frame, tag),
        Topic::Of(_) => message::of_shuffle(&frame).map(|message| vec![message]).unwrap_or_default(),
    };
    let n = messages.len() as u64;
    match broker.send(topic, queue, &messages).await? {
        Sent::Stored { offset } => Ok(Ok(offset + n.saturating_sub(1))),
        Sent::Unknown(reason) => Ok(Err(reason)),
        Sent::Refused(reason) => Err(Error::Refused {
            place: format!("writing to queue {queue} of topic `{topic}`"),
            reason,
            remedy: "make room for it, or make the records smaller",
        }),
    }
}

/// Waits until what brokers have stored can be seen, once for all that wait at the same time: it is a question that
/// costs a broker much, and its answer is for all of its queues.
#[derive(Debug, Default)]
pub(super) struct Settler {
    brokers: Mutex<BTreeMap<String, Arc<Turns>>>,
}

#[derive(Debug, Default)]
struct Turns {
    turn: tokio::sync::Mutex<()>,
    /// How many waits have begun, and the last that has ended well.
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Settler {
    async fn settle(&self, broker: &Broker, topic: &str, queue: &QueueId) -> Result<(), Error> {
        let turns = {
            let mut brokers = self.brokers.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(brokers.entry(queue.broker.clone()).or_default())
        };
        let before = turns.begun.load(Ordering::SeqCst);
        let _turn = turns.turn.lock().await;
        // A wait that began behind this call and has ended was for this one too.
        if turns.ended.load(Ordering::SeqCst) > before {
            return Ok(());
        }
        let own = turns.begun.fetch_add(1, Ordering::SeqCst) + 1;
        broker.settle(topic, queue).await?;
        turns.ended.store(own, Ordering::SeqCst);
        Ok(())
    }
}

/// The highest number of `sender` in a queue from `from` on, as far as the queue reaches on the master when this
/// begins.
pub(super) async fn tail(
    (broker, settler): (&Broker, &Settler),
    (topic, queue, target): (&str, &QueueId, Target),
    from: u64,
    (incarnation, sender): (Incarnation, Split),
    settle_ms: u64,
) -> Result<u64, Error> {
    tokio::time::sleep(Duration::from_millis(settle_ms)).await;
    // The broker's index lags behind what it has acknowledged.
    settler.settle(broker, topic, queue).await?;
    let (min, end) = broker.bounds(topic, queue).await?;
    let mut at = from.max(min);
    let mut last = 0;
    while at < end {
        let pulled = match broker.pull(topic, queue, at, RECORDS, 0).await {
            // Retention went on meanwhile.
            Err(Error::OutOfRange { min, .. }) if min > at => {
                at = min;
                continue;
            }
            other => other?,
        };
        for found in &pulled.messages {
            let number = match target.topic {
                Topic::Output(_) => message::number(found, incarnation, sender),
                Topic::Of(_) => message::last_of(found, incarnation, sender),
            };
            last = number.unwrap_or(0).max(last);
        }
        // An end that was not reached says nothing of what lies behind it.
        if pulled.next <= at || !pulled.from_master {
            return Err(Error::Away {
                place: format!("reading the end of queue {queue} of topic `{topic}`"),
                reason: format!("the answer ends at {at}, and the queue at {end}"),
            });
        }
        at = pulled.next;
    }
    Ok(last)
}
