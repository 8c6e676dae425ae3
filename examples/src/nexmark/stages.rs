//! The incremental state of each query, as a stage that is fed items and watermarks.
//!
//! The yardstick of the benchmark: what a careful person would keep for this query and no other.

use std::collections::VecDeque;
use std::marker::PhantomData;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::queries::project::{Arrival, Listing, Offering, Resident};
use super::queries::*;

mod auctions;
mod merging;
mod sessions;
mod windows;

pub use auctions::{CategoryAverages, WinningBids};
pub use merging::{HottestOfAll, MergeTallies};
pub use sessions::Sessions;
use windows::Windows;

type FxMap<K, V> = HashMap<K, V, FxBuildHasher>;

/// The watermark that ends a stream.
pub const END: u64 = u64::MAX;

pub trait Stage {
    type In;
    type Out;

    fn push(&mut self, item: Self::In, out: &mut Vec<Self::Out>);

    /// Emits what is final now that no later item has a time stamp below `watermark`.
    fn close(&mut self, watermark: u64, out: &mut Vec<Self::Out>);
}

/// Feeds one stage from another, without a queue between the two.
pub struct Then<A: Stage, B> {
    first: A,
    second: B,
    between: Vec<A::Out>,
}

impl<A: Stage, B> Then<A, B> {
    pub fn new(first: A, second: B) -> Self {
        Self { first, second, between: Vec::new() }
    }
}

impl<A: Stage, B: Stage<In = A::Out>> Stage for Then<A, B> {
    type In = A::In;
    type Out = B::Out;

    #[inline]
    fn push(&mut self, item: A::In, out: &mut Vec<B::Out>) {
        self.first.push(item, &mut self.between);
        self.between.drain(..).for_each(|item| self.second.push(item, out));
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<B::Out>) {
        self.first.close(watermark, &mut self.between);
        self.between.drain(..).for_each(|item| self.second.push(item, out));
        self.second.close(watermark, out);
    }
}

/// q2: every item is a row.
pub struct Emit<T>(PhantomData<T>);

impl<T> Default for Emit<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Stage for Emit<T> {
    type In = T;
    type Out = T;

    #[inline]
    fn push(&mut self, item: T, out: &mut Vec<T>) {
        out.push(item);
    }

    fn close(&mut self, _watermark: u64, _out: &mut Vec<T>) {}
}

/// q0, q1: counts and sums up what passes.
pub struct Tally<T> {
    sum: TallyRow,
    records: PhantomData<T>,
}

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self { sum: TallyRow::default(), records: PhantomData }
    }
}

impl<T: Weigh> Stage for Tally<T> {
    type In = T;
    type Out = TallyRow;

    #[inline]
    fn push(&mut self, record: T, _out: &mut Vec<TallyRow>) {
        self.sum = tally(self.sum, &record);
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<TallyRow>) {
        if watermark == END {
            out.push(self.sum);
        }
    }
}

/// q3: joins persons and auctions as they come; keeps both sides for ever, as the query asks.
#[derive(Default)]
pub struct LocalItems {
    residents: FxMap<u64, (String, String, String)>,
    waiting: FxMap<u64, Vec<u64>>,
}

impl Stage for LocalItems {
    type In = Side<Resident, Listing>;
    type Out = Q3Row;

    #[inline]
    fn push(&mut self, item: Self::In, out: &mut Vec<Q3Row>) {
        let row = |(name, city, state): &(String, String, String), auction| {
            (name.clone(), city.clone(), state.clone(), auction)
        };
        match item {
            Side::Left((id, name, city, state)) => {
                let resident = (name, city, state);
                let waiting = self.waiting.remove(&id).unwrap_or_default();
                out.extend(waiting.into_iter().map(|auction| row(&resident, auction)));
                self.residents.insert(id, resident);
            }
            Side::Right((seller, auction)) => match self.residents.get(&seller) {
                Some(resident) => out.push(row(resident, auction)),
                None => self.waiting.entry(seller).or_default().push(auction),
            },
        }
    }

    fn close(&mut self, _watermark: u64, _out: &mut Vec<Q3Row>) {}
}

/// q5: the hottest auction of each hopping window.
///
/// Counts by pane; a running total over the last five panes takes a pane in when it is complete and
/// puts the oldest out, so an event costs one update however many windows hold it.
pub struct HotItems {
    panes: Windows<FxMap<u64, u64>>,
    /// The panes within `totals`, oldest first.
    live: VecDeque<(u64, FxMap<u64, u64>)>,
    totals: FxMap<u64, u64>,
    /// The next pane to take in, while there are totals.
    next: Option<u64>,
}

impl Default for HotItems {
    fn default() -> Self {
        Self { panes: Windows::new(SLIDE_MS), live: VecDeque::new(), totals: FxMap::default(), next: None }
    }
}

