use streams_core::prelude::*;

#[record]
struct Drink { costarring: u8, liquid: u8 }

fn main() {}
