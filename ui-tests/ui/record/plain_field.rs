use streams_core::prelude::*;

struct Place { city: String }

#[record]
struct Visit { host: String, place: Place }

fn main() {}