impl HotItems {
    fn take_in(&mut self, pane: u64) {
        if let Some(counts) = self.panes.take(pane) {
            for (&auction, &count) in &counts {
                *self.totals.entry(auction).or_default() += count;
            }
            self.live.push_back((pane, counts));
        }
    }

    fn put_out(&mut self, pane: u64) {
        if self.live.front().is_none_or(|&(oldest, _)| oldest != pane) {
            return;
        }
        let (_, counts) = self.live.pop_front().expect("it was seen");
        for (auction, count) in counts {
            let total = self.totals.get_mut(&auction).expect("it was added");
            *total -= count;
            if *total == 0 {
                self.totals.remove(&auction);
            }
        }
    }

    fn hottest(&self) -> Option<(u64, u64)> {
        let totals = self.totals.iter().map(|(&auction, &count)| (auction, count));
        totals.reduce(|best, next| if hotter(next, best) { next } else { best })
    }
}

impl Stage for HotItems {
    type In = (u64, u64);
    type Out = Q5Row;

    #[inline]
    fn push(&mut self, (ts, auction): (u64, u64), _out: &mut Vec<Q5Row>) {
        *self.panes.at(pane_of(ts)).entry(auction).or_default() += 1;
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<Q5Row>) {
        while let Some(pane) = self.next.or_else(|| self.panes.oldest()) {
            let end = pane + SLIDE_MS;
            if end > watermark {
                break;
            }
            let window = end - WINDOW_MS;
            self.take_in(pane);
            out.extend(self.hottest().map(|(auction, count)| (window, auction, count)));
            self.put_out(window);
            self.next = (!self.totals.is_empty()).then_some(end);
        }
    }
}

/// q7: the highest bid of each tumbling window. Also merges its own results, which carry the window
/// start in the place of the time stamp.
pub struct HighestBid(Windows<Option<(u64, u64, u64)>>);

impl Default for HighestBid {
    fn default() -> Self {
        Self(Windows::new(WINDOW_MS))
    }
}

impl Stage for HighestBid {
    type In = (u64, u64, u64, u64);
    type Out = Q7Row;

    #[inline]
    fn push(&mut self, (ts, auction, bidder, price): Self::In, _out: &mut Vec<Q7Row>) {
        let bid = (auction, bidder, price);
        let best = self.0.at(window_of(ts));
        if best.is_none_or(|best| higher(bid, best)) {
            *best = Some(bid);
        }
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<Q7Row>) {
        while let Some((window, best)) = self.0.pop_closed(watermark) {
            out.extend(best.map(|(auction, bidder, price)| (window, auction, bidder, price)));
        }
    }
}

/// q8: persons and the auctions they open within the same tumbling window.
pub struct NewSellers(Windows<Newcomers>);

#[derive(Default)]
struct Newcomers {
    names: FxMap<u64, String>,
    offerings: Vec<(u64, u64)>,
}

impl Default for NewSellers {
    fn default() -> Self {
        Self(Windows::new(WINDOW_MS))
    }
}

impl Stage for NewSellers {
    type In = Side<Arrival, Offering>;
    type Out = Q8Row;

    #[inline]
    fn push(&mut self, item: Self::In, _out: &mut Vec<Q8Row>) {
        match item {
            Side::Left((ts, id, name)) => {
                self.0.at(window_of(ts)).names.insert(id, name);
            }
            Side::Right((ts, seller, reserve)) => self.0.at(window_of(ts)).offerings.push((seller, reserve)),
        }
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<Q8Row>) {
        while let Some((window, Newcomers { names, offerings })) = self.0.pop_closed(watermark) {
            out.extend(offerings.into_iter().filter_map(|(seller, reserve)| {
                let name = names.get(&seller)?;
                Some((window, seller, name.clone(), reserve))
            }));
        }
    }
}

/// qk: bids and sum of prices by bidder and tumbling window.
pub struct BidderTotals(Windows<FxMap<u64, (u64, u64)>>);

impl Default for BidderTotals {
    fn default() -> Self {
        Self(Windows::new(WINDOW_MS))
    }
}

impl Stage for BidderTotals {
    type In = (u64, u64, u64);
    type Out = QkRow;

    #[inline]
    fn push(&mut self, (ts, bidder, price): (u64, u64, u64), _out: &mut Vec<QkRow>) {
        let (count, sum) = self.0.at(window_of(ts)).entry(bidder).or_default();
        *count += 1;
        *sum += price;
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<QkRow>) {
        while let Some((window, totals)) = self.0.pop_closed(watermark) {
            out.extend(totals.into_iter().map(|(bidder, (count, sum))| (window, bidder, count, sum)));
        }
    }
}
