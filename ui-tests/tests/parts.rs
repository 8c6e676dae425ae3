//! Parts of another crate in jobs of this one: before and behind a key, in several jobs, side by side.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use streams_core::prelude::*;
use streams_core::testing::Harness;
use ui_tests::{Hit, Line};

#[stream_job]
fn volume(lines: Stream<Line>) -> Stream<(String, u64)> {
    lines
        .through(ui_tests::hits)
        .key_by(|h| h.host.clone())
        .running(forever())
        .aggregate((key(), sum(|h| h.bytes)))
}

#[stream_job]
fn behind_a_key(lines: Stream<Line>) -> Stream<(String, u64)> {
    use ui_tests::hits;
    lines
        .key_by(|l| l.host.clone())
        .through(hits)
        .filter(|h| h.bytes != 4)
        .running(forever())
        .aggregate((key(), count()))
}

/// A part of this crate behind one of another.
#[stream_part]
fn doubled(hits: Stream<Hit>) -> Stream<u64> {
    hits.map(|h| h.bytes * 2)
}

#[stream_job]
fn side_by_side(lines: Stream<Line>) -> (Stream<u64>, Stream<u64>) {
    let twice = lines.through(ui_tests::hits).through(doubled);
    let once = lines.through(ui_tests::bytes);
    (twice, once)
}

fn lines() -> Vec<Line> {
    let line = |(host, text): (&str, &str)| Line { host: host.to_owned(), text: text.to_owned() };
    [("a", "# bytes"), ("a", "3"), ("b", "1"), ("b", "none"), ("a", "4"), ("b", "5")].map(line).to_vec()
}

fn pair(host: &str, n: u64) -> (String, u64) {
    (host.to_owned(), n)
}

#[test]
fn a_part_in_front_of_a_key() {
    let mut job = Harness::new(volume);
    job.push_all("lines", lines());
    assert_eq!(job.take::<(String, u64)>("volume"), [pair("a", 3), pair("a", 7), pair("b", 5)]);
}

#[test]
fn a_part_behind_a_key() {
    let mut job = Harness::new(behind_a_key);
    job.push_all("lines", lines());
    assert_eq!(job.take::<(String, u64)>("behind_a_key"), [pair("a", 1), pair("b", 1)]);
}

#[test]
fn parts_side_by_side() {
    let mut job = Harness::new(side_by_side);
    job.push_all("lines", lines());
    assert_eq!(job.take::<u64>("twice"), [6, 8, 10]);
    assert_eq!(job.take::<u64>("once"), [3, 1, 4, 5]);
    // What fails inside of a part names the operator, wherever the part comes from.
    let failed: Vec<&str> = job.rejects().iter().map(|reject| reject.operator).collect();
    assert_eq!(failed, ["bytes", "bytes"]);
}
