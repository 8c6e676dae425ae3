//! Windows of a number of records, and of all records of a key.

use streams_core::prelude::*;
use streams_core::testing::Harness;

use crate::{Event, event};

/// Key, why there is a result, the sum.
type Row = (u32, Fired, u64);

macro_rules! sums {
    ($($name:ident: $window:expr;)*) => {$(
        #[stream_job]
        fn $name(events: Stream<Event>) -> Stream<Row> {
            let rows = events
                .event_time(|e| e.at, out_of_order(millis(0)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate((key(), fired(), sum(|e| e.amount)));
            rows
        }
    )*};
}

sums! {
    threes: count_window(3, forever());
    threes_ttl: count_window(3, ttl(millis(10)));
    threes_early: count_window(3, forever()).early(millis(10)).discarding();
    all: global(forever());
    all_every: global(forever()).every(2);
    all_letting_go: global(ttl(millis(20))).every(2).discarding().early(millis(10));
}

/// No event time is needed.
#[stream_job]
fn untimed(events: Stream<Event>) -> Stream<Row> {
    let rows = events.key_by(|e| e.key).window(count_window(2, forever())).aggregate((
        key(),
        fired(),
        sum(|e| e.amount),
    ));
    rows
}

/// Rows with their event time; a new machine behind each record.
#[track_caller]
fn check<J: streams_core::Job>(job: J, events: &[(u32, u64, i64)], rows: &[(i64, Row)]) {
    let mut harness = Harness::new(job);
    let output = J::TOPOLOGY.sinks().next().expect("a job has an output").name;
    let mut found = Vec::new();
    for &(key, amount, at) in events {
        harness.push("events", event(key, amount, at));
        found.extend(harness.take_timed::<Row>(output));
        harness.restart().expect("sums can be encoded");
    }
    harness.end();
    found.extend(harness.take_timed::<Row>(output));
    assert_eq!(found, rows);
    assert_eq!(harness.late(), 0);
}

use Fired::{Early, Final};

#[test]
fn a_count_window_is_over_when_it_is_full_and_the_end_gives_the_rest() {
    check(
        threes,
        &[(1, 1, 0), (2, 2, 1), (1, 4, 50), (1, 8, 20), (1, 16, 60), (2, 32, 7)],
        &[(20, (1, Final, 13)), (60, (1, Final, 16)), (60, (2, Final, 34))],
    );
}

#[test]
fn a_key_that_is_forgotten_gives_what_it_has() {
    check(
        threes_ttl,
        &[(1, 1, 0), (2, 2, 0), (1, 4, 5), (3, 8, 14), (3, 16, 15), (1, 32, 15)],
        &[(9, (2, Final, 2)), (14, (1, Final, 5)), (15, (1, Final, 32)), (15, (3, Final, 24))],
    );
}

#[test]
fn a_count_window_that_lets_go_still_counts_to_the_end() {
    check(
        threes_early,
        &[(1, 1, 1), (1, 2, 10), (1, 4, 12), (1, 8, 13), (1, 16, 20)],
        &[(9, (1, Early, 1)), (12, (1, Final, 6)), (19, (1, Early, 8)), (20, (1, Final, 16))],
    );
}

#[test]
fn a_global_window_ends_with_its_input() {
    check(all, &[(2, 1, 0), (1, 2, 90), (2, 4, 5)], &[(90, (1, Final, 2)), (90, (2, Final, 5))]);
}

#[test]
fn every_so_many_records_give_an_early_result() {
    check(
        all_every,
        &[(1, 1, 0), (1, 2, 1), (1, 4, 2), (1, 8, 3), (1, 16, 4)],
        &[(1, (1, Early, 3)), (3, (1, Early, 15)), (4, (1, Final, 31))],
    );
}

#[test]
fn what_was_let_go_is_in_one_result_only() {
    check(
        all_letting_go,
        &[(1, 1, 0), (1, 2, 1), (1, 4, 2), (2, 8, 15), (1, 16, 17), (2, 32, 60)],
        &[
            (1, (1, Early, 3)),
            (9, (1, Early, 4)),
            (17, (1, Early, 16)),
            (19, (2, Early, 8)),
            (60, (2, Final, 32)),
        ],
    );
}

#[test]
fn records_are_counted_without_event_time() {
    let mut harness = Harness::new(untimed);
    harness.push_all("events", vec![event(1, 1, 0), event(1, 2, 0), event(2, 4, 0)]);
    assert_eq!(harness.take::<Row>("untimed"), [(1, Final, 3)]);
    harness.end();
    assert_eq!(harness.take::<Row>("untimed"), [(2, Final, 4)]);
}
