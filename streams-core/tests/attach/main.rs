//! A machine that takes its rows over while it runs does what one does that never stopped.
//!
//! Random jobs on random inputs: once in one piece, once with commits, crashes and takeovers in between, each of
//! which reads its rows on demand and in pages of random size that arrive late. `STREAMS_ATTACH_SEEDS` says how many.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use streams_core::batch::{Batch, RawBatch};
use streams_core::effects::{Effects, OutputBatch};
use streams_core::error::StateError;
use streams_core::layout::Fused;
use streams_core::machine::Machine;
use streams_core::plan::{Job, Plan, Settings};
use streams_core::ports::{Input, Output, Ports, Sink, Source};
use streams_core::store::backing::{Backing, Row};
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store};

mod jobs;
mod joins;

use jobs::*;
use joins::*;

struct Json;

struct JsonSource;

#[derive(Default)]
struct Lines(OutputBatch);

impl Ports for Json {
    type Source<T: Input> = JsonSource;
    type Sink<T: Output> = Lines;

    fn source<T: Input>(&mut self, _index: usize, _name: &'static str) -> JsonSource {
        JsonSource
    }

    fn sink<T: Output>(&mut self, _index: usize, _name: &'static str) -> Lines {
        Lines::default()
    }
}

impl<T: serde::de::DeserializeOwned> Source<T> for JsonSource {
    fn decode(&mut self, bytes: &[u8]) -> Result<T, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

impl<T: Output> Sink<T> for Lines {
    fn accept(&mut self, ts: i64, value: T) {
        self.0.bytes.extend_from_slice(format!("{ts} ").as_bytes());
        serde_json::to_writer(&mut self.0.bytes, &value).unwrap();
        self.0.bytes.push(b'\n');
        self.0.records += 1;
    }

