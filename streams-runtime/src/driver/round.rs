//! What several workers are given in one round.

use std::sync::Arc;

use crate::source::Chunk;

/// One batch of a round.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) port: usize,
    pub(crate) chunk: Arc<Chunk>,
    /// What it is called when the job's code panics in it.
    pub(crate) place: String,
}

/// An input turns idle or active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Idle(usize),
    Active(usize),
}

/// What happens in one round.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) shares: Vec<Share>,
    /// What time it is, where the job asks for it.
    pub(crate) now_ms: Option<i64>,
    /// In front of the batches. A port turns idle in a round without batches: what lies in front of that must have
    /// come to all workers.
    pub(crate) rests: Vec<Rest>,
    /// The ports that end behind them.
    pub(crate) ends: Vec<usize>,
    /// Whose turn it is behind it.
    pub(crate) turn: usize,
    /// The worker that has the first batch.
    pub(crate) first: usize,
}

impl Round {
    /// Whether nothing happens in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.shares.is_empty() && self.now_ms.is_none() && self.rests.is_empty() && self.ends.is_empty()
    }
}
