//! What the specification pins for every engine: windows, row types, projections and tie rules.
//!
//! The oracle uses only the constants and the row types of this module, so that a wrong projection
//! cannot hide in both.

use serde::{Deserialize, Serialize};

use super::input::{Bid, Event};

/// Size of the tumbling windows, and of the hopping windows of q5.
pub const WINDOW_MS: u64 = 10_000;
/// Slide of the hopping windows of q5.
pub const SLIDE_MS: u64 = 2_000;
/// A gap this long between two bids of a bidder ends the session (q11).
pub const GAP_MS: u64 = 10_000;

/// q0, q1: (count, checksum)
pub type TallyRow = (u64, u64);
/// q2: (auction, price)
pub type Q2Row = (u64, u64);
/// q3: (name, city, state, auction)
pub type Q3Row = (String, String, String, u64);
/// q4: (category, sum of the winning prices, number of winning bids)
pub type Q4Row = (u64, u64, u64);
/// q5: (window start, auction, bids)
pub type Q5Row = (u64, u64, u64);
/// q7: (window start, auction, bidder, price)
pub type Q7Row = (u64, u64, u64, u64);
/// q8: (window start, person, name, reserve)
pub type Q8Row = (u64, u64, String, u64);
/// q11: (bidder, session start, session end, bids)
pub type Q11Row = (u64, u64, u64, u64);
/// qk: (window start, bidder, bids, sum of prices)
pub type QkRow = (u64, u64, u64, u64);

/// Start of the tumbling window that holds `ts`.
#[inline]
pub fn window_of(ts: u64) -> u64 {
    ts - ts % WINDOW_MS
}

/// Start of the slide-sized pane that holds `ts`; a hopping window is a run of five panes.
#[inline]
pub fn pane_of(ts: u64) -> u64 {
    ts - ts % SLIDE_MS
}

/// Starts of the hopping windows that hold the pane.
#[inline]
pub fn windows_of_pane(pane: u64) -> impl Iterator<Item = u64> {
    (pane + SLIDE_MS - WINDOW_MS..=pane).step_by(SLIDE_MS as usize)
}

/// The item of a join input: one stream carries both sides.
#[derive(Clone, Serialize, Deserialize)]
pub enum Side<L, R> {
    Left(L),
    Right(R),
}

/// The part of a record that a checksum covers.
pub trait Weigh {
    fn weight(&self) -> u64;
}

impl Weigh for Event {
    #[inline]
    fn weight(&self) -> u64 {
        match self {
            Self::Person(p) => mix(p.date_time, p.id, p.extra.len()),
            Self::Auction(a) => mix(a.date_time, a.id, a.extra.len()),
            Self::Bid(b) => mix(b.date_time, b.auction, b.extra.len()),
        }
    }
}

impl Weigh for Bid {
    #[inline]
    fn weight(&self) -> u64 {
        mix(self.date_time, self.auction, self.price)
    }
}

