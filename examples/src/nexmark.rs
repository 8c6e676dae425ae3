//! The Nexmark benchmark: queries as jobs ([`jobs`]), the loop beside them ([`hand_written`]), the reference that both
//! are compared with ([`oracle`]). `nexmark/SPEC.md` pins the data, the queries and what is timed.

#![allow(missing_docs, reason = "names of events, queries and columns are explained once, in SPEC.md")]
#![allow(missing_debug_implementations, reason = "nobody prints the inside of a benchmark")]

pub mod auctions;
pub mod bench;
pub mod encode;
pub mod engine;
pub mod hand_written;
pub mod input;
pub mod jobs;
pub mod measure;
pub mod oracle;
pub mod queries;
pub mod stages;

#[cfg(test)]
mod tests;
