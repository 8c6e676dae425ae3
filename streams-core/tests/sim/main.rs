//! Jobs on the simulated fleet. `STREAMS_SIM_SEEDS` says how many runs each job gets; 300 where it does not.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is how a test fails; numbers are shown"
)]

use streams_core::sim::{Report, sim};

use crate::jobs::{late, stateless, traffic, two_shuffles, union_of_two};

mod bugs;
mod idle;
mod impure;
mod jobs;
mod joins;
mod processing;
mod replays;
mod same;
mod shapes;
mod tables;
mod tiny;

/// How many runs each job gets.
fn seeds() -> u64 {
    std::env::var("STREAMS_SIM_SEEDS").map_or(300, |text| text.parse().unwrap())
}

fn show(job: &str, report: &Report) {
    println!("{job}: {report}");
}

#[test]
fn nothing_goes_wrong_without_faults() {
    sim(traffic).seeds(50).without_faults().run();
    sim(two_shuffles).seeds(50).without_faults().run();
    sim(late).seeds(50).without_faults().run();
    sim(union_of_two).seeds(50).without_faults().run();
    sim(stateless).seeds(50).without_faults().run();
}
