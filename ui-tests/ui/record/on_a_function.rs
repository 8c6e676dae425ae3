use streams_core::prelude::*;

#[record]
fn flow() {}

fn main() {}
