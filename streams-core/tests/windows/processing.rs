//! Windows of the time at which records come in, and of the time at which a broker stored them.

use streams_core::prelude::*;
use streams_core::testing::Harness;

use crate::{Event, event};

/// Start of the window, the sum.
type Row = (i64, u64);

#[stream_job]
fn arrivals(events: Stream<Event>) -> (Stream<Row>, Stream<Event>) {
    let sums = events
        .processing_time()
        .key_by(|e| e.key)
        .window(tumbling(millis(10)))
        .aggregate((window_start(), sum(|e| e.amount)));
    let late = sums.late();
    (sums, late)
}

#[stream_job]
fn two(left: Stream<Event>, right: Stream<Event>) -> Stream<Row> {
    let left = left.processing_time();
    let right = right.event_time(|e| e.at, out_of_order(millis(0)));
    left.union(right)
        .key_by(|e| e.key)
        .window(tumbling(millis(10)))
        .aggregate((window_start(), sum(|e| e.amount)))
}

#[stream_job]
fn stored(events: Stream<Event>) -> Stream<Row> {
    events
        .store_time(out_of_order(millis(5)))
        .key_by(|e| e.key)
        .window(tumbling(millis(10)))
        .aggregate((window_start(), sum(|e| e.amount)))
}

#[test]
fn windows_are_cut_in_processing_time() {
    let mut job = Harness::new(arrivals);
    job.clock(100);
    // What the records say of time means nothing.
    job.push("events", event(1, 1, 5_000));
    job.clock(109);
    job.push("events", event(1, 2, -7));
    assert_eq!(job.take::<Row>("sums"), []);
    job.restart().expect("sums can be encoded");
    // The clock alone is enough.
    job.clock(110);
    assert_eq!(job.take::<Row>("sums"), [(100, 3)]);
    // A clock that goes back is waited for.
    job.clock(90);
    job.push("events", event(1, 4, 0));
    job.clock(119);
    assert_eq!((job.take::<Row>("sums"), job.late()), (vec![], 0));
    job.clock(120);
    assert_eq!(job.take::<Row>("sums"), [(110, 4)]);
}

#[test]
fn processing_time_and_event_time_meet_at_the_smaller() {
    let mut job = Harness::new(two);
    job.clock(100);
    job.push("left", event(1, 1, 0));
    job.push("right", event(1, 2, 104));
    job.clock(200);
    assert_eq!(job.take::<Row>("two"), []);
    job.push("right", event(1, 4, 110));
    assert_eq!(job.take::<Row>("two"), [(100, 3)]);
    // An input in processing time is never quiet.
    job.idle("left");
    job.push("right", event(1, 8, 250));
    assert_eq!(job.take::<Row>("two"), [(110, 4)]);
    job.clock(300);
    job.end_port("left");
    job.end();
    assert_eq!((job.take::<Row>("two"), job.late()), (vec![(250, 8)], 0));
}

#[test]
fn windows_are_cut_in_store_time() {
    let mut job = Harness::new(stored);
    let text = |amount| format!(r#"{{"key":1,"amount":{amount},"at":0}}"#);
    for (amount, stored_ms) in [(1, 3), (2, 11), (4, 8), (8, 15)] {
        job.push_stored("events", &text(amount), stored_ms);
    }
    assert_eq!(job.take::<Row>("stored"), [(0, 5)]);
    job.push_json("events", &text(16));
    job.end();
    assert_eq!(job.take::<Row>("stored"), [(10, 10)]);
    assert!(job.rejects()[0].error.starts_with("no broker stored it"), "{:?}", job.rejects());
}
