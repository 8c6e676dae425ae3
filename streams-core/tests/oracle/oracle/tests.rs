//! The oracle itself, on cases small enough to be worked out by hand.

use crate::event::Event;
use crate::oracle::{Mutation, evaluate};
use crate::plan::{Fields, Input, Job, Let, Op, Origin};
use crate::streams::{Item, What};

/// Key, sum, count and start of each window; the other fields do not matter here.
const FIELDS: Fields = Fields { k: 2, s: 2, v: 1, u: 0, f: 0, at: 0 };

fn time(bound_ms: u64) -> Op {
    Op::EventTime { entry: 0, bound_ms }
}

fn window(size_ms: u64, slide_ms: Option<u64>) -> Op {
    Op::Window { size_ms, slide_ms, fields: FIELDS }
}

fn record(port: usize, k: u8, v: i64, at: i64) -> Item {
    let event = Event { k, s: String::new(), v, u: 0, f: 0.0, at };
    Item { port, what: What::Record(event), restart: false }
}

fn end(port: usize) -> Item {
    Item { port, what: What::End, restart: false }
}

/// Step, time, key, sum, count and start of every row of the last `let`, and the number of late records.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "the calls read better without borrows")]
fn check(
    n_ports: usize,
    lets: Vec<Let>,
    items: Vec<Item>,
    expected: &[(usize, i64, u8, i64, u64, i64)],
    late: u64,
) {
    let outputs = vec![lets.len() - 1];
    let job = Job { name: "job".to_owned(), n_ports, lets, outputs };
    let (outcome, _) = evaluate(&job, &items, Mutation::None);
    let rows = outcome.ports[0].iter().map(|row| {
        let Event { k, v, u, at, .. } = row.event;
        (row.step, row.at, k, v, u, at)
    });
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(outcome.late, late);
}

fn port(port: usize, ops: &[Op]) -> Let {
    Let { origin: Origin::Port(port), ops: ops.to_vec() }
}

#[test]
fn a_tumbling_window_fires_at_its_end_in_order_of_keys() {
    let lets = vec![port(0, &[time(2), Op::KeyBy(0), window(10, None)])];
    let items = vec![
        record(0, 2, 5, 9),
        record(0, 1, 7, -1),
        record(0, 1, 1, 0),
        // Event time reaches 9: nothing ends.
        record(0, 1, 2, 11),
        // It reaches 10: the window ends, in front of the record.
        record(0, 1, 4, 12),
        // The window has gone.
        record(0, 1, 100, 9),
    ];
    check(
        1,
        lets,
        items,
        // The record at -1 belongs to [-10, 0), which ended when event time reached 7 in the first step.
        &[(4, 9, 1, 1, 1, 0), (4, 9, 2, 5, 1, 0), (6, 19, 1, 6, 2, 10)],
        2,
    );
}

#[test]
fn a_record_is_in_every_window_around_it_that_is_open() {
    let lets = vec![port(0, &[time(0), Op::KeyBy(0), window(10, Some(4))])];
    // 5 lies in [-4, 6), [0, 10) and [4, 14); when 7 comes the first one has gone.
    let items = vec![record(0, 1, 1, 5), record(0, 1, 2, 7), record(0, 1, 4, 5)];
    check(1, lets, items, &[(1, 5, 1, 1, 1, -4), (3, 9, 1, 7, 3, 0), (3, 13, 1, 7, 3, 4)], 0);
}

#[test]
fn a_union_waits_for_the_slower_input_until_it_ends() {
    let union = Let {
        origin: Origin::Union(Input::Let(0), Input::Let(1)),
        ops: vec![Op::KeyBy(0), window(10, None)],
    };
    let lets = vec![port(0, &[time(0)]), port(1, &[time(0)]), union];
    let items = vec![record(0, 1, 1, 3), record(0, 1, 2, 30), record(1, 1, 4, 4), end(1), record(0, 1, 8, 5)];
    // Until the second input ends, event time behind the union is 4.
    check(2, lets, items, &[(3, 9, 1, 5, 2, 0), (5, 39, 1, 2, 1, 30)], 1);
}

#[test]
fn windows_at_the_ends_of_time_are_cut() {
    let lets = vec![port(0, &[time(0), Op::KeyBy(4), window(1000, None)])];
    let items = vec![record(0, 1, 1, i64::MIN), record(0, 1, 2, i64::MAX)];
    let (first_end, last_start) = (i64::MIN + 808, i64::MAX - 807);
    check(1, lets, items, &[(1, first_end - 1, 1, 1, 1, i64::MIN), (2, i64::MAX, 1, 2, 1, last_start)], 0);
}

#[test]
fn a_quiet_key_is_forgotten_when_event_time_has_passed_it() {
    let running = Op::Running { ttl_ms: Some(10), fields: Fields { at: 3, ..FIELDS } };
    let lets = vec![port(0, &[time(0), Op::KeyBy(0), running])];
    let items = vec![
        record(0, 1, 1, 0),
        record(0, 2, 0, 9),
        record(0, 1, 2, 1),
        record(0, 2, 0, 11),
        record(0, 1, 4, 2),
    ];
    // At 11 the key 1, last seen at 1, has been quiet for 10.
    check(
        1,
        lets,
        items,
        &[
            (0, 0, 1, 1, 1, 0),
            (1, 9, 2, 0, 1, 9),
            (2, 1, 1, 3, 2, 1),
            (3, 11, 2, 0, 2, 11),
            (4, 2, 1, 4, 1, 2),
        ],
        0,
    );
}
