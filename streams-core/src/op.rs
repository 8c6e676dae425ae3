//! The operators, one file each: what a record becomes, what state is kept, what a watermark does.

pub mod distinct_within;
pub mod event_time;
pub mod filter;
pub mod filter_map;
pub mod flat_map;
pub mod global_aggregate;
pub mod inspect;
pub mod interval_join;
pub mod key_by;
mod keyed_rows;
pub mod late;
pub mod lookup;
pub mod map;
mod order;
pub mod processing_time;
pub mod running;
pub mod session_aggregate;
pub mod table_join;
mod timers;
pub mod try_map;
pub mod updating_aggregate;
pub mod window_aggregate;
pub mod window_join;
