// mistakes: 2
use std::collections;
use streams_core::prelude::*;

#[record]
struct Day { hits: collections::HashMap<String, u64>, users: Option<collections::HashSet<String>> }

fn main() {}
