//! Inputs that are quiet: who waits for them and who does not.

use streams_core::prelude::*;
use streams_core::testing::Harness;

use crate::{Event, event};

/// Start of the window, the sum.
type Row = (i64, u64);

#[stream_job]
fn two(left: Stream<Event>, right: Stream<Event>) -> Stream<Row> {
    let left = left.event_time(|e| e.at, out_of_order(millis(0)));
    let right = right.event_time(|e| e.at, out_of_order(millis(0)));
    left.union(right)
        .key_by(|e| e.key)
        .window(tumbling(millis(10)))
        .aggregate((window_start(), sum(|e| e.amount)))
}

#[stream_job]
fn nested(a: Stream<Event>, b: Stream<Event>, c: Stream<Event>) -> Stream<Row> {
    let a = a.event_time(|e| e.at, out_of_order(millis(0)));
    let b = b.event_time(|e| e.at, out_of_order(millis(0)));
    let c = c.event_time(|e| e.at, out_of_order(millis(0)));
    let ab = a.union(b).map(|e| e);
    ab.union(c).key_by(|e| e.key).window(tumbling(millis(10))).aggregate((window_start(), sum(|e| e.amount)))
}

#[stream_job]
fn joined(left: Stream<Event>, right: Stream<Event>) -> Stream<Row> {
    let left = left.event_time(|e| e.at, out_of_order(millis(0))).key_by(|e| e.key);
    let right = right.event_time(|e| e.at, out_of_order(millis(0))).key_by(|e| e.key);
    left.left_join(right, tumbling(millis(10)), |l, r| (l.at, r.map_or(0, |r| r.amount)))
}

#[test]
fn a_union_does_not_wait_for_a_quiet_input() {
    let mut job = Harness::new(two);
    job.push("right", event(1, 1, 3));
    job.push("right", event(1, 2, 12));
    assert_eq!(job.take::<Row>("two"), []);
    job.idle("left");
    assert_eq!(job.take::<Row>("two"), [(0, 1)]);
    // Also behind a restart; and what comes in for a window that is over is late.
    job.restart().expect("sums can be encoded");
    job.push("left", event(1, 4, 9));
    assert_eq!(job.late(), 1);
    // It is waited for again.
    job.push("right", event(1, 8, 25));
    assert_eq!(job.take::<Row>("two"), []);
    job.push("left", event(1, 16, 21));
    assert_eq!(job.take::<Row>("two"), [(10, 2)]);
}

#[test]
fn where_all_are_quiet_time_stands_still() {
    let mut job = Harness::new(two);
    job.push("left", event(1, 1, 3));
    job.push("right", event(1, 2, 40));
    job.idle("right");
    job.idle("left");
    // Not even that of the input that came further.
    assert_eq!(job.take::<Row>("two"), []);
    job.push("right", event(1, 4, 41));
    assert_eq!(job.take::<Row>("two"), [(0, 1)]);
    job.end();
    assert_eq!(job.take::<Row>("two"), [(40, 6)]);
}

#[test]
fn a_union_of_quiet_inputs_is_quiet() {
    let mut job = Harness::new(nested);
    job.push("a", event(1, 1, 3));
    job.push("c", event(1, 2, 30));
    job.idle("b");
    assert_eq!(job.take::<Row>("nested"), []);
    job.idle("a");
    assert_eq!(job.take::<Row>("nested"), [(0, 1)]);
    job.push("b", event(1, 4, 33));
    job.push("c", event(1, 8, 50));
    // The one that is back holds the other side back, and the one that is still quiet does not.
    assert_eq!(job.take::<Row>("nested"), []);
    job.end_port("b");
    assert_eq!(job.take::<Row>("nested"), [(30, 6)]);
}

#[test]
fn a_join_does_not_wait_for_a_quiet_side() {
    let mut job = Harness::new(joined);
    job.push("left", event(1, 1, 3));
    job.push("left", event(1, 1, 14));
    job.idle("right");
    assert_eq!(job.take::<Row>("joined"), [(3, 0)]);
}
