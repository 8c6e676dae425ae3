use streams_core::prelude::*;

#[record]
union Number { whole: u64, real: f64 }

fn main() {}
