use streams_core::prelude::*;

#[record]
struct View<'a> { host: &'a str }

fn main() {}
