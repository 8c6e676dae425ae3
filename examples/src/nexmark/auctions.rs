//! q4's accumulator: which bid wins an auction.

use streams_runtime::prelude::*;

use super::input::Event;

/// What happens to an auction.
#[record]
#[derive(Copy, Debug)]
pub enum Act {
    /// It opens.
    Opened { auction: usize, terms: Terms },
    /// Somebody bids.
    Offered { auction: usize, at: i64, price: u64 },
}

/// What decides which bids an auction accepts.
#[record]
#[derive(Copy, Debug)]
pub struct Terms {
    category: usize,
    reserve: u64,
    opens: i64,
    expires: i64,
}

/// A winning bid.
#[record]
pub struct Won {
    pub category: usize,
    pub price: u64,
}

impl Act {
    #[inline]
    pub fn of(event: Event) -> Option<Self> {
        match event {
            Event::Person(_) => None,
            Event::Auction(ref a) => Some(Self::Opened {
                auction: a.id,
                terms: Terms {
                    category: a.category,
                    reserve: a.reserve as u64,
                    opens: a.date_time as i64,
                    expires: a.expires as i64,
                },
            }),
            Event::Bid(b) => {
                Some(Self::Offered { auction: b.auction, at: b.date_time as i64, price: b.price as u64 })
            }
        }
    }

    #[inline]
    pub fn at(&self) -> i64 {
        match self {
            Self::Opened { terms, .. } => terms.opens,
            Self::Offered { at, .. } => *at,
        }
    }

    #[inline]
    pub fn auction(&self) -> usize {
        match self {
            Self::Opened { auction, .. } | Self::Offered { auction, .. } => *auction,
        }
    }
}

/// The highest bid that counts, whether bids come in front of their auction or behind it.
pub struct Winning;

/// Terms, the highest bid under them, and the bids that came before the terms.
#[record]
#[derive(Debug)]
pub struct Bidding {
    terms: Option<Terms>,
    best: Option<u64>,
    early: Vec<(i64, u64)>,
}

impl Bidding {
    #[inline(always)]
    fn offer(&mut self, at: i64, price: u64) {
        match &self.terms {
            None => self.early.push((at, price)),
            Some(terms) => {
                if price >= terms.reserve && (terms.opens..terms.expires).contains(&at) {
                    self.best = self.best.max(Some(price));
                }
            }
        }
    }

    fn open(&mut self, terms: Terms) {
        self.terms = Some(terms);
        for (at, price) in std::mem::take(&mut self.early) {
            self.offer(at, price);
        }
    }
}

impl Accumulator<Act> for Winning {
    type State = Bidding;
    type Out = Option<Won>;

    fn init(&self) -> Bidding {
        Bidding { terms: None, best: None, early: Vec::new() }
    }

    #[inline(always)]
    fn add(&self, bidding: &mut Bidding, act: Act) {
        match act {
            Act::Opened { terms, .. } => bidding.open(terms),
            Act::Offered { at, price, .. } => bidding.offer(at, price),
        }
    }

    fn merge(&self, bidding: &mut Bidding, behind: Bidding) {
        if let Some(terms) = behind.terms {
            bidding.open(terms);
        }
        bidding.best = bidding.best.max(behind.best);
        for (at, price) in behind.early {
            bidding.offer(at, price);
        }
    }

    fn finish(&self, bidding: Bidding) -> Option<Won> {
        Some(Won { category: bidding.terms?.category, price: bidding.best? })
    }
}
