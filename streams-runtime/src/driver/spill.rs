//! State larger than memory: what a machine has in memory is given up when it has become much, and read again from the
//! store when it is needed.
//!
//! A machine that takes a split over begins without the split's rows and reads each when it needs it. So spilling is
//! taking over from oneself: commit, wait until that is durable, and go on with a new machine over the same rows.
//! Nothing that is not committed is ever in the store.

use streams_core::store::Reads;

/// What a program has in memory besides state and store: itself, what it reads ahead, what is being written.
const BESIDES: u64 = 36 << 20;

/// Of the state's part of the budget, the part that the store may use for itself.
const OF_STORE: usize = 2;

/// Of the same, how much input may come in before state is given up: keys and accumulators take several times the
/// bytes of the records that touch them.
const OF_INPUT: u64 = 24;

/// When to give up, and where rows are read from then on.
pub(crate) struct Spill {
    reads: Reads,
    most_bytes: u64,
    /// Bytes of input since the last time.
    bytes: u64,
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spill").field("most_bytes", &self.most_bytes).finish_non_exhaustive()
    }
}

/// How much of a budget is for the state, in memory and in the store's. An eighth is for what the allocator keeps.
fn of_state(budget: u64) -> u64 {
    (budget / 8 * 7).saturating_sub(BESIDES).max(budget / 4)
}

/// How much of a budget is the store's.
pub(crate) fn of_store(budget: u64) -> usize {
    usize::try_from(of_state(budget)).unwrap_or(usize::MAX) / OF_STORE
}

impl Spill {
    pub(crate) fn new(budget: u64, reads: Reads) -> Self {
        Self { reads, most_bytes: (of_state(budget) / OF_INPUT).max(1), bytes: 0 }
    }

    /// A batch of so many bytes was fed.
    pub(crate) fn took(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.bytes >= self.most_bytes
    }

    /// The rows, for a machine that begins without any.
    pub(crate) fn again(&mut self) -> Box<dyn streams_core::store::backing::Backing> {
        self.bytes = 0;
        (self.reads)()
    }
}
