//! Totals of ten seconds by key, for as many keys and records as are asked for: once as a job, once as a loop written
//! by hand. What one of them costs with few keys and with many is what it shows; `scripts/claims/key_ranges` measures it.
//!
//! ```text
//! $ keys job 1000000 8000000
//! {"engine":"job","keys":1000000,"records":8000000,"rows":1963334,"checksum":"...","cpu_s":1.234}
//! ```

use std::process::ExitCode;

use examples::nexmark::measure::timed;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use streams_runtime::embed::{Embedded, Gather};
use streams_runtime::prelude::*;

const WINDOW_MS: i64 = 10_000;

#[record]
#[derive(Copy)]
struct Reading {
    sensor: u64,
    value: u64,
    at: i64,
}

#[record]
struct Total {
    from: i64,
    sensor: u64,
    readings: u64,
    sum: u64,
}

/// Readings and their sum for each sensor, every ten seconds.
#[stream_job]
fn totals(readings: Stream<Reading>) -> Stream<Total> {
    readings
        .event_time(|r| r.at, out_of_order(secs(1)))
        .key_by(|r| r.sensor)
        .window(tumbling(secs(10)))
        .aggregate(Total { from: window_start(), sensor: key(), readings: count(), sum: sum(|r| r.value) })
}

/// Readings of sensors in no order, four of each sensor in a window; up to a second out of order.
fn readings(n_sensors: u64, n: u64) -> impl Iterator<Item = Reading> + Send + 'static {
    let in_a_window = n_sensors * 4;
    (0..n).map(move |i| {
        let random = mixed(i);
        let at = 1_700_000_000_000 + (i * WINDOW_MS as u64 / in_a_window) as i64;
        let behind = if random.is_multiple_of(8) { (random >> 3) % 1_000 } else { 0 };
        Reading { sensor: (random >> 16) % n_sensors, value: random >> 48, at: at - behind as i64 }
    })
}

/// Steele, Lea and Flood's mixing function of `SplitMix64`.
fn mixed(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// How many rows there were, and a sum over them that does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    rows: u64,
    checksum: u64,
}

impl Seen {
    fn add(&mut self, Total { from, sensor, readings, sum }: &Total) {
        self.rows += 1;
        let row = mixed(*from as u64) ^ mixed(*sensor).rotate_left(16) ^ readings.rotate_left(32) ^ sum;
        self.checksum = self.checksum.wrapping_add(mixed(row));
    }
}

impl Gather<Total> for Seen {
    #[inline(always)]
    fn gather(&mut self, _at_ms: i64, total: Total) {
        self.add(&total);
    }
}

fn by_job(n_sensors: u64, n: u64) -> Seen {
    let outcome = Embedded::new(totals)
        .run::<_, Total, Seen>(|_| readings(n_sensors, n))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((outcome.late, outcome.rejects.len()), (0, 0));
    outcome.gathered.into_iter().next().unwrap_or_default()
}

/// What a careful person would write for this job and no other: a map for each window that is open.
fn by_loop(n_sensors: u64, n: u64) -> Seen {
    type Window = HashMap<u64, (u64, u64), FxBuildHasher>;
    let mut open: Vec<(i64, Window)> = Vec::new();
    let mut seen = Seen::default();
    let mut newest = i64::MIN;
    let mut close = |open: &mut Vec<(i64, Window)>, watermark: i64| {
        open.sort_unstable_by_key(|(from, _)| *from);
        while open.first().is_some_and(|(from, _)| from + WINDOW_MS <= watermark) {
            let (from, window) = open.remove(0);
            for (sensor, (readings, sum)) in window {
                seen.add(&Total { from, sensor, readings, sum });
            }
        }
    };
    for Reading { sensor, value, at } in readings(n_sensors, n) {
        let from = at - at.rem_euclid(WINDOW_MS);
        let place = open.iter().position(|(start, _)| *start == from);
        let place = place.unwrap_or_else(|| {
            open.push((from, Window::default()));
            open.len() - 1
        });
        if let Some((_, window)) = open.get_mut(place) {
            let (readings, sum) = window.entry(sensor).or_default();
            *readings += 1;
            *sum += value;
        }
        if at > newest {
            newest = at;
            if open.iter().any(|(from, _)| from + WINDOW_MS <= at - 1_000) {
                close(&mut open, at - 1_000);
            }
        }
    }
    close(&mut open, i64::MAX);
    seen
}

#[expect(clippy::print_stdout, reason = "the result is what the program is for")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).filter(|n| *n > 0);
    let engine = words.first().map(String::as_str).unwrap_or_default();
    let (Some(keys), Some(records), "job" | "loop", 3) = (number(1), number(2), engine, words.len()) else {
        eprintln!("usage: keys job|loop KEYS RECORDS");
        return ExitCode::from(2);
    };
    let (seen, sample) = match engine {
        "job" => timed(|| by_job(keys, records)),
        _ => timed(|| by_loop(keys, records)),
    };
    let Seen { rows, checksum } = seen;
    println!(
        "{{\"engine\":\"{engine}\",\"keys\":{keys},\"records\":{records},\"rows\":{rows},\"checksum\":\"{checksum:016x}\",\"cpu_s\":{:.3}}}",
        sample.cpu_s
    );
    ExitCode::SUCCESS
}
