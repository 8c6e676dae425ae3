//! The queries as jobs, each written as one would write it for its own sake.
//!
//! `SPEC.md` says what they are. Times are `u64` there; a job's are `i64`.

use std::cmp::Reverse;
use std::time::Duration;

use streams_runtime::prelude::*;

use super::auctions::{Act, Winning};
use super::input::{Bid, Event, Person};

/// Everything, as it is.
#[stream_job]
pub fn q0(events: Stream<Event>) -> Stream<Event> {
    events
}

/// Bids in euros.
#[stream_job]
pub fn q1(events: Stream<Event>) -> Stream<Bid> {
    events.filter_map(|event| match event {
        Event::Bid(bid) => Some(Bid { price: bid.price * 908 / 1_000, ..bid }),
        _ => None,
    })
}

/// Auction and price of the bids on some auctions.
#[record]
pub struct Selected {
    pub auction: usize,
    pub price: usize,
}

/// The bids on every 123rd auction.
#[stream_job]
pub fn q2(events: Stream<Event>) -> Stream<Selected> {
    events.filter_map(|event| match event {
        Event::Bid(bid) if bid.auction % 123 == 0 => {
            Some(Selected { auction: bid.auction, price: bid.price })
        }
        _ => None,
    })
}

/// What a join keeps of a person.
#[record]
pub struct Resident {
    pub id: usize,
    pub name: String,
    pub city: String,
    pub state: String,
    pub at: i64,
}

fn resident(event: Event) -> Option<Resident> {
    match event {
        Event::Person(Person { id, name, city, state, date_time, .. }) => {
            Some(Resident { id, name, city, state, at: date_time as i64 })
        }
        _ => None,
    }
}

/// What a join keeps of an auction.
#[record]
pub struct Listing {
    pub seller: usize,
    pub auction: usize,
    pub reserve: usize,
    pub at: i64,
}

fn listing(event: Event) -> Option<Listing> {
    let Event::Auction(a) = event else { return None };
    Some(Listing { seller: a.seller, auction: a.id, reserve: a.reserve, at: a.date_time as i64 })
}

/// An auction of a person nearby.
#[record]
pub struct LocalItem {
    pub name: String,
    pub city: String,
    pub state: String,
    pub auction: usize,
}

/// Auctions of category 10 with the persons from three states who opened them.
#[stream_job]
pub fn q3(events: Stream<Event>, #[arg(default = "0ms")] slack: Duration) -> Stream<LocalItem> {
    let listings = events
        .filter(|e| matches!(e, Event::Auction(a) if a.category == 10))
        .filter_map(listing)
        .event_time(|l| l.at, out_of_order(slack))
        .key_by(|l| l.seller);
    let residents = events
        .filter(|e| matches!(e, Event::Person(p) if ["or", "id", "ca"].contains(&p.state.as_str())))
        .filter_map(resident)
        .event_time(|r| r.at, out_of_order(slack))
        .key_by(|r| r.id);
    residents.join(listings, within(days(36_500), days(36_500)), |resident, listing| LocalItem {
        name: resident.name.clone(),
        city: resident.city.clone(),
        state: resident.state.clone(),
        auction: listing.auction,
    })
}

/// What was paid in a category.
#[record]
pub struct Paid {
    pub category: usize,
    pub sum: u64,
    pub auctions: u64,
}

/// The winning bids by category: their sum and their number. No auction is open for longer than `longest`.
#[stream_job]
pub fn q4(
    events: Stream<Event>,
    #[arg(default = "0ms")] slack: Duration,
    #[arg(default = "1s")] longest: Duration,
) -> Stream<Paid> {
    events
        .filter_map(Act::of)
        .event_time(Act::at, out_of_order(slack))
        .key_by(Act::auction)
        .window(global(ttl(longest)))
        .aggregate(acc(Winning, |act| *act))
        .filter_map(|won| won)
        .key_by(|won| won.category)
        .window(global(forever()))
        .aggregate(Paid { category: key(), sum: sum(|won| won.price), auctions: count() })
}

/// How many bids an auction had in a window.
#[record]
pub struct Heat {
    pub from: i64,
    pub auction: usize,
    pub bids: u64,
}

