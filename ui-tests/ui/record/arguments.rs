use streams_core::prelude::*;

#[record(compact)]
struct Line { text: String }

fn main() {}