    fn drain(&mut self, out: &mut OutputBatch) {
        out.records += std::mem::take(&mut self.0.records);
        out.bytes.append(&mut self.0.bytes);
    }
}

fn machine<J: Job>() -> Box<dyn Machine> {
    J::build(Plan::new::<J>(Fused, Json, Settings::new())).unwrap()
}

// --- input

#[derive(Debug, Clone)]
enum Step {
    Record { port: usize, json: String, stored_ms: i64 },
    Watermark { port: usize, at_ms: i64 },
    End { port: usize },
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn steps(random: &mut Random, n_ports: usize, extreme: bool) -> Vec<Step> {
    let n = 5 + random.below(90);
    let mut clock: i64 = match random.below(4) {
        0 => -200,
        1 if extreme => i64::MIN + random.below(30) as i64,
        2 if extreme => i64::MAX - 150 + random.below(60) as i64,
        _ => 1_000,
    };
    let n_keys = 1 + random.below(12);
    let mut marks = vec![i64::MIN; n_ports];
    let by_marks = random.below(3) == 0;
    let ends_early = random.below(4) == 0;
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..n {
        clock = clock.saturating_add(match random.below(12) {
            0 => 40,
            1 => 15,
            2..5 => 0,
            _ => random.below(4) as i64,
        });
        let open = |port: &usize| {
            n_ports == 1 || !steps.iter().any(|s| matches!(s, Step::End { port: p } if p == port))
        };
        let port = Some(random.below(n_ports)).filter(open).unwrap_or(n_ports - 1);
        if by_marks && random.below(6) == 0 {
            let at_ms = clock.saturating_sub(random.below(8) as i64);
            if at_ms > marks[port] {
                marks[port] = at_ms;
                steps.push(Step::Watermark { port, at_ms });
            }
        } else if ends_early && random.below(25) == 0 && (n_ports == 1 || port + 1 < n_ports) {
            steps.push(Step::End { port });
        } else {
            let back = if random.below(6) == 0 { random.below(60) } else { random.below(5) } as i64;
            let at = match random.below(60) {
                0 if extreme => i64::MIN,
                1 if extreme && steps.len() * 4 > n * 3 => i64::MAX,
                2 => clock.saturating_add(500),
                _ => clock.saturating_sub(back),
            };
            let (key, amount) = (random.below(n_keys), random.next() % 10_000);
            let stored_ms = if random.below(3) == 0 { i64::MIN } else { clock };
            let json = format!(r#"{{"key":{key},"amount":{amount},"at":{at}}}"#);
            steps.push(Step::Record { port, json, stored_ms });
        }
    }
    for port in 0..n_ports {
        if n_ports == 1 || !steps.iter().any(|s| matches!(s, Step::End { port: p } if *p == port)) {
            steps.push(Step::End { port });
        }
    }
    steps
}

fn play(machine: &mut dyn Machine, step: &Step) {
    match step {
        Step::Record { port, json, stored_ms } => {
            let batch = RawBatch::stored(json.as_bytes(), 0, 0, *stored_ms);
            machine.feed(*port, Batch::Raw { batch: &batch, from: 0, stop_on_reject: false });
        }
        Step::Watermark { port, at_ms } => machine.watermark(*port, *at_ms),
        Step::End { port } => machine.end(*port),
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Out {
    lines: BTreeMap<usize, String>,
    late: u64,
    repeated: u64,
    rejects: Vec<String>,
}

fn drain(machine: &mut dyn Machine, out: &mut Out) {
    let mut effects = Effects::default();
    machine.drain(&mut effects);
    for (port, batch) in effects.outputs.iter().enumerate() {
        out.lines.entry(port).or_default().push_str(std::str::from_utf8(&batch.bytes).unwrap());
    }
    out.late += effects.late;
    out.repeated += effects.repeated;
    out.rejects.extend(
        effects.rejects.iter().map(|r| format!("{:?} {} {} {:?}", r.origin, r.operator, r.error, r.key)),
    );
}

// --- the store

#[derive(Clone)]
struct Remote(Arc<Mutex<MemoryStore>>);

impl Backing for Remote {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        Store::get(&*self.0.lock().unwrap(), key)
    }

    fn range(
        &self,
        from: &[u8],
        to: &[u8],
        visit: &mut streams_core::store::Visit<'_>,
    ) -> Result<(), StateError> {
        let store = self.0.lock().unwrap();
        store
            .rows()
            .filter(|(key, _)| from <= *key && *key < to)
            .try_for_each(|(key, value)| visit(key, value))
    }
}

fn page(store: &MemoryStore, after: &[u8], n: usize) -> (Vec<Row>, bool) {
    let mut behind = store.rows().filter(|(key, _)| *key > after && key.starts_with(MACHINE));
    let rows = behind.by_ref().take(n).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    (rows, behind.next().is_some())
}

const MACHINE: &[u8] = b"m";

fn all(store: &MemoryStore) -> Vec<Row> {
    store.rows().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// What a local store has.
#[derive(Default, Clone)]
struct Copy {
    store: MemoryStore,
    cursor: Option<Vec<u8>>,
}

#[derive(Default, Debug)]
struct Tally {
    takeovers: u64,
    pages: u64,
    commits: u64,
}

fn check<J: Job>(_job: J, name: &str, seed: u64, exact: bool, tally: &mut Tally) {
    let mut random = Random(seed.wrapping_mul(77).wrapping_add(name.len() as u64));
    let n_ports = J::TOPOLOGY.sources().count();
    let extreme = random.below(3) == 0;
    let steps = steps(&mut random, n_ports, extreme);

    // Plainly.
    let mut plain = machine::<J>();
    plain.new_split(&MemoryStore::new(), MACHINE).unwrap();
    let mut expected = Out::default();
    for step in &steps {
        play(&mut *plain, step);
    }
    drain(&mut *plain, &mut expected);
    let mut delta = Delta::new();
    plain.checkpoint(&mut delta, MACHINE).unwrap();
    let mut rows = MemoryStore::new();
    rows.commit(&delta).unwrap();

    // With takeovers.
    let remote = Remote(Arc::new(Mutex::new(MemoryStore::new())));
    let mut copy: Option<Copy> = None;
    let (mut at, mut committed_at) = (0, 0);
    let (mut out, mut committed_out) = (Out::default(), Out::default());
    let mut found = machine::<J>();
    found.new_split(&MemoryStore::new(), MACHINE).unwrap();
    let mut cursor: Option<Vec<u8>> = None;
    let mut flying: Option<(Vec<Row>, bool)> = None;
    let most_rows = if random.below(2) == 0 { 3 } else { 12 };
    let page_rows = 1 + random.below(most_rows);
    let busy_pages = random.below(30);
    let (commits, crashes) = (1 + random.below(20), random.below(12));
    let mut left = 4 * steps.len();
    loop {
        left = left.saturating_sub(1);
        let roll = if left == 0 { 99 } else { random.below(100) };
        if roll < commits || (at == steps.len() && committed_at < at) {
            // A commit waits for the page that is being read.
            if flying.is_some() && at < steps.len() {
                continue;
            }
            if let Some((rows, more)) = flying.take() {
                arrive(&mut *found, &rows, more, &mut cursor, &mut copy);
            }
            drain(&mut *found, &mut out);
            let mut delta = Delta::new();
            found.checkpoint(&mut delta, MACHINE).unwrap();
            remote.0.lock().unwrap().commit(&delta).unwrap();
            if let Some(copy) = &mut copy {
                copy.store.commit(&delta).unwrap();
                if copy.cursor.is_none() {
                    assert_eq!(all(&copy.store), all(&remote.0.lock().unwrap()), "{name} {seed}: the copy");
                }
            }
            (committed_at, committed_out) = (at, out.clone());
            tally.commits += 1;
        } else if roll < commits + crashes {
            flying = None;
            tally.takeovers += 1;
            found = machine::<J>();
            (at, out) = (committed_at, committed_out.clone());
            match random.below(4) {
                0 => {
                    found.new_split(&*remote.0.lock().unwrap(), MACHINE).unwrap();
                    cursor = None;
                    copy = None;
                }
                1 if copy.is_some() => {
                    // Goes on with the copy.
                    let old = copy.as_ref().unwrap();
                    cursor = old.cursor.clone();
                    match &cursor {
                        None => found.new_split(&old.store, MACHINE).unwrap(),
                        Some(cursor) => {
                            found.attach(Box::new(remote.clone()), MACHINE).unwrap();
                            let mut rows = all(&old.store);
                            rows.retain(|(key, _)| key <= cursor);
                            found.page(&rows, MACHINE).unwrap();
                        }
                    }
                }
                more => {
                    found.attach(Box::new(remote.clone()), MACHINE).unwrap();
                    cursor = Some(Vec::new());
                    copy = (more == 2).then(|| Copy { cursor: Some(Vec::new()), ..Copy::default() });
                }
            }
            // That an input has ended is said again.
            for step in steps[..at].iter().filter(|_| n_ports > 1) {
                if let Step::End { port } = step {
                    found.end(*port);
                }
            }
            if n_ports > 1 {
                // What this fires had fired before.
                let mut nothing = Out::default();
                drain(&mut *found, &mut nothing);
                out.late += nothing.late;
                out.repeated += nothing.repeated;
                for (port, lines) in nothing.lines {
                    out.lines.entry(port).or_default().push_str(&lines);
                }
            }
        } else if roll < commits + crashes + busy_pages {
            match (flying.take(), &cursor) {
                (Some((rows, more)), _) => {
                    tally.pages += 1;
                    arrive(&mut *found, &rows, more, &mut cursor, &mut copy);
                }
                (None, Some(after)) => flying = Some(page(&remote.0.lock().unwrap(), after, page_rows)),
                (None, None) => {}
            }
        } else if at < steps.len() {
            play(&mut *found, &steps[at]);
            at += 1;
            if random.below(3) == 0 {
                drain(&mut *found, &mut out);
            }
            let failure = found.failure();
            assert!(failure.is_none(), "{name} {seed}: {failure:?}");
        } else {
            break;
        }
    }
    drain(&mut *found, &mut out);
    assert_eq!(out.late, expected.late, "{name} {seed}: late");
    assert_eq!(out.repeated, expected.repeated, "{name} {seed}: repeated");
    for (port, lines) in &expected.lines {
        let other = out.lines.get(port).cloned().unwrap_or_default();
        if *lines != other {
            let at = lines.lines().zip(other.lines()).take_while(|(a, b)| a == b).count();
            panic!(
                "{name} {seed}: output {port} from line {at}:\n{:?}\ninstead of\n{:?}",
                other.lines().skip(at).take(4).collect::<Vec<_>>(),
                lines.lines().skip(at).take(4).collect::<Vec<_>>()
            );
        }
    }
    assert_eq!(out.rejects, expected.rejects, "{name} {seed}: rejects");
    // The rest of the pages, and what is committed behind them.
    while let Some(after) = cursor.clone() {
        let (rows, more) =
            flying.take().unwrap_or_else(|| page(&remote.0.lock().unwrap(), &after, page_rows));
        arrive(&mut *found, &rows, more, &mut cursor, &mut copy);
    }
    let mut delta = Delta::new();
    found.checkpoint(&mut delta, MACHINE).unwrap();
    remote.0.lock().unwrap().commit(&delta).unwrap();
    if exact {
        assert_eq!(all(&remote.0.lock().unwrap()).len(), all(&rows).len(), "{name} {seed}: number of rows");
        assert!(all(&remote.0.lock().unwrap()) == all(&rows), "{name} {seed}: rows");
    }
}

fn arrive(
    machine: &mut dyn Machine,
    rows: &[Row],
    more: bool,
    cursor: &mut Option<Vec<u8>>,
    copy: &mut Option<Copy>,
) {
    machine.page(rows, MACHINE).unwrap();
    if let (Some(cursor), Some((last, _))) = (&mut *cursor, rows.last()) {
        cursor.clone_from(last);
    }
    if !more {
        *cursor = None;
        machine.loaded();
    }
    if let Some(copy) = copy
        && copy.cursor.is_some()
    {
        let mut delta = Delta::new();
        rows.iter().for_each(|(key, value)| delta.put(key, value));
        copy.store.commit(&delta).unwrap();
        copy.cursor.clone_from(cursor);
    }
}

fn seeds() -> u64 {
    std::env::var("STREAMS_ATTACH_SEEDS").map_or(400, |text| text.parse().unwrap())
}

macro_rules! properties {
    ($($job:ident: $exact:expr),* $(,)?) => {
        mod property {
            $(#[test]
            fn $job() {
                let mut tally = super::Tally::default();
                for seed in 0..super::seeds() {
                    super::check(super::$job, stringify!($job), seed, $exact, &mut tally);
                }
                println!("{}: {tally:?}", stringify!($job));
            })*
        }
    };
}

properties! {
    tumbling_10: true, tumbling_1: true, tumbling_7: true,
    hopping_10_2: true, hopping_10_3: true, hopping_12_8: true, hopping_30_5: true, hopping_9_6: true,
    tumbling_huge: true, hopping_huge: true,
    late_10_15: true, late_7_100: true, early_10_4: true, early_late: true, discarding: true,
    discarding_late: true, hopping_late: true, hopping_early: true, hopping_both: true,
    session_1: true, session_6: true, session_40: true, session_huge: true, session_late: true,
    session_early: true, session_both: true, session_discarding: true,
    count_3: true, count_1_ttl: true, count_4_ttl: true, count_early: true,
    all_forever: true, all_ttl: true, all_every: true, all_discarding: true,
    run_forever: true, ttl_0: false, ttl_1: false, ttl_20: false,
    two_windows: true, window_then_running: false, running_then_window: true,
    united: true, renewed: true, not_repeated: false,
    windows_inner: true, windows_full: true, hopping_left: true, hopping_right: true,
    near_inner: true, near_left: true, near_right: true, near_full: true, near_before: true, near_at_once: true,
    table_forever: true, table_ttl: false, join_of_sums: true,
}