/// The auction with most bids in ten seconds, every two.
#[stream_job]
pub fn q5(events: Stream<Event>, #[arg(default = "0ms")] slack: Duration) -> Stream<Heat> {
    events
        .filter_map(offer)
        .event_time(|o| o.at, out_of_order(slack))
        .key_by(|o| o.auction)
        .window(hopping(secs(10), secs(2)))
        .aggregate(Heat { from: window_start(), auction: key(), bids: count() })
        .key_by(|heat| heat.from)
        .window(tumbling(secs(2)))
        .aggregate(Heat {
            from: key(),
            auction: max_by(|heat| (heat.bids, Reverse(heat.auction)), |heat| heat.auction),
            bids: max(|heat| heat.bids),
        })
}

/// A bid without its strings.
#[record]
#[derive(Copy)]
pub struct Offer {
    pub auction: usize,
    pub bidder: usize,
    pub price: usize,
    pub at: i64,
}

fn offer(event: Event) -> Option<Offer> {
    let Event::Bid(bid) = event else { return None };
    Some(Offer { auction: bid.auction, bidder: bid.bidder, price: bid.price, at: bid.date_time as i64 })
}

/// The highest bid of a window.
#[record]
pub struct Highest {
    pub from: i64,
    pub bid: (usize, usize, usize),
}

/// The highest bid every ten seconds.
#[stream_job]
pub fn q7(events: Stream<Event>, #[arg(default = "0ms")] slack: Duration) -> Stream<Highest> {
    events
        .filter_map(offer)
        .event_time(|o| o.at, out_of_order(slack))
        .key_by(|_| ())
        .window(tumbling(secs(10)))
        .aggregate(Highest {
            from: window_start(),
            bid: max_by(|o| (o.price, Reverse((o.auction, o.bidder))), |o| (o.auction, o.bidder, o.price)),
        })
}

/// Somebody who has just come.
#[record]
pub struct Newcomer {
    pub id: usize,
    pub name: String,
    pub at: i64,
}

fn newcomer(event: Event) -> Option<Newcomer> {
    match event {
        Event::Person(Person { id, name, date_time, .. }) => {
            Some(Newcomer { id, name, at: date_time as i64 })
        }
        _ => None,
    }
}

/// What somebody new has put up.
#[record]
pub struct NewSeller {
    pub from: i64,
    pub person: usize,
    pub name: String,
    pub reserve: usize,
}

/// Persons who open an auction in the ten seconds in which they come.
#[stream_job]
pub fn q8(events: Stream<Event>, #[arg(default = "0ms")] slack: Duration) -> Stream<NewSeller> {
    let newcomers = events
        .filter(|e| matches!(e, Event::Person(_)))
        .filter_map(newcomer)
        .event_time(|n| n.at, out_of_order(slack))
        .key_by(|n| n.id);
    let listings = events
        .filter(|e| matches!(e, Event::Auction(_)))
        .filter_map(listing)
        .event_time(|l| l.at, out_of_order(slack))
        .key_by(|l| l.seller);
    newcomers.join(listings, tumbling(secs(10)), |newcomer, listing| NewSeller {
        from: newcomer.at / 10_000 * 10_000,
        person: newcomer.id,
        name: newcomer.name.clone(),
        reserve: listing.reserve,
    })
}

/// A bidder's session.
#[record]
pub struct Busy {
    pub bidder: usize,
    pub from: i64,
    pub to: i64,
    pub bids: u64,
}

/// Bids of one bidder that are less than ten seconds apart.
#[stream_job]
pub fn q11(events: Stream<Event>, #[arg(default = "0ms")] slack: Duration) -> Stream<Busy> {
    events
        .filter_map(offer)
        .event_time(|o| o.at, out_of_order(slack))
        .key_by(|o| o.bidder)
        .window(session(secs(10)))
        .aggregate(Busy { bidder: key(), from: window_start(), to: window_end(), bids: count() })
}

/// What a bidder offered in a window.
#[record]
pub struct Offered {
    pub from: i64,
    pub bidder: usize,
    pub bids: u64,
    pub sum: u64,
}

/// Bids and sum of prices of each bidder, every ten seconds.
#[stream_job]
pub fn qk(events: Stream<Event>, #[arg(default = "0ms")] slack: Duration) -> Stream<Offered> {
    events
        .filter_map(offer)
        .event_time(|o| o.at, out_of_order(slack))
        .key_by(|o| o.bidder)
        .window(tumbling(secs(10)))
        .aggregate(Offered {
            from: window_start(),
            bidder: key(),
            bids: count(),
            sum: sum(|o| o.price as u64),
        })
}
