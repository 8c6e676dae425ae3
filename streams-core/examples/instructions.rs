//! Two jobs and the loops that a careful person would write instead, to be run under callgrind.
//!
//! `instructions chain|keyed setup|loop|job N`: the input is made in every case, so that the instructions of
//! `setup` can be taken off those of the others. `scripts/claims/instructions` does.

use std::any::Any;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use streams_core::batch::Batch;
use streams_core::effects::{Effects, OutputBatch};
use streams_core::layout::Fused;
use streams_core::ports::{Input, Output, Ports, Sink, Source};
use streams_core::prelude::*;
use streams_core::{Job, Plan, Settings};

#[record]
#[derive(Copy)]
struct Event {
    key: u64,
    amount: u64,
    at: i64,
}

#[record]
struct Row {
    key: u64,
    from: i64,
    total: u64,
    count: u64,
}

/// Stateless operators in a row.
#[stream_job]
fn chain(numbers: Stream<u64>) -> Stream<u64> {
    numbers.filter(|n| n % 3 != 0).map(|n| n ^ (n >> 7)).filter(|n| n & 8 == 0).map(|n| n.wrapping_mul(31))
}

/// Sum and count per key, every ten seconds.
#[stream_job]
fn keyed(events: Stream<Event>) -> Stream<Row> {
    events
        .event_time(|e| e.at, out_of_order(millis(100)))
        .key_by(|e| e.key)
        .window(tumbling(secs(10)))
        .aggregate(Row { key: key(), from: window_start(), total: sum(|e| e.amount), count: count() })
}

fn chain_by_hand(input: &[u64]) -> u64 {
    let mut total = 0u64;
    for &n in input {
        if n % 3 == 0 {
            continue;
        }
        let n = n ^ (n >> 7);
        if n & 8 != 0 {
            continue;
        }
        total = total.wrapping_add(n.wrapping_mul(31));
    }
    total
}

/// Same results in the same order, late records dropped, the table of the current window at hand.
fn keyed_by_hand(input: Vec<Event>) -> u64 {
    const SIZE_MS: i64 = 10_000;
    const BOUND_MS: i64 = 100;
    let mut total = 0u64;
    let mut emit = |start: i64, rows: HashMap<u64, (u64, u64)>| {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable_by_key(|row| row.0);
        for (key, (sum, count)) in rows {
            total = mix(total, &Row { key, from: start, total: sum, count });
        }
    };
    let mut windows: BTreeMap<i64, HashMap<u64, (u64, u64)>> = BTreeMap::new();
    let (mut hot_start, mut hot) = (None::<i64>, HashMap::<u64, (u64, u64)>::new());
    let (mut max, mut watermark, mut late) = (i64::MIN, i64::MIN, 0u64);
    for event in input {
        if event.at > max {
            max = event.at;
            watermark = max - BOUND_MS;
            while let Some(oldest) = windows.first_entry() {
                if oldest.key() + SIZE_MS > watermark {
                    break;
                }
                let (start, rows) = oldest.remove_entry();
                emit(start, rows);
            }
            if let Some(start) = hot_start.filter(|start| start + SIZE_MS <= watermark) {
                emit(start, std::mem::take(&mut hot));
                hot_start = None;
            }
        }
        if hot_start.is_none_or(|start| event.at < start || event.at >= start + SIZE_MS) {
            let start = event.at.div_euclid(SIZE_MS) * SIZE_MS;
            if start + SIZE_MS <= watermark {
                late += 1;
                continue;
            }
            let cold = std::mem::replace(&mut hot, windows.remove(&start).unwrap_or_default());
            if let Some(start) = hot_start.replace(start) {
                windows.insert(start, cold);
            }
        }
        let slot = hot.entry(event.key).or_insert((0, 0));
        slot.0 += event.amount;
        slot.1 += 1;
    }
    if let Some(start) = hot_start {
        windows.insert(start, hot);
    }
    for (start, rows) in windows {
        emit(start, rows);
    }
    black_box(late);
    total
}

fn mix(total: u64, row: &Row) -> u64 {
    total.wrapping_mul(31).wrapping_add(row.key ^ row.total ^ row.count ^ row.from as u64)
}

/// A sink that folds what it gets into one number.
struct Totals;

struct Total(u64);

static RESULT: AtomicU64 = AtomicU64::new(0);

impl Ports for Totals {
    type Source<T: Input> = Self;
    type Sink<T: Output> = Total;

    fn source<T: Input>(&mut self, _index: usize, _name: &'static str) -> Self {
        Self
    }

    fn sink<T: Output>(&mut self, _index: usize, _name: &'static str) -> Total {
        Total(0)
    }
}

impl<T> Source<T> for Totals {
    const TAKES_VALUES: bool = true;

    fn decode(&mut self, _bytes: &[u8]) -> Result<T, String> {
        Err("this program feeds values, no bytes".to_owned())
    }
}

impl<T: Send + 'static> Sink<T> for Total {
    #[inline(always)]
    fn accept(&mut self, _ts: i64, value: T) {
        // The type is known when this is compiled, so one branch remains.
        let value: &dyn Any = &value;
        if let Some(n) = value.downcast_ref::<u64>() {
            self.0 = self.0.wrapping_add(*n);
        } else if let Some(row) = value.downcast_ref::<Row>() {
            self.0 = mix(self.0, row);
        }
    }

    fn drain(&mut self, _out: &mut OutputBatch) {
        RESULT.store(self.0, Ordering::Relaxed);
    }
}

fn run<J: Job, T: Send + 'static>(_job: J, mut input: Vec<T>) -> u64 {
    let plan = Plan::<Fused, Totals>::new::<J>(Fused, Totals, Settings::new());
    let mut machine = J::build(plan).expect("these jobs have no settings");
    machine.feed(0, Batch::Typed(&mut input));
    machine.end(0);
    machine.drain(&mut Effects::default());
    RESULT.load(Ordering::Relaxed)
}

fn random(n: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut state = 1u64;
    (0..n).map(move |index| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (index, state)
    })
}

fn numbers(n: u64) -> Vec<u64> {
    black_box(random(n).map(|(_, random)| random).collect())
}

/// Ten records a millisecond, up to 63 ms out of order, 100,000 keys.
fn events(n: u64) -> Vec<Event> {
    let event = |(index, random): (u64, u64)| Event {
        key: (random >> 8) % 100_000,
        amount: random % 1_000,
        at: (index / 10) as i64 - ((random >> 40) % 64) as i64,
    };
    black_box(random(n).map(event).collect())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let n = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let result = match args.get(..2) {
        Some(["chain", "setup"]) => numbers(n).len() as u64,
        Some(["chain", "loop"]) => chain_by_hand(&numbers(n)),
        Some(["chain", "job"]) => run(chain, numbers(n)),
        Some(["keyed", "setup"]) => events(n).len() as u64,
        Some(["keyed", "loop"]) => keyed_by_hand(events(n)),
        Some(["keyed", "job"]) => run(keyed, events(n)),
        _ => {
            eprintln!("usage: instructions chain|keyed setup|loop|job [N]");
            std::process::exit(2);
        }
    };
    eprintln!("{result}");
}
