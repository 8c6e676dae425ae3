//! What can go wrong between this process and the brokers: place, reason and remedy.

use super::route::QueueId;

/// Why a call did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be meant.
    #[error("{what}")]
    Config {
        /// What is wrong and what to write instead.
        what: String,
    },
    /// No name server answers.
    #[error(
        "no name server answers: {tried}; check the address, that the name server runs there, and whether it asks for TLS"
    )]
    NameServer {
        /// Each address with the reason.
        tried: String,
    },
    /// The name servers know no such topic.
    #[error("topic `{topic}` does not exist; create it, or correct its name")]
    NoTopic {
        /// Its name.
        topic: String,
    },
    /// The topic has no such queue.
    #[error("topic `{topic}` has no queue {queue}; read the list of its queues again")]
    NoQueue {
        /// The topic.
        topic: String,
        /// The queue that was named.
        queue: QueueId,
    },
    /// A broker cannot be reached, or cannot work now. The same call may succeed later.
    #[error("{place}: {reason}; try again later")]
    Away {
        /// What was asked of whom.
        place: String,
        /// The reason, also the broker's own.
        reason: String,
    },
    /// A queue does not hold the offset any more, or not yet.
    #[error(
        "queue {queue} of topic `{topic}` has no offset {offset}, it holds {min} to {max}; what is before {min} \
         was deleted, and what was behind {max} is lost or not written yet"
    )]
    OutOfRange {
        /// The topic.
        topic: String,
        /// The queue.
        queue: QueueId,
        /// What was asked for.
        offset: u64,
        /// The first offset that is there.
        min: u64,
        /// One behind the last.
        max: u64,
    },
    /// A broker will not do it, however often it is asked.
    #[error("{place}: refused, {reason}; {remedy}")]
    Refused {
        /// What was asked of whom.
        place: String,
        /// The reason, also the broker's own.
        reason: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An answer that makes no sense.
    #[error("{place}: {what}; check that a broker of Apache RocketMQ 5 answers there")]
    Garbled {
        /// What was asked of whom.
        place: String,
        /// What is wrong with the answer.
        what: String,
    },
}

impl Error {
    /// Whether the same call may succeed later without anybody's doing.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::NameServer { .. } | Self::Away { .. })
    }
}
