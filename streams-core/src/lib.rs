//! Typed pipelines compiled to fused operators, and the split machine that runs them.
//!
//! This crate does no I/O, starts no thread and reads no clock. Users depend on `streams-runtime`, which
//! re-exports what they need; this crate is for embedding a job in a program of one's own and for tests.

pub mod prelude;

pub mod time;

pub mod record;

pub mod key;

pub mod proof;

pub mod stream;

pub mod window;

pub mod join;

pub mod aggregate;

pub mod setting;

pub mod topology;

pub mod plan;

pub mod layout;

pub mod exchange;

pub mod ports;

pub mod batch;

pub mod machine;

pub mod effects;

pub mod push;

pub mod context;

pub mod chain;

pub mod tail;

pub mod merge;

pub mod op;

pub mod state;

pub mod inspect;

pub mod ahead;

pub mod store;

pub mod lookup;

pub mod testing;

pub mod protocol;

mod bug;

#[cfg(feature = "sim")]
pub mod sim;

pub mod codec;

pub mod error;

#[doc(hidden)]
pub mod __private;

pub use plan::{Job, Plan, Settings};
pub use streams_macros::{record_core as record, stream_job_core as stream_job};
