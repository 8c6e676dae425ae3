//! The pinned event vector: generation, time stamps, fingerprint, batches and watermarks.

use std::time::Duration;

use nexmark::EventGenerator;
use nexmark::config::NexmarkConfig;
use xxhash_rust::xxh3::Xxh3;

use super::encode::Encode;

pub use nexmark::event::{Auction, Bid, Event, Person};

const BASE_MS: u64 = 1_700_000_000_000;
const EVENTS_PER_MS: usize = 100;

/// Whether bids, 92 % of the events, own the strings that the generator gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bids {
    /// They do: cloning one allocates three times.
    Fat,
    /// Their strings are empty: cloning one is a copy.
    Slim,
}

/// Events per batch; the watermark advances once after each.
pub const BATCH: usize = 1_000;

/// The generated events, shared by every run of every engine. Leaked, so that it is `'static` and `Copy`.
#[derive(Clone, Copy)]
pub struct Input {
    events: &'static [Event],
    bound_ms: u64,
    longest_ms: u64,
}

impl Input {
    /// Whether there is an input of this size and shuffle.
    ///
    /// # Errors
    /// Why there is none.
    pub fn check(n_events: usize, group: usize) -> Result<(), String> {
        if group == 0 || !n_events.is_multiple_of(group) {
            return Err(format!("{n_events} events are not a whole number of groups of {group}"));
        }
        if group > 1 && group.is_multiple_of(SHUFFLE) {
            return Err(format!("a group of a multiple of {SHUFFLE} events is not shuffled but repeated"));
        }
        Ok(())
    }

    /// Generates `n_events` events, shuffled within groups of `group` events. They pass `check`.
    pub fn generate(n_events: usize, group: usize, bids: Bids) -> Self {
        let config = NexmarkConfig {
            base_time: BASE_MS,
            first_rate: EVENTS_PER_MS * 1_000,
            next_rate: EVENTS_PER_MS * 1_000,
            out_of_order_group_size: group,
            ..NexmarkConfig::default()
        };
        let events: Vec<Event> = EventGenerator::new(config)
            .take(n_events)
            .enumerate()
            .map(|(position, event)| restamp(event, generation_index(position, group)))
            .map(|event| if bids == Bids::Slim { slim(event) } else { event })
            .collect();

        Self::of(events, (group - 1).div_ceil(EVENTS_PER_MS) as u64)
    }

    /// An input of the caller's making, `bound_ms` out of order at most.
    pub fn of(events: Vec<Event>, bound_ms: u64) -> Self {
        let open_ms = events.iter().filter_map(|event| match event {
            Event::Auction(auction) => Some(auction.expires - auction.date_time),
            _ => None,
        });
        let longest_ms = open_ms.max().unwrap_or_default();
        Self { events: events.leak(), bound_ms, longest_ms }
    }

    pub fn events(&self) -> &'static [Event] {
        self.events
    }

    /// The batches that worker `index` of `peers` feeds: every `peers`-th one.
    pub fn batches(
        &self,
        index: usize,
        peers: usize,
    ) -> impl Iterator<Item = &'static [Event]> + Send + use<> {
        self.events.chunks(BATCH).skip(index).step_by(peers)
    }

    /// The events of those batches, handed over one by one.
    pub fn events_of(&self, index: usize, peers: usize) -> impl Iterator<Item = Event> + Send + use<> {
        self.batches(index, peers).flatten().map(hand_over)
    }

    /// How far behind the largest time stamp an event may be.
    pub fn bound(&self) -> Duration {
        Duration::from_millis(self.bound_ms)
    }

    /// No auction is open for longer.
    pub fn longest(&self) -> Duration {
        Duration::from_millis(self.longest_ms)
    }

    /// The watermark before the first event.
    pub fn watermark(&self) -> Watermark {
        Watermark { max_ts: 0, bound_ms: self.bound_ms }
    }

    /// xxh3-64 over all events in order of arrival.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = Xxh3::new();
        for event in self.events {
            event.encode(&mut hasher);
        }
        hasher.digest()
    }
}

/// Clones an event for an engine. It is never inlined, so that no engine's loop leaves out strings that its query does
/// not read.
///
/// It is a call, and nothing else: with `black_box` all of the event is copied right behind its writing, in wider
/// steps, for which a processor waits longer than the loop takes for the rest.
#[inline(never)]
pub fn hand_over(event: &Event) -> Event {
    event.clone()
}

/// Follows the largest time stamp of a sequence of events.
#[derive(Clone)]
pub struct Watermark {
    max_ts: u64,
    bound_ms: u64,
}

impl Watermark {
    #[inline]
    pub fn observe(&mut self, ts: u64) {
        self.max_ts = self.max_ts.max(ts);
    }

    /// No later event of the sequence has a time stamp below this.
    #[inline]
    pub fn value(&self) -> u64 {
        self.max_ts.saturating_sub(self.bound_ms)
    }
}

/// The multiplier by which the crate permutes a group.
const SHUFFLE: usize = 953;

/// The generation index of the event at `position`: the permutation of the `nexmark` crate.
fn generation_index(position: usize, group: usize) -> usize {
    position / group * group + position * SHUFFLE % group
}

/// Replaces the crate's f32 time stamps by exact ones; the length of an auction is kept.
fn restamp(mut event: Event, index: usize) -> Event {
    let ts = BASE_MS + (index / EVENTS_PER_MS) as u64;
    match &mut event {
        Event::Person(person) => person.date_time = ts,
        Event::Auction(auction) => {
            auction.expires = ts + (auction.expires - auction.date_time);
            auction.date_time = ts;
        }
        Event::Bid(bid) => bid.date_time = ts,
    }
    event
}

/// Takes the strings from a bid.
fn slim(mut event: Event) -> Event {
    if let Event::Bid(bid) = &mut event {
        bid.channel = String::new();
        bid.url = String::new();
        bid.extra = String::new();
    }
    event
}
