//! Rows that records need while a split is loaded are asked for together, and change nothing but the number of
//! questions; rows that nothing needs stay where they are.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use streams_core::batch::Batch;
use streams_core::effects::{Effects, OutputBatch};
use streams_core::error::StateError;
use streams_core::layout::Sharded;
use streams_core::machine::Machine;
use streams_core::plan::{Job, Plan, Settings};
use streams_core::ports::{Input, Output, Ports, Sink, Source};
use streams_core::prelude::*;
use streams_core::store::backing::Backing;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store, Visit};

#[record]
struct Event {
    key: u32,
    n: u64,
    at: i64,
}

macro_rules! totals {
    ($name:ident, $window:expr) => {
        #[stream_job]
        fn $name(events: Stream<Event>) -> Stream<(u32, u64)> {
            events
                .event_time(|e| e.at, out_of_order(secs(1)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate((key(), sum(|e| e.n)))
        }
    };
}

totals!(windows, tumbling(secs(10)));
totals!(updates, tumbling(secs(10)).lateness(secs(60)));
totals!(counts, count_window(3, ttl(mins(10))));

#[stream_job]
fn so_far(events: Stream<Event>) -> Stream<(u32, u64)> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .running(forever())
        .aggregate((key(), sum(|e| e.n)))
}

#[stream_job]
fn table(events: Stream<Event>) -> Stream<(u32, u64)> {
    let changes = events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .filter(|e| e.n % 3 == 0)
        .key_by(|e| e.key)
        .map(|e| Some(e.n));
    let records = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.key);
    records.join_table(changes, forever(), |e, n| (e.key, e.n + n))
}

totals!(sessions, session(hours(10)));
totals!(without_end, global(ttl(hours(10))));

#[stream_job]
fn pairs(events: Stream<Event>) -> Stream<(u32, u64)> {
    let timed = events.event_time(|e| e.at, out_of_order(secs(1)));
    let large = timed.filter(|e| e.n > 1_000_000).key_by(|e| e.key);
    timed.key_by(|e| e.key).left_join(large, within(hours(5), hours(5)), |e, _| (e.key, e.n))
}

struct Text;

#[derive(Default)]
struct Lines(OutputBatch);

impl Ports for Text {
    type Source<T: Input> = Self;
    type Sink<T: Output> = Lines;

    fn source<T: Input>(&mut self, _index: usize, _name: &'static str) -> Self {
        Self
    }

    fn sink<T: Output>(&mut self, _index: usize, _name: &'static str) -> Lines {
        Lines::default()
    }
}

impl<T> Source<T> for Text {
    const TAKES_VALUES: bool = true;

    fn decode(&mut self, _bytes: &[u8]) -> Result<T, String> {
        Err("nothing is decoded here".to_owned())
    }
}

impl<T: Output> Sink<T> for Lines {
    fn accept(&mut self, ts: i64, value: T) {
        self.0
            .bytes
            .extend_from_slice(format!("{ts} {}\n", serde_json::to_string(&value).unwrap()).as_bytes());
        self.0.records += 1;
    }

    fn drain(&mut self, out: &mut OutputBatch) {
        out.records += std::mem::take(&mut self.0.records);
        out.bytes.append(&mut self.0.bytes);
    }
}

/// How often rows were asked for: one by one, and many at once; and how many were found in ranges.
#[derive(Default)]
struct Questions {
    single: AtomicUsize,
    together: AtomicUsize,
    in_ranges: AtomicUsize,
}

struct Counted(MemoryStore, Arc<Questions>);

impl Backing for Counted {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.1.single.fetch_add(1, Ordering::Relaxed);
        Store::get(&self.0, key)
    }

    fn get_many(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        self.1.together.fetch_add(1, Ordering::Relaxed);
        keys.iter().map(|key| Store::get(&self.0, key)).collect()
    }

    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        Backing::range(&self.0, from, to, &mut |key, value| {
            self.1.in_ranges.fetch_add(1, Ordering::Relaxed);
            visit(key, value)
        })
    }
}

const PREFIX: &[u8] = b"r";
const KEYS: u32 = 40;

fn machine<J: Job>(entry: usize) -> Box<dyn Machine> {
    let plan = Plan::new::<J>(Sharded { n_queues: vec![1] }, Text, Settings::new());
    let mut machine = J::build(plan).unwrap();
    machine.focus(entry);
    machine
}

