//! Wall time, CPU time and memory of repeated runs.

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Wall and CPU seconds of one run.
#[derive(Clone, Copy)]
pub struct Sample {
    pub wall_s: f64,
    pub cpu_s: f64,
}

/// Runs `f` and measures it. What `f` returns is dropped by the caller, outside the measurement.
pub fn timed<R>(f: impl FnOnce() -> R) -> (R, Sample) {
    let cpu = cpu_seconds();
    let start = Instant::now();
    let result = measured(f);
    let wall_s = start.elapsed().as_secs_f64();
    (result, Sample { wall_s, cpu_s: cpu_seconds() - cpu })
}

/// What is measured and nothing else, under a name by which a profiler can be told to count.
#[inline(never)]
fn measured<R>(f: impl FnOnce() -> R) -> R {
    black_box(f())
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    // The same one twice where their number is odd.
    (at((values.len().saturating_sub(1)) / 2) + at(values.len() / 2)) / 2.0
}

/// User and system time of all threads of this process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Starts a new peak of resident memory, in MB, which is what is resident now. What was freed and not given back to
/// the system counts as long as it is not used again.
///
/// # Panics
/// Where there is no `/proc`.
pub fn start_peak_rss() -> f64 {
    fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own peak");
    status_mb("VmRSS:")
}

/// Largest resident memory since the last start, in MB.
pub fn peak_rss_mb() -> f64 {
    status_mb("VmHWM:")
}

fn status_mb(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("Linux reports this field");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("Linux reports kB");
    kib * 1024.0 / 1e6
}
