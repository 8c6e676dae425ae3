//! Everything that a job is written with.

pub use streams_core::prelude::*;
// Named imports win over the glob above: these expand to paths of this crate.
pub use streams_macros::{record, stream_job, stream_part};
