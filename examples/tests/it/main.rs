//! The examples as their users run them: the built programs, real files, real signals.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod access_log;
mod kills;
mod mistakes;
mod orders;
mod pictures;
mod small;
mod stores;
mod tool;
