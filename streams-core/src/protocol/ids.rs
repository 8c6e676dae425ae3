//! Names of things in a job that runs on several instances.

use serde::{Deserialize, Serialize};

/// A random number made with the job's record: messages of another incarnation belong to another life of the
/// job and are dropped (rule 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u64);

/// A stage: the entry of the machine that it feeds. Source ports first, then shuffles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stage(pub u16);

/// One queue of a stage's topic, by its place in the job's frozen list of queues (rule 2): the unit of
/// parallelism, ownership, state and recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Split {
    /// The stage that reads the topic.
    pub stage: Stage,
    /// The queue.
    pub queue: u16,
}

impl Split {
    /// In keys of rows, where splits sort by stage and then by queue.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 4] {
        let [stage, more] = self.stage.0.to_be_bytes();
        let [queue, less] = self.queue.to_be_bytes();
        [stage, more, queue, less]
    }

    /// What [`Self::to_bytes`] gave.
    #[must_use]
    pub fn from_bytes([stage, more, queue, less]: [u8; 4]) -> Self {
        Self { stage: Stage(u16::from_be_bytes([stage, more])), queue: u16::from_be_bytes([queue, less]) }
    }
}

/// Where a stage's results go: the topic of another stage, or that of an output port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Topic {
    /// The topic that a stage reads.
    Of(Stage),
    /// The topic of an output port.
    Output(u16),
}

/// One queue of a topic that a split sends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The topic.
    pub topic: Topic,
    /// The queue, by its place in the frozen list.
    pub queue: u16,
}

/// Ownership of a split (rule 13). The nonce tells two owners apart whose epochs are equal because a failover
/// undid one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// Raised with every take.
    pub epoch: u64,
    /// Random.
    pub nonce: u64,
}
