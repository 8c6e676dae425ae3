//! The reference: batch answers over all events at once, written for obviousness and sharing no
//! projection or state with the engines.

#![expect(clippy::indexing_slicing, reason = "a reference that cannot go on has failed")]

use std::collections::BTreeMap;

use super::input::{Auction, Bid, Event, Input, Person};
use super::queries::*;

pub fn q0(input: Input, _threads: usize) -> Vec<TallyRow> {
    vec![input.events().iter().fold((0, 0), tally)]
}

pub fn q1(input: Input, _threads: usize) -> Vec<TallyRow> {
    let in_euro = bids(input).map(|bid| Bid { price: bid.price * 908 / 1000, ..bid.clone() });
    vec![in_euro.fold((0, 0), |sum, bid| tally(sum, &bid))]
}

pub fn q2(input: Input, _threads: usize) -> Vec<Q2Row> {
    bids(input).filter(|b| b.auction % 123 == 0).map(|b| (b.auction as u64, b.price as u64)).collect()
}

pub fn q3(input: Input, _threads: usize) -> Vec<Q3Row> {
    let residents: BTreeMap<usize, &Person> = persons(input)
        .filter(|p| ["or", "id", "ca"].contains(&p.state.as_str()))
        .map(|p| (p.id, p))
        .collect();
    auctions(input)
        .filter(|a| a.category == 10)
        .filter_map(|a| residents.get(&a.seller).map(|p| (a, p)))
        .map(|(a, p)| (p.name.clone(), p.city.clone(), p.state.clone(), a.id as u64))
        .collect()
}

pub fn q4(input: Input, _threads: usize) -> Vec<Q4Row> {
    let terms: BTreeMap<usize, &Auction> = auctions(input).map(|a| (a.id, a)).collect();
    let mut winning: BTreeMap<usize, usize> = BTreeMap::new();
    for bid in bids(input) {
        let Some(auction) = terms.get(&bid.auction) else { continue };
        let in_time = auction.date_time <= bid.date_time && bid.date_time < auction.expires;
        if in_time && bid.price >= auction.reserve {
            let price = winning.entry(bid.auction).or_default();
            *price = bid.price.max(*price);
        }
    }
    let mut averages: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (auction, price) in winning {
        let (sum, count) = averages.entry(terms[&auction].category).or_default();
        *sum += price as u64;
        *count += 1;
    }
    averages.into_iter().map(|(category, (sum, count))| (category as u64, sum, count)).collect()
}

#[expect(clippy::missing_panics_doc, reason = "every window that is made here gets a bid")]
pub fn q5(input: Input, _threads: usize) -> Vec<Q5Row> {
    let mut counts: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    for bid in bids(input) {
        let newest = bid.date_time / SLIDE_MS * SLIDE_MS;
        for hop in 0..WINDOW_MS / SLIDE_MS {
            *counts.entry(newest - hop * SLIDE_MS).or_default().entry(bid.auction as u64).or_default() += 1;
        }
    }
    counts
        .into_iter()
        .map(|(window, counts)| {
            let most = counts.values().copied().max().expect("a window holds a bid");
            let smallest = counts.into_iter().find(|(_, count)| *count == most).expect("it was found");
            (window, smallest.0, most)
        })
        .collect()
}

pub fn q7(input: Input, _threads: usize) -> Vec<Q7Row> {
    let mut windows: BTreeMap<u64, Vec<&Bid>> = BTreeMap::new();
    for bid in bids(input) {
        windows.entry(bid.date_time / WINDOW_MS * WINDOW_MS).or_default().push(bid);
    }
    windows
        .into_iter()
        .map(|(window, mut bids)| {
            bids.sort_by_key(|b| (std::cmp::Reverse(b.price), b.auction, b.bidder));
            (window, bids[0].auction as u64, bids[0].bidder as u64, bids[0].price as u64)
        })
        .collect()
}

pub fn q8(input: Input, _threads: usize) -> Vec<Q8Row> {
    let arrived: BTreeMap<(u64, usize), &Person> =
        persons(input).map(|p| ((p.date_time / WINDOW_MS * WINDOW_MS, p.id), p)).collect();
    auctions(input)
        .map(|a| (a.date_time / WINDOW_MS * WINDOW_MS, a))
        .filter_map(|(window, a)| arrived.get(&(window, a.seller)).map(|p| (window, a, p)))
        .map(|(window, a, p)| (window, p.id as u64, p.name.clone(), a.reserve as u64))
        .collect()
}

pub fn q11(input: Input, _threads: usize) -> Vec<Q11Row> {
    let mut times: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for bid in bids(input) {
        times.entry(bid.bidder).or_default().push(bid.date_time);
    }
    let mut rows = Vec::new();
    for (bidder, mut times) in times {
        times.sort_unstable();
        for session in times.chunk_by(|a, b| b - a < GAP_MS) {
            let end = session[session.len() - 1] + GAP_MS;
            rows.push((bidder as u64, session[0], end, session.len() as u64));
        }
    }
    rows
}

pub fn qk(input: Input, _threads: usize) -> Vec<QkRow> {
    let mut totals: BTreeMap<(u64, usize), (u64, u64)> = BTreeMap::new();
    for bid in bids(input) {
        let window = bid.date_time / WINDOW_MS * WINDOW_MS;
        let (count, sum) = totals.entry((window, bid.bidder)).or_default();
        *count += 1;
        *sum += bid.price as u64;
    }
    totals.into_iter().map(|((window, bidder), (count, sum))| (window, bidder as u64, count, sum)).collect()
}

fn persons(input: Input) -> impl Iterator<Item = &'static Person> {
    input.events().iter().filter_map(|event| match event {
        Event::Person(person) => Some(person),
        _ => None,
    })
}

fn auctions(input: Input) -> impl Iterator<Item = &'static Auction> {
    input.events().iter().filter_map(|event| match event {
        Event::Auction(auction) => Some(auction),
        _ => None,
    })
}

fn bids(input: Input) -> impl Iterator<Item = &'static Bid> {
    input.events().iter().filter_map(|event| match event {
        Event::Bid(bid) => Some(bid),
        _ => None,
    })
}
