//! Jobs run as programs: what a person at a terminal sees and what is on disk afterwards.

#![expect(
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test; clippy allows it in test functions only"
)]

mod bad_records;
mod formats;
mod inputs;
mod mistakes;
mod outputs;
mod program;
mod resume;
mod stores;
mod upkeep;
mod workers;
