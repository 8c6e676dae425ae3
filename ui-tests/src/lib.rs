//! What the tests take from another crate, as a user takes parts from a library; the rest of the crate is its tests.

use streams_core::prelude::*;

/// A line of a log.
#[record]
#[derive(Debug)]
pub struct Line {
    /// Who wrote it.
    pub host: String,
    /// What is in it.
    pub text: String,
}

/// A line that says how many bytes went somewhere.
#[record]
#[derive(Debug)]
pub struct Hit {
    /// Who wrote it.
    pub host: String,
    /// How many.
    pub bytes: u64,
}

/// The smallest hit that counts.
const LEAST: u64 = 2;

/// The lines that are hits; `#` begins a comment.
#[stream_part]
pub fn hits(lines: Stream<Line>) -> Stream<Hit> {
    lines
        .filter(|l| !l.text.starts_with('#'))
        .filter_map(|l| Some(Hit { bytes: l.text.parse().ok()?, host: l.host }))
        .through(counted)
}

/// Without the hits that are too small to count: a part of a part, and nobody else's.
#[stream_part]
fn counted(hits: Stream<Hit>) -> Stream<Hit> {
    hits.filter(|h| h.bytes >= LEAST)
}

/// How many bytes; a line that is no number is a dead letter.
#[stream_part]
pub fn bytes(lines: Stream<Line>) -> Stream<u64> {
    lines.try_map(|l| l.text.parse::<u64>()).named("bytes")
}
