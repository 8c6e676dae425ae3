//! The sending side of one split for one target queue: numbers, order, one message under way, repetition.
//!
//! Items get their numbers when they are queued and leave in that order, one message at a time; a message whose
//! fate is unknown is sent again before anything later (rules 3 and 4). What a held stage gives out is numbered
//! like the rest but leaves only after the commit that holds it is known (rule 8).

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::frame::{Frame, Item, Mark};
use super::ids::{Incarnation, Split};
use crate::bug::{Bug, planted};

/// What a snapshot keeps of a sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderState {
    /// The number of the next item to be queued.
    pub next: u64,
    /// The last number that is known to be stored.
    pub acked: u64,
    /// Where in the target queue the last acknowledged message lies.
    pub acked_offset: Option<u64>,
    /// In front of this offset of the target queue lies no number of this split's that was not made again.
    pub floor: u64,
    /// Items that are not known to be stored: numbers `acked + 1` to `next - 1`.
    pub outbox: Vec<Item>,
}

impl Default for SenderState {
    fn default() -> Self {
        Self { next: 1, acked: 0, acked_offset: None, floor: 0, outbox: Vec::new() }
    }
}

/// The queue of items for one target.
#[derive(Debug)]
pub struct Sender {
    next: u64,
    acked: u64,
    acked_offset: Option<u64>,
    floor: u64,
    /// Where the floor will be when the split is left clean.
    next_floor: u64,
    /// Items that are not known to be stored, from number `acked + 1`.
    queue: VecDeque<Item>,
    /// The bytes of their records.
    bytes: usize,
    /// How many of them may leave.
    released: usize,
    /// How many of them are in the message that is under way.
    flying: Option<usize>,
    /// The last number that was found in the target queue.
    present: u64,
    /// The watermark behind the last item.
    watermark_ms: i64,
    /// The watermark behind the last item that may leave: a held stage's event time waits like its items.
    free_ms: i64,
    told_ms: i64,
}

/// How many items one message holds at the most, and how many bytes, but for an item that is longer.
const ITEMS: usize = 1_024;
const BYTES: usize = 256 * 1024;

impl Sender {
    /// Goes on where the state ends; all its outbox may leave, since it was committed.
    #[must_use]
    pub fn new(state: SenderState) -> Self {
        let queue = VecDeque::from(state.outbox);
        let bytes = queue.iter().map(record_bytes).sum();
        Self {
            next: state.next,
            acked: state.acked,
            acked_offset: state.acked_offset,
            floor: state.floor,
            next_floor: state.floor,
            released: queue.len(),
            queue,
            bytes,
            flying: None,
            present: 0,
            watermark_ms: i64::MIN,
            free_ms: i64::MIN,
            told_ms: i64::MIN,
        }
    }

    /// What a snapshot must keep.
    #[must_use]
    pub fn state(&self) -> SenderState {
        let no_outbox = planted(Bug::NoOutbox) || planted(Bug::CommitBeforeAcks);
        SenderState {
            next: self.next,
            acked: if no_outbox { self.next - 1 } else { self.acked },
            acked_offset: self.acked_offset,
            floor: self.floor,
            outbox: if no_outbox { Vec::new() } else { self.queue.iter().cloned().collect() },
        }
    }

    /// Queues an item and numbers it. `held` items wait for [`Self::release`].
    pub fn push(&mut self, item: Item, held: bool) {
        let held = held && !planted(Bug::HeldSentEarly);
        self.bytes += record_bytes(&item);
        self.queue.push_back(item);
        self.next += 1;
        // Nothing overtakes a held item.
        if !held && self.released + 1 == self.queue.len() {
            self.released += 1;
        }
        if self.flying.is_none() {
            self.confirm(self.present);
        }
    }

    /// Event time behind the items queued so far. `held` event time waits for [`Self::release`].
    pub fn watermark(&mut self, at_ms: i64, held: bool) {
        self.watermark_ms = self.watermark_ms.max(at_ms);
        // Nor does it overtake a held item.
        let held = held && !planted(Bug::HeldMarkEarly);
        if !held && self.released == self.queue.len() {
            self.free_ms = self.watermark_ms;
        }
    }

    /// The watermark behind what is queued.
    pub(super) fn watermark_ms(&self) -> i64 {
        self.watermark_ms
    }

    /// Lets everything leave that is queued now: it has been committed.
    pub fn release(&mut self) {
        self.released = self.queue.len();
        self.free_ms = self.watermark_ms;
    }

