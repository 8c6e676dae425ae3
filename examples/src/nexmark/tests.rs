//! The loop and the jobs against the reference, on events that the generator never makes.

use super::encode::{Row, fingerprint};
use super::input::{Auction, Bid, Event, Input, Person};
use super::{engine, hand_written, oracle};

/// What the generator never makes: pauses longer than a window or a session, disorder of seconds,
/// auctions that outlive windows, and references to persons and auctions yet to come.
fn sparse_input() -> Input {
    const BOUND_MS: u64 = 3_000;
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut now, mut persons, mut auctions) = (1_700_000_000_000, 0, 0);
    let mut events = Vec::new();
    for _ in 0..100_000 {
        now += if random(500) == 0 { random(40_000) } else { random(20) };
        let date_time = now - random(BOUND_MS);
        events.push(match random(10) {
            0 => {
                persons += 1;
                Event::Person(Person {
                    id: persons,
                    name: format!("name {persons}"),
                    email_address: String::new(),
                    credit_card: String::new(),
                    city: "city".into(),
                    state: ["or", "wa"][random(2) as usize].into(),
                    date_time,
                    extra: String::new(),
                })
            }
            1..=2 => {
                auctions += 1;
                Event::Auction(Auction {
                    id: auctions,
                    item_name: String::new(),
                    description: String::new(),
                    initial_bid: 0,
                    reserve: random(500) as usize,
                    date_time,
                    expires: date_time + random(20_000),
                    seller: persons + 2 - random(20).min(persons as u64) as usize,
                    category: 10 + random(3) as usize,
                    extra: String::new(),
                })
            }
            _ => Event::Bid(Bid {
                auction: auctions + 5 - random(50).min(auctions as u64) as usize,
                bidder: random(40) as usize,
                price: random(1_000) as usize,
                channel: String::new(),
                url: String::new(),
                date_time,
                extra: String::new(),
            }),
        });
    }
    Input::of(events, BOUND_MS)
}

#[track_caller]
fn check<R: Row>(query: &str, [oracle, hand_written, engine]: [fn(Input, usize) -> Vec<R>; 3]) {
    let input = sparse_input();
    let expected = oracle(input, 1);
    assert!(!expected.is_empty());
    let expected = fingerprint(expected);
    assert_eq!(fingerprint(hand_written(input, 1)), expected, "{query} by hand");
    for threads in [1, 2, 3] {
        assert_eq!(fingerprint(engine(input, threads)), expected, "{query} with {threads} workers");
    }
}

macro_rules! check {
    ($($query:ident)*) => { $(check(stringify!($query), [oracle::$query, hand_written::$query, engine::$query]);)* };
}

#[test]
fn sparse_disordered_input_matches_the_oracle() {
    check!(q0 q1 q2 q3 q4 q5 q7 q8 q11 qk);
}
