//! What operators say when state is not theirs, and what a second event time does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use streams_core::batch::Batch;
use streams_core::effects::Effects;
use streams_core::error::StateError;
use streams_core::layout::Fused;
use streams_core::machine::Machine;
use streams_core::plan::{Job, Plan, Settings};
use streams_core::ports::{Input, Output, Ports, Sink, Source};
use streams_core::prelude::*;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store, Write};
use streams_core::testing::Harness;

#[record]
struct Event {
    key: u32,
    amount: u64,
    at: i64,
}

macro_rules! totals {
    ($name:ident, $window:expr, $row:ty, $value:expr) => {
        #[stream_job]
        fn $name(events: Stream<Event>) -> Stream<$row> {
            let totals = events
                .event_time(|e| e.at, out_of_order(secs(1)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate($value);
            totals
        }
    };
}

totals!(sums, tumbling(secs(10)), u64, sum(|e| e.amount));
totals!(largest, tumbling(secs(10)), u64, max(|e| e.amount));
totals!(longer, tumbling(secs(20)), u64, sum(|e| e.amount));
totals!(overlapping, hopping(secs(20), secs(10)), u64, sum(|e| e.amount));

totals!(by_the_hour, hopping(hours(1), secs(1)), u64, count());

#[stream_job]
fn not_far_ahead(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)).at_most_ahead(mins(1)))
        .key_by(|e| e.key)
        .window(tumbling(secs(10)))
        .aggregate(sum(|e| e.amount))
}

/// A machine of the job, for tests that feed nothing through ports.
fn machine<J: Job>(_job: J) -> Box<dyn Machine> {
    J::build(Plan::new::<J>(Fused, Nothing, Settings::new())).unwrap()
}

struct Nothing;

impl Ports for Nothing {
    type Source<T: Input> = Self;
    type Sink<T: Output> = Self;

    fn source<T: Input>(&mut self, _index: usize, _name: &'static str) -> Self {
        Self
    }

    fn sink<T: Output>(&mut self, _index: usize, _name: &'static str) -> Self {
        Self
    }
}

impl<T> Source<T> for Nothing {
    const TAKES_VALUES: bool = true;

    fn decode(&mut self, _bytes: &[u8]) -> Result<T, String> {
        Err("nothing is fed".to_owned())
    }
}

impl<T> Sink<T> for Nothing {
    fn accept(&mut self, _ts: i64, _value: T) {}

    fn drain(&mut self, _out: &mut streams_core::effects::OutputBatch) {}
}

/// What a machine of another job says to the state of `sums`.
#[track_caller]
fn check<J: Job>(job: J, expect: Option<&str>) {
    let mut delta = Delta::new();
    machine(sums).checkpoint(&mut delta, b"m").unwrap();
    let mut store = MemoryStore::new();
    store.commit(&delta).unwrap();
    match (machine(job).new_split(&store, b"m"), expect) {
        (Ok(()), None) => {}
        (Err(StateError::Mismatch(text)), Some(part)) => assert!(text.contains(part), "{text}"),
        (found, expect) => panic!("{found:?} instead of {expect:?}"),
    }
}

#[test]
fn state_of_another_operator_is_refused() {
    check(sums, None);
    check(
        largest,
        Some(
            "`totals` is that of windows of 10000 ms of (sum(u64)) by u32, and the job has windows of 10000 ms of (max(u64)) by u32",
        ),
    );
    check(longer, Some("windows of 20000 ms"));
    check(overlapping, Some("windows of 20000 ms every 10000 ms"));
}

/// A window of an hour begins every second: a record is in 3,600 of them, and in one row.
#[test]
fn overlapping_windows_keep_panes_and_no_copies() {
    let mut machine = machine(by_the_hour);
    let mut puts = |seconds: std::ops::Range<i64>, per_second: i64| {
        let event = |at| Event { key: 1, amount: 1, at };
        let mut events: Vec<Event> =
            seconds.flat_map(|s| (0..per_second).map(move |n| event(s * 1_000 + n))).collect();
        machine.feed(0, Batch::Typed(&mut events));
        machine.drain(&mut Effects::default());
        let mut delta = Delta::new();
        machine.checkpoint(&mut delta, b"m").unwrap();
        delta.writes().filter(|write| matches!(write, Write::Put { .. })).count()
    };
    // Beside the panes: the largest time seen, and the watermark.
    assert_eq!(puts(0..1, 1), 2 + 1);
    assert_eq!(puts(0..1, 500), 2 + 1);
    assert_eq!(puts(1..101, 50), 2 + 100);
}

/// An accumulator whose state encodes and does not decode.
struct Tagged;

#[record]
#[derive(Debug)]
#[serde(tag = "kind")]
enum Seen {
    Few { n: u64 },
}

impl Accumulator<u64> for Tagged {
    type State = Seen;
    type Out = u64;

    fn init(&self) -> Seen {
        Seen::Few { n: 0 }
    }

    fn add(&self, Seen::Few { n }: &mut Seen, _value: u64) {
        *n += 1;
    }

    fn merge(&self, Seen::Few { n }: &mut Seen, Seen::Few { n: behind }: Seen) {
        *n += behind;
    }

    fn finish(&self, Seen::Few { n }: Seen) -> u64 {
        n
    }
}

#[stream_job]
fn tagged(events: Stream<Event>) -> Stream<u64> {
    events.key_by(|e| e.key).running(forever()).aggregate(acc(Tagged, |e| e.amount))
}

#[test]
fn state_that_does_not_decode_is_found_at_the_first_checkpoint() {
    let mut harness = Harness::new(tagged);
    harness.push("events", Event { key: 1, amount: 2, at: 3 });
    let error = harness.restart().unwrap_err().to_string();
    assert!(error.contains("`aggregate` cannot be decoded"), "{error}");
}

#[record]
struct Row {
    start: i64,
    n: u64,
}

/// Rows of overlapping windows, timed anew by their start.
#[stream_job]
fn timed_anew(events: Stream<Event>) -> (Stream<u64>, Stream<Row>) {
    let rows = events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .window(hopping(secs(60), secs(10)))
        .aggregate(Row { start: window_start(), n: count() });
    let counts = rows
        .event_time(|r| r.start, out_of_order(secs(0)))
        .key_by(|_| ())
        .window(tumbling(secs(10)))
        .aggregate(count());
    let late = counts.late();
    (counts, late)
}

#[test]
fn a_second_event_time_has_a_watermark_of_its_own() {
    let mut harness = Harness::new(timed_anew);
    let event = |at: i64| Event { key: 1, amount: 1, at };
    harness.push_all("events", (0..100).map(|second| event(second * 1_000)).collect());
    harness.end();
    assert_eq!(harness.take::<Row>("late").len(), 0);
    assert_eq!(harness.late(), 0);
    // The windows that begin at -50 s, -40 s … 90 s, one row each.
    assert_eq!(harness.take::<u64>("counts"), vec![1; 15]);
}

#[test]
fn without_a_store_time_nothing_is_refused() {
    let mut harness = Harness::new(not_far_ahead);
    let event = |at: i64| Event { key: 1, amount: 1, at };
    harness.push_all("events", [0, 120_001, 61_000].map(event).into());
    harness.end();
    assert_eq!((harness.take::<u64>("not_far_ahead"), harness.late()), (vec![1, 1], 1));
    assert_eq!(harness.rejects().len(), 0);
}