    /// Whether everything that may leave is known to be stored.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.released == 0
    }

    /// Whether no message is under way.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.flying.is_none()
    }

    /// Whether everything that was found in the target queue has been made again.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        self.present < self.next
    }

    /// How many items are not known to be stored.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The bytes of their records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether everything is known to be stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Begins to look for what earlier owners left, from the floor on. Everything up to the last acknowledged
    /// message will have been looked at then.
    pub fn survey(&mut self) {
        self.next_floor = self.acked_offset.map_or(self.floor, |offset| offset.max(self.floor));
    }

    /// In front of this offset nothing is left that was not made again.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// All that was found has been made again.
    pub fn close_survey(&mut self) {
        self.floor = self.next_floor;
    }

    /// Where the last acknowledged message lies.
    #[must_use]
    pub fn acked_offset(&self) -> Option<u64> {
        self.acked_offset
    }

    /// The next message, if one may leave; it is under way from now on.
    pub fn take(
        &mut self,
        incarnation: Incarnation,
        sender: Split,
        siblings: &BTreeSet<u16>,
    ) -> Option<Frame> {
        let flying = match self.flying {
            Some(flying) if planted(Bug::TwoInFlight) && flying < self.released => flying,
            Some(_) if planted(Bug::MarkOvertakes) && self.watermark_ms > self.told_ms => {
                self.told_ms = self.watermark_ms;
                let mark = Some(Mark { as_of: self.acked, watermark_ms: self.watermark_ms });
                let first = self.acked + 1;
                let siblings = siblings.clone();
                return Some(Frame { incarnation, sender, siblings, first, items: Vec::new(), mark });
            }
            Some(_) => return None,
            None => 0,
        };
        let n = self.fill(flying);
        let items: Vec<Item> = self.queue.iter().skip(flying).take(n).cloned().collect();
        let first = self.acked + flying as u64 + 1;
        let last = first + n as u64 - 1;
        // A watermark includes everything queued before it, so it leaves with the last of it.
        let all = flying + n == self.released;
        let mark =
            (all && self.free_ms > self.told_ms).then_some(Mark { as_of: last, watermark_ms: self.free_ms });
        if items.is_empty() && mark.is_none() {
            return None;
        }
        self.flying = Some(flying + n);
        if mark.is_some() {
            self.told_ms = self.free_ms;
        }
        Some(Frame { incarnation, sender, siblings: siblings.clone(), first, items, mark })
    }

    /// How many of the items behind the first `flying` make one message.
    fn fill(&self, flying: usize) -> usize {
        let most = (self.released - flying).min(ITEMS);
        let mut bytes = 0;
        // One that is longer goes alone: a message has a limit that is not far above the longest item.
        let fits = |item: &&Item| {
            let first = bytes == 0;
            bytes += record_bytes(item);
            first || bytes <= BYTES
        };
        self.queue.iter().skip(flying).take(most).take_while(fits).count()
    }

    /// The message under way is stored at `offset`.
    pub fn stored(&mut self, offset: u64) {
        let Some(n) = self.flying.take() else { return };
        self.confirm(self.acked + n as u64);
        self.confirm(self.present);
        self.acked_offset = Some(offset);
    }

    /// The fate of the message under way is unknown: it will be sent again.
    pub fn unknown(&mut self) {
        self.flying = None;
        self.confirm(self.present);
        // A watermark that may be lost is told again.
        self.told_ms = i64::MIN;
    }

    /// The number of the last item that there is.
    pub(super) fn last_number(&self) -> u64 {
        self.acked + self.queue.len() as u64
    }

    /// Everything up to number `last` was found in the target queue, where another owner or an earlier life of
    /// this one put it; what has not been made again yet is dropped when it is.
    pub fn skip_to(&mut self, last: u64) {
        self.present = self.present.max(last);
        // What is under way is counted from the first item that is not known to be stored.
        if self.flying.is_none() {
            self.confirm(last);
        }
    }

    fn confirm(&mut self, last: u64) {
        while self.acked < last
            && let Some(item) = self.queue.pop_front()
        {
            self.bytes -= record_bytes(&item);
            self.released = self.released.saturating_sub(1);
            self.acked += 1;
        }
    }
}

fn record_bytes(item: &Item) -> usize {
    if let Item::Data(data) = item { data.len() } else { 0 }
}