/// Cheap on purpose: the checksum proves that a record passed, it must not dominate q0 and q1.
#[inline]
fn mix(a: u64, b: usize, c: usize) -> u64 {
    (a ^ (b as u64).rotate_left(24) ^ (c as u64).rotate_left(48)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Adds the weight of one record.
#[inline]
pub fn tally((count, checksum): TallyRow, record: &impl Weigh) -> TallyRow {
    (count + 1, checksum.wrapping_add(record.weight()))
}

/// Adds two partial tallies.
#[inline]
pub fn merge_tallies(a: TallyRow, b: TallyRow) -> TallyRow {
    (a.0 + b.0, a.1.wrapping_add(b.1))
}

/// q5: whether (auction, bids) `a` is hotter than `b`.
#[inline]
pub fn hotter(a: (u64, u64), b: (u64, u64)) -> bool {
    a.1 > b.1 || a.1 == b.1 && a.0 < b.0
}

/// q7: whether (auction, bidder, price) `a` is a higher bid than `b`.
#[inline]
pub fn higher(a: (u64, u64, u64), b: (u64, u64, u64)) -> bool {
    a.2 > b.2 || a.2 == b.2 && (a.0, a.1) < (b.0, b.1)
}

/// The fields of an event that a query needs, or `None` if it needs none of them.
pub mod project {
    use super::*;

    #[inline]
    pub fn q1(event: Event) -> Option<Bid> {
        let Event::Bid(mut bid) = event else { return None };
        bid.price = bid.price * 908 / 1_000;
        Some(bid)
    }

    #[inline]
    pub fn q2(event: Event) -> Option<Q2Row> {
        match event {
            Event::Bid(bid) if bid.auction % 123 == 0 => Some((bid.auction as u64, bid.price as u64)),
            _ => None,
        }
    }

    /// (id, name, city, state) of a person.
    pub type Resident = (u64, String, String, String);
    /// (seller, auction)
    pub type Listing = (u64, u64);

    #[inline]
    pub fn q3(event: Event) -> Option<Side<Resident, Listing>> {
        match event {
            Event::Person(p) if matches!(p.state.as_str(), "or" | "id" | "ca") => {
                Some(Side::Left((p.id as u64, p.name, p.city, p.state)))
            }
            Event::Auction(a) if a.category == 10 => Some(Side::Right((a.seller as u64, a.id as u64))),
            _ => None,
        }
    }

    /// What decides which bids an auction accepts.
    #[derive(Clone, Copy, Serialize, Deserialize)]
    pub struct Terms {
        pub auction: u64,
        pub category: u64,
        pub reserve: u64,
        pub opens: u64,
        pub expires: u64,
    }

    impl Terms {
        #[inline]
        pub fn accept(&self, ts: u64, price: u64) -> bool {
            price >= self.reserve && (self.opens..self.expires).contains(&ts)
        }
    }

    /// (auction, time stamp, price)
    pub type Offer = (u64, u64, u64);

    #[inline]
    pub fn q4(event: Event) -> Option<Side<Terms, Offer>> {
        match event {
            Event::Person(_) => None,
            Event::Auction(a) => Some(Side::Left(Terms {
                auction: a.id as u64,
                category: a.category as u64,
                reserve: a.reserve as u64,
                opens: a.date_time,
                expires: a.expires,
            })),
            Event::Bid(b) => Some(Side::Right((b.auction as u64, b.date_time, b.price as u64))),
        }
    }

    /// (time stamp, auction)
    #[inline]
    pub fn q5(event: Event) -> Option<(u64, u64)> {
        let Event::Bid(bid) = event else { return None };
        Some((bid.date_time, bid.auction as u64))
    }

    /// (time stamp, auction, bidder, price)
    #[inline]
    pub fn q7(event: Event) -> Option<(u64, u64, u64, u64)> {
        let Event::Bid(bid) = event else { return None };
        Some((bid.date_time, bid.auction as u64, bid.bidder as u64, bid.price as u64))
    }

    /// (time stamp, id, name) of a person.
    pub type Arrival = (u64, u64, String);
    /// (time stamp, seller, reserve)
    pub type Offering = (u64, u64, u64);

    #[inline]
    pub fn q8(event: Event) -> Option<Side<Arrival, Offering>> {
        match event {
            Event::Person(p) => Some(Side::Left((p.date_time, p.id as u64, p.name))),
            Event::Auction(a) => Some(Side::Right((a.date_time, a.seller as u64, a.reserve as u64))),
            Event::Bid(_) => None,
        }
    }

    /// (time stamp, bidder)
    #[inline]
    pub fn q11(event: Event) -> Option<(u64, u64)> {
        let Event::Bid(bid) = event else { return None };
        Some((bid.date_time, bid.bidder as u64))
    }

    /// (time stamp, bidder, price)
    #[inline]
    pub fn qk(event: Event) -> Option<(u64, u64, u64)> {
        let Event::Bid(bid) = event else { return None };
        Some((bid.date_time, bid.bidder as u64, bid.price as u64))
    }
}
