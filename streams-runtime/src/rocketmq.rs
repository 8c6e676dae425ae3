//! Apache RocketMQ as the runtime sees it: topics, queues, pulls, sends and the members of a group.
//!
//! A thin layer over the client: each call is one request to one broker, and its outcome is a value. Nothing
//! here retries, moves a message to another queue, keeps a position or decides who owns what; that is the
//! protocol's.
//!
//! What a caller can rely on:
//!
//! - [`Sent::Stored`] is said only of messages that the broker reported as stored the way it is set up to. An
//!   error of [`Broker::send`] says that nothing was stored, [`Sent::Unknown`] that nobody knows.
//! - [`Broker::pull`] gives messages in the order of their offsets, and never fewer than the answer held.
//! - Every call ends within its time limit, also when the other side is gone.
//! - Calls do not wait for each other, and any of them can be dropped before it ends.
//!
//! It needs the runtime of tokio around it, with I/O and time.

mod broker;
mod codes;
mod config;
mod error;
mod members;
mod message;
mod pull;
mod route;
mod send;
mod settle;
mod signature;
mod wire;

pub use broker::Broker;
pub use config::{Config, Secret, Tls};
pub use error::Error;
pub use members::Membership;
pub use message::Outgoing;
pub use pull::{Pulled, PulledMessage};
pub use route::{QueueId, Queues};
pub use send::Sent;
