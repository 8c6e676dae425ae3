//! Windows by hand: small inputs whose results a person can check.

mod global;
mod idle;
mod offset;
mod processing;
mod sessions;
mod updates;

use streams_core::prelude::*;

#[record]
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) key: u32,
    pub(crate) amount: u64,
    pub(crate) at: i64,
}

pub(crate) fn event(key: u32, amount: u64, at: i64) -> Event {
    Event { key, amount, at }
}
