//! Sessions: what joins, what does not, what is late.

use streams_core::prelude::*;
use streams_core::testing::Harness;

use crate::{Event, event};

/// Key, bounds, why there is a result, the amounts in order.
type Row = (u32, i64, i64, Fired, String);

/// The amounts one behind the other.
struct Digits;

impl Accumulator<u64> for Digits {
    type State = String;
    type Out = String;

    fn init(&self) -> String {
        String::new()
    }

    fn add(&self, state: &mut String, value: u64) {
        state.push_str(&value.to_string());
    }

    fn merge(&self, state: &mut String, behind: String) {
        state.push_str(&behind);
    }

    fn finish(&self, state: String) -> String {
        state
    }
}

macro_rules! sessions {
    ($($name:ident: $window:expr, $bound:expr;)*) => {$(
        #[stream_job]
        fn $name(events: Stream<Event>) -> (Stream<Row>, Stream<Event>) {
            let sessions = events
                .event_time(|e| e.at, out_of_order(millis($bound)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate((key(), window_start(), window_end(), fired(), acc(Digits, |e| e.amount)));
            let late = sessions.late();
            (sessions, late)
        }
    )*};
}

sessions! {
    loose: session(millis(10)), 100;
    strict: session(millis(10)), 0;
    patient: session(millis(10)).lateness(millis(20)), 0;
    hasty: session(millis(10)).early(millis(5)), 0;
    letting_go: session(millis(10)).early(millis(5)).lateness(millis(20)).discarding(), 0;
}

/// With a new machine behind each record.
#[track_caller]
fn check<J: streams_core::Job>(
    job: J,
    events: &[(u32, u64, i64)],
    rows: &[(u32, i64, i64, Fired, &str)],
    late: &[u64],
) {
    let mut harness = Harness::new(job);
    let mut found = Vec::new();
    let mut found_late = Vec::new();
    for &(key, amount, at) in events {
        harness.push("events", event(key, amount, at));
        found.extend(harness.take::<Row>("sessions"));
        found_late.extend(harness.take::<Event>("late").into_iter().map(|e| e.amount));
        harness.restart().expect("sessions can be encoded");
    }
    harness.end();
    found.extend(harness.take::<Row>("sessions"));
    let found: Vec<_> =
        found.iter().map(|(key, from, to, fired, text)| (*key, *from, *to, *fired, text.as_str())).collect();
    assert_eq!((found.as_slice(), found_late.as_slice()), (rows, late));
    assert_eq!(harness.late(), late.len() as u64);
}

use Fired::{Early, Final, Update};

#[test]
fn records_less_than_the_gap_apart_are_one_session() {
    check(
        loose,
        &[(1, 1, 0), (1, 2, 9), (1, 3, 19), (1, 4, 28), (1, 5, 50)],
        &[(1, 0, 19, Final, "12"), (1, 19, 38, Final, "34"), (1, 50, 60, Final, "5")],
        &[],
    );
}

#[test]
fn a_record_between_two_sessions_makes_one_of_them_the_older_in_front() {
    check(
        loose,
        &[(1, 5, 50), (1, 1, 14), (1, 2, 0), (1, 3, 5), (1, 4, 51)],
        &[(1, 0, 24, Final, "213"), (1, 50, 61, Final, "54")],
        &[],
    );
}

#[test]
fn keys_have_sessions_of_their_own_in_order_of_end_start_key() {
    check(
        loose,
        &[(2, 1, 0), (1, 2, 0), (3, 3, -3), (1, 4, 5), (3, 5, 0)],
        &[(3, -3, 10, Final, "35"), (2, 0, 10, Final, "1"), (1, 0, 15, Final, "24")],
        &[],
    );
}

#[test]
fn a_record_is_late_when_its_own_span_is_over_and_no_session_is_open_there() {
    check(
        strict,
        // At 12 nothing is open around 2, and [2, 12) is over; [3, 13) is not. 8 joins what is open from 12 on.
        &[(1, 1, 12), (2, 2, 2), (2, 3, 3), (1, 4, 3), (1, 5, 22), (1, 6, 12)],
        &[(2, 3, 13, Final, "3"), (1, 3, 22, Final, "14"), (1, 22, 32, Final, "5")],
        &[2, 6],
    );
}

#[test]
fn a_session_that_was_over_grows_by_updates() {
    check(
        patient,
        &[(1, 1, 0), (1, 2, 20), (1, 3, 5), (1, 4, 12), (2, 5, 42), (1, 6, 20), (2, 7, 51), (1, 8, 20)],
        &[
            (1, 0, 10, Final, "1"),
            // [0, 15) is over, and then joins what is open.
            (1, 0, 15, Update, "13"),
            (1, 0, 30, Update, "1324"),
            (1, 0, 30, Update, "13246"),
            (2, 42, 61, Final, "57"),
        ],
        &[8],
    );
}

#[test]
fn open_sessions_give_early_results() {
    check(
        hasty,
        &[(1, 1, 1), (2, 2, 4), (1, 3, 6), (2, 4, 7), (1, 5, 30)],
        &[
            (1, 1, 11, Early, "1"),
            (2, 4, 14, Early, "2"),
            (1, 1, 16, Early, "13"),
            (2, 4, 17, Early, "24"),
            (1, 1, 16, Final, "13"),
            (2, 4, 17, Final, "24"),
            (1, 30, 40, Final, "5"),
        ],
        &[],
    );
}

#[test]
fn a_session_lets_go_what_it_gave() {
    check(
        letting_go,
        &[(1, 1, 1), (1, 2, 6), (1, 3, 11), (1, 4, 30), (1, 5, 12), (1, 6, 31)],
        &[
            (1, 1, 11, Early, "1"),
            (1, 1, 16, Early, "2"),
            (1, 1, 21, Early, "3"),
            (1, 1, 22, Update, "5"),
            (1, 30, 41, Final, "46"),
        ],
        &[],
    );
}
