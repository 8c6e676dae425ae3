use streams_core::prelude::*;

#[record]
struct Pair<T> { left: T, right: T }

fn main() {}
