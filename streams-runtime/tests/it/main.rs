//! Jobs run as programs: what a person at a terminal sees and what is on disk afterwards.

#![expect(
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test; clippy allows it in test functions only"
)]

mod bad_records;
mod embed;
mod formats;
mod idle;
mod inputs;
mod lookup;
mod mistakes;
mod outputs;
mod processing;
mod program;
mod resume;
#[cfg(feature = "rocksdb")]
mod spill;
mod stores;
mod upkeep;
mod workers;