/// The records of the shuffle, of which each key has several.
fn shuffled<J: Job>(from: i64) -> Vec<Vec<u8>> {
    let event = |n: i64| Event { key: (n % i64::from(KEYS)) as u32, n: n as u64, at: from + n * 20 };
    let mut events: Vec<Event> = (0..i64::from(KEYS) * 3).map(event).collect();
    let mut source = machine::<J>(0);
    source.feed(0, Batch::Typed(&mut events));
    let mut effects = Effects::default();
    source.drain(&mut effects);
    let queue = effects.runs.first().and_then(|queues| queues.first()).unwrap();
    queue.records().map(<[u8]>::to_vec).collect()
}

/// What the stage gives out for `records`, and how it asked, with rows of an earlier run in the store.
fn run<J: Job>(records: &[Vec<u8>], store: &MemoryStore, looks_ahead: bool) -> (String, usize, usize) {
    let questions = Arc::new(Questions::default());
    let mut stage = machine::<J>(1);
    stage.attach(Box::new(Counted(store.clone(), Arc::clone(&questions))), PREFIX).unwrap();
    // What each operator keeps for itself has been read.
    questions.single.store(0, Ordering::Relaxed);
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    if looks_ahead {
        stage.ahead(1, &records);
    }
    for record in &records {
        stage.feed(1, Batch::Encoded(&[(i64::MIN, record)]));
    }
    stage.ahead(1, &[]);
    assert!(stage.failure().is_none());
    let mut delta = Delta::new();
    stage.checkpoint(&mut delta, PREFIX).unwrap();
    stage.end(1);
    let mut effects = Effects::default();
    stage.drain(&mut effects);
    let mut after = store.clone();
    after.commit(&delta).unwrap();
    let rows: Vec<_> = after.rows().collect();
    let output = effects.outputs.into_iter().next().unwrap();
    let text = format!("{}{rows:?}", String::from_utf8(output.bytes).unwrap());
    (text, questions.single.load(Ordering::Relaxed), questions.together.load(Ordering::Relaxed))
}

/// The rows of a stage that has had some records.
fn earlier<J: Job>() -> MemoryStore {
    let mut store = MemoryStore::new();
    let (mut first, mut delta) = (machine::<J>(1), Delta::new());
    for record in shuffled::<J>(0) {
        first.feed(1, Batch::Encoded(&[(i64::MIN, &record)]));
    }
    first.checkpoint(&mut delta, PREFIX).unwrap();
    store.commit(&delta).unwrap();
    store
}

#[track_caller]
fn check<J: Job>(_job: J) {
    let store = earlier::<J>();
    let records = shuffled::<J>(100);
    let (alone, single, together) = run::<J>(&records, &store, false);
    assert!(single > KEYS as usize / 2 && together == 0, "{single} {together}");
    let (ahead, single, together) = run::<J>(&records, &store, true);
    assert_eq!((single, together), (0, 1), "one question for all keys");
    assert_eq!(ahead, alone, "results and rows do not depend on how rows are read");
}

#[test]
fn missing_rows_are_asked_for_together() {
    check(windows);
    check(updates);
    check(counts);
    check(so_far);
    check(table);
}

/// One record more, behind which event time has come further: only rows of its own key are read.
#[track_caller]
fn check_far<J: Job>(_job: J) {
    let questions = Arc::new(Questions::default());
    let store = earlier::<J>();
    assert!(store.rows().count() >= KEYS as usize);
    let mut stage = machine::<J>(1);
    stage.attach(Box::new(Counted(store, Arc::clone(&questions))), PREFIX).unwrap();
    let record = shuffled::<J>(60_000).swap_remove(0);
    stage.feed(1, Batch::Encoded(&[(i64::MIN, &record)]));
    for at_ms in [5_000, 50_000, 500_000] {
        stage.watermark(1, at_ms);
    }
    assert!(stage.failure().is_none());
    let read = questions.in_ranges.load(Ordering::Relaxed);
    assert!(read <= 8, "{read} rows");
}

#[test]
fn what_is_far_from_due_stays_in_the_store() {
    check_far(sessions);
    check_far(without_end);
    check_far(pairs);
}
