use streams_core::prelude::*;
use ui_tests::Line;

#[stream_job]
fn job(lines: Stream<Line>) -> Stream<u64> {
    lines.through(ui_tests::hits).map(|h| h.size)
}

fn main() {}
