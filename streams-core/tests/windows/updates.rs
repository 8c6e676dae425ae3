//! Early results, updates within the lateness, and what comes later than that.

use streams_core::prelude::*;
use streams_core::testing::Harness;

use crate::{Event, event};

/// Start of the window, why there is a result, the sum.
type Row = (i64, Fired, u64);

macro_rules! sums {
    ($($name:ident: $window:expr;)*) => {$(
        #[stream_job]
        fn $name(events: Stream<Event>) -> (Stream<Row>, Stream<Event>) {
            let sums = events
                .event_time(|e| e.at, out_of_order(millis(0)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate((window_start(), fired(), sum(|e| e.amount)));
            let late = sums.late();
            (sums, late)
        }
    )*};
}

sums! {
    patient: tumbling(millis(10)).lateness(millis(20));
    hasty: tumbling(millis(10)).early(millis(4));
    letting_go: tumbling(millis(10)).early(millis(4)).lateness(millis(20)).discarding();
    overlapping: hopping(millis(10), millis(5)).lateness(millis(5));
    overlapping_early: hopping(millis(10), millis(5)).early(millis(3));
}

/// The sums and the amounts of the late records.
#[track_caller]
fn check<J: streams_core::Job>(job: J, events: &[(u64, i64)], rows: &[Row], late: &[u64]) {
    let mut harness = Harness::new(job);
    let mut found = Vec::new();
    let mut found_late = Vec::new();
    for &(amount, at) in events {
        harness.push("events", event(1, amount, at));
        found.extend(harness.take::<Row>("sums"));
        found_late.extend(harness.take::<Event>("late").into_iter().map(|e| e.amount));
        harness.restart().expect("sums can be encoded");
    }
    harness.end();
    found.extend(harness.take::<Row>("sums"));
    assert_eq!((found.as_slice(), found_late.as_slice()), (rows, late));
    assert_eq!(harness.late(), late.len() as u64);
}

use Fired::{Early, Final, Update};

#[test]
fn a_record_within_the_lateness_is_an_update_at_once() {
    check(
        patient,
        &[(1, 3), (2, 12), (4, 4), (8, 29), (16, 9), (32, 30), (64, 9), (128, 10)],
        &[
            (0, Final, 1),
            (0, Update, 5),
            (10, Final, 2),
            (0, Update, 21),
            (20, Final, 8),
            (10, Update, 130),
            (30, Final, 32),
        ],
        &[64],
    );
}

#[test]
fn the_first_result_of_a_key_is_final_however_late() {
    check(patient, &[(1, 25), (2, 4), (4, 5)], &[(0, Final, 2), (0, Update, 6), (20, Final, 1)], &[]);
}

#[test]
fn early_results_come_at_multiples_that_the_watermark_passes() {
    check(
        hasty,
        &[(1, 1), (2, 3), (4, 4), (8, 7), (16, 9), (32, 25)],
        // The multiples 4 and 8; 12 is behind the end of the first window, and 24 finds nothing.
        &[(0, Early, 3), (0, Early, 15), (0, Final, 31), (20, Final, 32)],
        &[],
    );
}

#[test]
fn discarded_records_are_in_one_result_only() {
    check(
        letting_go,
        &[(1, 1), (2, 4), (4, 8), (8, 12), (16, 3), (32, 4), (64, 40)],
        &[
            (0, Early, 1),
            (0, Early, 2),
            (0, Final, 4),
            (0, Update, 16),
            (0, Update, 32),
            (10, Early, 8),
            (40, Final, 64),
        ],
        &[],
    );
}

#[test]
fn one_record_updates_every_window_that_is_over_and_kept() {
    check(
        overlapping,
        // Windows [-5, 5), [0, 10), [5, 15), [10, 20).
        &[(1, 2), (2, 7), (4, 11), (8, 6), (16, 17), (32, 4)],
        &[(-5, Final, 1), (0, Final, 3), (0, Update, 11), (5, Final, 14), (10, Final, 20), (15, Final, 16)],
        &[32],
    );
}

#[test]
fn overlapping_windows_give_early_results_of_their_own() {
    check(
        overlapping_early,
        &[(1, 1), (2, 3), (4, 7)],
        &[(-5, Early, 1), (0, Early, 1), (-5, Final, 3), (0, Early, 3), (0, Final, 7), (5, Final, 4)],
        &[],
    );
}
