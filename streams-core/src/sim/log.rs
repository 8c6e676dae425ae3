//! The simulated log: queues of messages that are only appended to.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::protocol::frame::Frame;
use crate::protocol::ids::{Incarnation, Split, Target, Topic};
use crate::protocol::worker::Message;

/// One queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) messages: Vec<Message>,
    /// What is in each message, so that checks need not decode it; `None` for records of a source.
    pub(crate) frames: Vec<Option<Frame>>,
    /// The first offset that retention has left.
    pub(crate) min: u64,
    /// Nothing will come any more.
    pub(crate) closed: bool,
    /// How many numbers of each sender are stored: 1 to this one.
    pub(crate) stored: BTreeMap<Split, u64>,
    /// How many items of each sender stand here twice.
    pub(crate) duplicates: BTreeMap<Split, u64>,
    /// How many messages were ever stored here.
    n_messages: u64,
    /// A hash over all of them.
    pub(crate) content: u64,
}

impl Queue {
    pub(crate) fn end(&self) -> u64 {
        self.messages.len() as u64
    }

    /// The messages from `offset` on, at most `n`.
    pub(crate) fn from(&self, offset: u64, n: usize) -> &[Message] {
        let rest = self.messages.get(offset as usize..).unwrap_or_default();
        rest.get(..n).unwrap_or(rest)
    }

    /// The id of the message before `offset`, where it is still there.
    pub(crate) fn before(&self, offset: u64) -> Option<u64> {
        let before = offset.checked_sub(1).filter(|before| *before >= self.min)?;
        self.messages.get(before as usize).map(|message| message.id)
    }

    /// The highest number of `sender` at or behind `from`.
    pub(crate) fn highest(&self, sender: Split, incarnation: Incarnation, from: u64) -> u64 {
        let frames = self.frames.iter().skip(from as usize).flatten();
        let own = frames.filter(|frame| frame.sender == sender && frame.incarnation == incarnation);
        own.map(|frame| frame.first + frame.items.len() as u64 - 1).max().unwrap_or(0)
    }
}

/// All queues. Those that splits read come first, in the order of the splits.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) queues: Vec<Queue>,
    places: BTreeMap<Target, usize>,
    /// While it is away nothing is stored and nothing is read.
    pub(crate) away: bool,
}

impl Log {
    pub(crate) fn add(&mut self, target: Target) -> usize {
        let place = self.queues.len();
        self.places.insert(target, place);
        self.queues.push(Queue::default());
        place
    }

    pub(crate) fn place(&self, target: Target) -> Option<usize> {
        self.places.get(&target).copied()
    }

    pub(crate) fn queue(&self, place: usize) -> &Queue {
        self.queues.get(place).expect("places are made by `add`")
    }

    pub(crate) fn queue_mut(&mut self, place: usize) -> &mut Queue {
        self.queues.get_mut(place).expect("places are made by `add`")
    }

    /// Appends a message and gives its offset.
    pub(crate) fn append(
        &mut self,
        place: usize,
        stored_ms: i64,
        body: Vec<u8>,
        frame: Option<Frame>,
    ) -> u64 {
        let queue = self.queue_mut(place);
        queue.n_messages += 1;
        let id = (place as u64) << 32 | queue.n_messages;
        queue.content = xxh3_64_with_seed(&body, queue.content);
        queue.messages.push(Message { id, stored_ms, body, result_of: None, is_unwanted: false });
        queue.frames.push(frame);
        queue.end() - 1
    }

    /// The queues of output ports.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (Target, &Queue)> {
        let outputs = self.places.iter().filter(|(target, _)| matches!(target.topic, Topic::Output(_)));
        outputs.map(|(target, place)| (*target, self.queue(*place)))
    }
}
