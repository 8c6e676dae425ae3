use streams_core::prelude::*;

#[record]
struct Line { text: &'static str }

fn main() {}
