//! q4: the winning bids of auctions, and their averages by category.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{END, FxMap, Stage};
use crate::nexmark::queries::project::{Offer, Terms};
use crate::nexmark::queries::{Q4Row, Side};

/// First half: emits (category, price) of the winning bid when an auction has expired.
#[derive(Default)]
pub struct WinningBids {
    open: FxMap<u64, (Terms, Option<u64>)>,
    expiry: BinaryHeap<Reverse<(u64, u64)>>,
    /// Bids on auctions that have not arrived: (time stamp, price) by auction.
    early: FxMap<u64, Vec<(u64, u64)>>,
}

impl Stage for WinningBids {
    type In = Side<Terms, Offer>;
    type Out = (u64, u64);

    #[inline]
    fn push(&mut self, item: Self::In, _out: &mut Vec<(u64, u64)>) {
        match item {
            Side::Left(terms) => {
                let early = self.early.remove(&terms.auction).unwrap_or_default();
                let accepted = early.into_iter().filter(|&(ts, price)| terms.accept(ts, price));
                let best = accepted.map(|(_, price)| price).max();
                self.expiry.push(Reverse((terms.expires, terms.auction)));
                self.open.insert(terms.auction, (terms, best));
            }
            Side::Right((auction, ts, price)) => match self.open.get_mut(&auction) {
                Some((terms, best)) => {
                    if terms.accept(ts, price) {
                        *best = Some(price).max(*best);
                    }
                }
                None => self.early.entry(auction).or_default().push((ts, price)),
            },
        }
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<(u64, u64)>) {
        while let Some(&Reverse((expires, auction))) = self.expiry.peek() {
            if expires > watermark {
                break;
            }
            self.expiry.pop();
            let (terms, best) = self.open.remove(&auction).expect("an auction expires once");
            out.extend(best.map(|price| (terms.category, price)));
        }
        // An auction that opened before the watermark has arrived: these bids came after it closed.
        self.early.retain(|_, bids| {
            bids.retain(|&(ts, _)| ts >= watermark);
            !bids.is_empty()
        });
    }
}

/// Second half: sum and count by category, at the end.
#[derive(Default)]
pub struct CategoryAverages(FxMap<u64, (u64, u64)>);

impl Stage for CategoryAverages {
    type In = (u64, u64);
    type Out = Q4Row;

    #[inline]
    fn push(&mut self, (category, price): (u64, u64), _out: &mut Vec<Q4Row>) {
        let (sum, count) = self.0.entry(category).or_default();
        *sum += price;
        *count += 1;
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<Q4Row>) {
        if watermark == END {
            out.extend(self.0.drain().map(|(category, (sum, count))| (category, sum, count)));
        }
    }
}
