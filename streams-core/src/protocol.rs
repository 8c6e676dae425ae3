//! The protocol by which a job stays exactly once on several instances: numbers per sender and queue, readers
//! that accept the next number only, snapshots that hold both, ownership by token.
//!
//! Everything here is a state machine that is told what happened and says what to do; what talks to a broker
//! and to a database has no decisions of its own. The rules are numbered as in the project's protocol.

pub mod assign;
pub mod frame;
pub mod ids;
pub mod instance;
pub mod reader;
pub mod sender;
pub mod snapshot;
pub mod stages;
pub mod worker;
