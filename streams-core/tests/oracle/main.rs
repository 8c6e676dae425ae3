//! The batch oracle: generated jobs on generated streams must give what a slow and obvious evaluation gives.
//!
//! `plan` is a job as data, `menu` what it is made of, `generate` draws jobs, `streams` draws their input,
//! `oracle` computes what must come out, `drive` runs the engine, `case` compares. Everything follows from
//! numbers of cases, so a failure is the same on every machine.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::case::{Case, n_streams};
use crate::generate::{FIRST_JOIN, FIRST_RICH_JOB, N_JOBS};
use crate::oracle::{Mutation, Tally};

mod case;
mod drive;
mod event;
mod generate;
#[allow(deprecated, reason = "generated jobs are at times suspicious")]
mod jobs;
mod menu;
mod oracle;
mod outcome;
mod plan;
mod random;
mod streams;

/// What all cases together did.
#[derive(Default)]
struct Sums {
    n_cases: usize,
    n_records: usize,
    n_rows: usize,
    late: u64,
    repeated: u64,
    rejects: u64,
    /// How many cases reached each feature with a row, a late record, a reject.
    reached: Tally,
    failures: Vec<String>,
}

#[test]
fn the_engine_gives_what_the_oracle_says() {
    let next = AtomicUsize::new(0);
    let sums = Mutex::new(Sums::default());
    let n_threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= N_JOBS {
                        break;
                    }
                    run_job(number, &sums);
                }
            });
        }
    });
    let sums = sums.into_inner().unwrap();
    println!(
        "{} cases, {} records, {} rows, {} late, {} repeated, {} rejects",
        sums.n_cases, sums.n_records, sums.n_rows, sums.late, sums.repeated, sums.rejects
    );
    println!("{:>6} {:>6} {:>6}  cases with a row, a late record, a reject at", "rows", "late", "reject");
    for ((kind, entry), [rows, late, rejects]) in &sums.reached {
        let entry = entry.split_whitespace().collect::<Vec<_>>().join(" ");
        println!("{rows:>6} {late:>6} {rejects:>6}  {kind} {entry}");
    }
    assert!(sums.failures.is_empty(), "{} jobs disagree\n{}", sums.failures.len(), sums.failures[0]);
    assert_eq!(sums.n_cases, N_JOBS * n_streams());
    assert!(sums.repeated > 1_000, "{} repeated records are too few", sums.repeated);
    check_reached(&sums.reached);
}

/// Runs all streams of one job; a job that disagrees is reported once.
fn run_job(number: usize, sums: &Mutex<Sums>) {
    for n in 0..n_streams() {
        let case = Case::new(number, n);
        let checked = case.check(Mutation::None).map_err(|_| case.report());
        let mut sums = sums.lock().unwrap();
        sums.n_cases += 1;
        sums.n_records += case.items.len();
        match checked {
            Ok((outcome, tally)) => {
                sums.n_rows += outcome.n_rows();
                sums.late += outcome.late;
                sums.repeated += outcome.repeated;
                sums.rejects += outcome.rejects;
                for (feature, counts) in tally {
                    let reached = sums.reached.entry(feature).or_default();
                    reached.iter_mut().zip(counts).for_each(|(n, count)| *n += u64::from(count > 0));
                }
            }
            Err(report) => {
                sums.failures.push(report);
                return;
            }
        }
    }
}

/// Every entry of the menu was reached, and every way to lose a record where there is one.
fn check_reached(reached: &Tally) {
    let of = |feature| reached.get(&feature).copied().unwrap_or_default();
    for feature in plan::features() {
        assert!(of(feature)[0] > 0, "no case reaches {feature:?} with a row");
        if ["window", "cut", "join tumbling", "join hopping", "join within"].contains(&feature.0) {
            assert!(of(feature)[1] > 0, "no case reaches {feature:?} with a late record");
        }
        let can_fail = ["sum(|r| r.v", "sum(|r| i128", "letters(&collect("];
        if matches!(feature.0, "window" | "running" | "try_map")
            || can_fail.iter().any(|start| feature.1.starts_with(start))
        {
            assert!(of(feature)[2] > 0, "no case reaches {feature:?} with a reject");
        }
    }
}

#[test]
fn a_planted_off_by_one_is_found() {
    let of_windows = [Mutation::WindowEnd, Mutation::Firing, Mutation::Lateness].map(|m| (m, 0..N_JOBS));
    let of_joins = [Mutation::JoinWindow, Mutation::Before, Mutation::After, Mutation::Alone];
    let of_joins = of_joins.map(|m| (m, FIRST_JOIN..FIRST_RICH_JOB));
    let of_updates = [Mutation::Gap, Mutation::Allowance, Mutation::Early, Mutation::Quiet];
    let of_updates = of_updates.map(|m| (m, FIRST_RICH_JOB..N_JOBS));
    for (mutation, jobs) in of_windows.into_iter().chain(of_joins).chain(of_updates) {
        let (first_job, n_jobs) = (jobs.start, jobs.len());
        // One stream of each job, then the next one of each.
        let cases = (0..500).map(|n| Case::new(first_job + n % n_jobs, n / n_jobs + 2));
        let found = cases.map(|case| case.check(mutation)).position(|checked| checked.is_err());
        println!("{mutation:?} is found by case {found:?} of 500");
        assert!(found.is_some(), "{mutation:?} is not found");
    }
}
