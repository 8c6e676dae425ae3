//! What an operator shows of one key: each kind of state, from its rows alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use streams_core::batch::Batch;
use streams_core::inspect::{Answer, Inquiry, Rows, Shown};
use streams_core::layout::Fused;
use streams_core::machine::Machine;
use streams_core::plan::{Job, Plan, Settings};
use streams_core::ports::{Input, Output, Ports, Sink, Source};
use streams_core::prelude::*;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store};

#[record]
struct Event {
    host: String,
    port: u16,
    n: u64,
    at: i64,
}

macro_rules! totals {
    ($name:ident, $window:expr) => {
        #[stream_job]
        fn $name(events: Stream<Event>) -> Stream<u64> {
            let totals = events
                .event_time(|e| e.at, out_of_order(secs(1)))
                .key_by(|e| e.host.clone())
                .window($window)
                .aggregate(sum(|e| e.n));
            totals
        }
    };
}

totals!(windows, tumbling(secs(10)));
totals!(updates, tumbling(secs(10)).lateness(secs(60)));
totals!(sessions, session(secs(5)));
totals!(counts, count_window(100, forever()));

#[stream_job]
fn running_totals(events: Stream<Event>) -> Stream<u64> {
    let totals = events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| (e.host.clone(), e.port))
        .running(forever())
        .aggregate(sum(|e| e.n));
    totals
}

#[stream_job]
fn window_pairs(events: Stream<Event>) -> Stream<u64> {
    let left = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.host.clone());
    let right = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.host.clone());
    let pairs = left.join(right, tumbling(secs(10)), |l, r| l.n * r.n);
    pairs
}

#[stream_job]
fn near_pairs(events: Stream<Event>) -> Stream<u64> {
    let left = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.host.clone());
    let right = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.host.clone());
    let pairs = left.join(right, within(secs(3), secs(3)), |l, r| l.n * r.n);
    pairs
}

#[stream_job]
fn table_rows(events: Stream<Event>) -> Stream<u64> {
    let changes =
        events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.host.clone()).map(|e| Some(e.n));
    let records = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.host.clone());
    let found = records.join_table(changes, forever(), |e, n| e.n + n);
    found
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
        Err("nothing is decoded here".to_owned())
    }
}

impl<T> Sink<T> for Nothing {
    fn accept(&mut self, _ts: i64, _value: T) {}

    fn drain(&mut self, _out: &mut streams_core::effects::OutputBatch) {}
}

const MACHINE: &[u8] = b"m";

fn machine<J: Job>() -> Box<dyn Machine> {
    J::build(Plan::new::<J>(Fused, Nothing, Settings::new())).unwrap()
}

/// Three records, a checkpoint, and the answer of a machine that has loaded nothing.
fn answer<J: Job>(_job: J, operator: &str, key: &str) -> Answer {
    let event = |host: &str, n, at| Event { host: host.to_owned(), port: 80, n, at };
    let mut events = vec![event("a", 3, 1_000), event("b", 5, 2_000), event("a", 4, 3_000)];
    let mut fed = machine::<J>();
    fed.feed(0, Batch::Typed(&mut events));
    let mut delta = Delta::new();
    fed.checkpoint(&mut delta, MACHINE).unwrap();
    let mut store = MemoryStore::new();
    store.commit(&delta).unwrap();
    let inquiry = |rows| machine::<J>().inspect(Inquiry::new(rows, MACHINE, operator, key)).answer().unwrap();
    let here = inquiry(Rows::Here(&store));
    assert_eq!(here, inquiry(Rows::There(&store)), "rows are the same wherever they lie");
    here
}

#[track_caller]
fn check<J: Job>(job: J, operator: &str, key: &str, expect: &[&str]) {
    let Answer::Found(rows) = answer(job, operator, key) else { panic!("nothing was asked") };
    let shown = |row: Shown| {
        let at: String = row.at.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        format!("{} {at}{}", row.key, row.value)
    };
    assert_eq!(rows.into_iter().map(shown).collect::<Vec<_>>(), expect);
}

#[test]
fn each_kind_of_state_is_shown() {
    check(windows, "totals", "a", &[r#""a" from=0 [7]"#]);
    check(windows, "totals", "c", &[]);
    check(updates, "totals", "a", &[r#""a" from=0 {"state":[7],"fresh":true}"#]);
    check(
        sessions,
        "totals",
        "a",
        &[r#""a" {"start_ms":1000,"last_ms":3000,"state":[7],"fresh":true,"fired":false,"due_ms":8000}"#],
    );
    check(
        counts,
        "totals",
        "b",
        &[r#""b" {"state":[5],"n":1,"fresh":1,"last_ms":2000,"due_ms":9223372036854775807}"#],
    );
    check(running_totals, "totals", r#"["a",80]"#, &[r#"["a",80] {"state":[7],"last_ms":3000}"#]);
    check(table_rows, "found", "b", &[r#""b" {"row":5,"last_ms":2000}"#]);
    let b = r#"{"host":"b","port":80,"n":5,"at":2000}"#;
    check(
        window_pairs,
        "pairs",
        "b",
        &[
            &format!(r#""b" from=0 side="left" arrival=2 {b}"#),
            &format!(r#""b" from=0 side="right" arrival=3 {b}"#),
        ],
    );
    check(
        near_pairs,
        "pairs",
        "b",
        &[
            &format!(r#""b" at=2000 side="left" arrival=2 [false,{b}]"#),
            &format!(r#""b" at=2000 side="right" arrival=3 [false,{b}]"#),
        ],
    );
}

#[test]
fn what_is_no_key_and_what_has_no_rows_is_told() {
    let Answer::NoKey { wanted, why } = answer(running_totals, "totals", "a") else {
        panic!("it is no pair")
    };
    assert_eq!(wanted, "(String, u16)");
    assert!(why.contains("expected"), "{why}");
    assert_eq!(answer(windows, "total", "a"), Answer::NoRows);
    assert_eq!(answer(windows, "event_time", "a"), Answer::NoRows);
}
