//! Aggregates inside of jobs: across checkpoints, in windows that overlap, with numbers from settings, and what
//! is told of those that have no value.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

use streams_core::prelude::*;
use streams_core::testing::Harness;

#[record]
struct Event {
    key: u32,
    n: u64,
    at: i64,
}

fn event(n: u64, at: i64) -> Event {
    Event { key: 7, n, at }
}

#[record]
#[derive(Debug, PartialEq)]
struct Row {
    first: u64,
    last: u64,
    earliest: u64,
    largest: Vec<u64>,
    all: Vec<u64>,
    about: u64,
    median: f64,
}

#[stream_job]
fn rows(events: Stream<Event>) -> Stream<Row> {
    events
        .event_time(|e| e.at, out_of_order(secs(5)))
        .key_by(|e| e.key)
        .window(hopping(secs(20), secs(10)))
        .aggregate(Row {
            first: first(|e| e.n),
            last: last(|e| e.n),
            earliest: min_by(|e| e.at, |e| e.n),
            largest: top_k(2, |e| e.n),
            all: collect(9, |e| e.n),
            about: approx_count_distinct(|e| e.n),
            median: quantile(0.5, |e| e.n),
        })
}

#[test]
fn overlapping_windows_join_their_parts_in_order_of_time() {
    let mut harness = Harness::new(rows);
    for event in [event(1, 12_000), event(2, 9_000), event(3, 8_000), event(1, 11_000), event(5, 10_000)] {
        harness.push("events", event);
        harness.restart().unwrap();
    }
    harness.end();
    let found = harness.take::<Row>("rows");
    assert_eq!(found.len(), 3);
    // [-10 s, 10 s) has one part with records, [0 s, 20 s) two.
    let first =
        Row { first: 2, last: 3, earliest: 3, largest: vec![3, 2], all: vec![2, 3], about: 2, median: 2.0 };
    let second = Row {
        first: 2,
        last: 5,
        earliest: 3,
        largest: vec![5, 3],
        all: vec![2, 3, 1, 1, 5],
        about: 4,
        // In the bucket of 2, which is a 64th of it wide.
        median: 2.0 * (1.0 + 1.0 / 129.0),
    };
    let third = Row {
        first: 1,
        last: 5,
        earliest: 5,
        largest: vec![5, 1],
        all: vec![1, 1, 5],
        about: 2,
        median: 1.0 + 1.0 / 129.0,
    };
    assert_eq!(found, [first, second, third]);
}

#[stream_job]
fn about(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(0)))
        .key_by(|e| e.key)
        .window(hopping(secs(20), secs(10)))
        .aggregate(approx_count_distinct(|e| e.n))
}

#[test]
fn a_sketch_goes_on_after_a_restart() {
    let numbers = |part: std::ops::Range<u64>| part.map(|n| event(n, (n / 1_000 * 1_000) as i64)).collect();
    let (mut whole, mut parts) = (Harness::new(about), Harness::new(about));
    whole.push_all("events", numbers(0..20_000));
    for part in 0..20 {
        parts.push_all("events", numbers(part * 1_000..(part + 1) * 1_000));
        parts.restart().unwrap();
    }
    whole.end();
    parts.end();
    let found = whole.take::<u64>("about");
    assert_eq!(parts.take::<u64>("about"), found);
    let expected = [10_000_u64, 20_000, 10_000];
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.abs_diff(expected) < expected / 20, "{found} instead of {expected}");
    }
}

#[stream_job]
fn tuned(events: Stream<Event>, most: usize, part: f64, floor: u64) -> Stream<(Vec<u64>, f64, u64, u64)> {
    events.key_by(|e| e.key).running(forever()).aggregate((
        top_k(most, |e| e.n.max(floor)),
        quantile(part, |e| e.n),
        fold(floor, |n, e| n + e.n + floor),
        reduce(|e| e.n + floor, |a, b| (a + b).max(floor)),
    ))
}

#[test]
fn numbers_may_come_from_settings() {
    let settings = |most, part| [("most", most), ("part", part), ("floor", "3")];
    let mut harness = Harness::with_settings(tuned, &settings("2", "1")).unwrap();
    harness.push_all("events", vec![event(1, 0), event(9, 0), event(4, 0)]);
    assert_eq!(
        harness.take::<(Vec<u64>, f64, u64, u64)>("tuned"),
        [(vec![3], 1.0, 7, 4), (vec![9, 3], 9.0, 19, 16), (vec![9, 4], 9.0, 26, 23)]
    );
    for (most, part, expected) in [("0", "1", "a limit of at least 1"), ("1", "99", "between 0 and 1")] {
        let error = Harness::with_settings(tuned, &settings(most, part)).unwrap_err().to_string();
        assert!(error.starts_with("aggregate of `tuned`: ") && error.contains(expected), "{error}");
    }
}

#[stream_job]
fn sums(events: Stream<Event>) -> Stream<u64> {
    let sums = events
        .event_time(|e| e.at, out_of_order(secs(0)))
        .key_by(|e| e.key)
        .window(tumbling(secs(10)))
        .aggregate(sum(|e| e.n));
    sums
}

#[test]
fn a_sum_that_does_not_fit_says_where() {
    let mut harness = Harness::new(sums);
    harness.push_all("events", vec![event(u64::MAX, 3_000), event(1, 9_000), event(2, 10_000)]);
    harness.end();
    // The next window is as if nothing had been.
    assert_eq!(harness.take::<u64>("sums"), [2]);
    let [reject] = harness.rejects() else { panic!("{:?}", harness.rejects()) };
    assert_eq!(
        reject.error,
        "in the window [0, 10000): the sum 18446744073709551616 does not fit `u64`; \
         sum a wider type, e.g. `sum(|r| r.field as i128)`"
    );
    assert_eq!((reject.operator, reject.key.as_deref()), ("sums", Some("7")));
}

#[stream_job]
fn repeated(events: Stream<Event>) -> Stream<Vec<u64>> {
    events.key_by(|e| e.key).running(forever()).aggregate(vec![count() * 2; 3])
}

#[test]
fn an_aggregate_may_stand_in_a_list_of_repeated_values() {
    let mut harness = Harness::new(repeated);
    harness.push_all("events", vec![event(1, 0), event(2, 0)]);
    assert_eq!(harness.take::<Vec<u64>>("repeated"), [[2; 3], [4; 3]]);
}
