//! The adapter to RocketMQ against a real broker, whose name server's address is in `STREAMS_NAMESRV`;
//! `scripts/test-rocketmq` sets it. Every test has topics and groups of its own.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; numbers are shown"
)]

mod connecting;
mod faults;
mod groups;
mod jobs;
mod members;
mod outage;
mod outputs;
#[path = "../it/program.rs"]
#[allow(dead_code, reason = "the tests of files use all of it")]
mod program;
mod reading;
mod secured;
mod sending;
#[cfg(feature = "mysql")]
mod shared;
mod tables;
mod topics;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use streams_runtime::rocketmq::{Broker, Config, Error, Outgoing, QueueId, Sent};

/// Far longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

fn namesrv() -> String {
    std::env::var("STREAMS_NAMESRV").expect(
        "STREAMS_NAMESRV is not set: run scripts/test-rocketmq, or set it to the address of a RocketMQ name \
         server",
    )
}

/// A name that no other test and no earlier run has used.
fn unique(what: &str) -> String {
    format!("{what}-{:016x}", RandomState::new().hash_one(what))
}

fn config() -> Config {
    Config::new([namesrv()], unique("group"), unique("client"))
}

async fn connect() -> Broker {
    Broker::connect(&config()).await.unwrap()
}

/// A new topic with `n` queues, by name, and its first queue.
async fn topic(broker: &Broker, what: &str, n: u16) -> (String, QueueId) {
    let topic = unique(what);
    broker.create_topic(&topic, n, n).await.unwrap();
    let queue = broker.queues(&topic).await.unwrap().write[0].clone();
    (topic, queue)
}

fn plain(body: impl Into<String>) -> Outgoing {
    Outgoing { body: body.into().into(), ..Outgoing::default() }
}

/// The offset of the first of some messages that must be stored.
async fn store(broker: &Broker, topic: &str, queue: &QueueId, messages: &[Outgoing]) -> u64 {
    let begin = Instant::now();
    loop {
        match broker.send(topic, queue, messages).await {
            Ok(Sent::Stored { offset }) => return offset,
            // A broker on a busy machine refuses what has waited for some time, and has not stored it then.
            Err(error) if error.is_retryable() && begin.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            other => panic!("not stored: {other:?}"),
        }
    }
}

/// Asks again until the answer is as it should be.
async fn eventually<T: std::fmt::Debug>(
    what: &str,
    mut ask: impl AsyncFnMut() -> T,
    good: impl Fn(&T) -> bool,
) -> T {
    let begin = Instant::now();
    loop {
        let answer = ask().await;
        if good(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}: still {answer:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits for as many as this, for as long as they grow.
async fn grown_to(what: &str, n: u64, mut count: impl AsyncFnMut() -> u64) {
    let mut last = 0;
    while last < n {
        last = eventually(what, &mut count, |found| *found > last).await;
    }
}

/// Fails unless the call ends in time.
async fn in_time<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, call).await.expect("ends in time")
}

#[track_caller]
fn no_topic<T: std::fmt::Debug>(answer: Result<T, Error>, topic: &str) {
    let error = answer.unwrap_err();
    assert_eq!(error, Error::NoTopic { topic: topic.to_owned() });
    assert!(!error.is_retryable());
    assert!(error.to_string().contains("create it"), "{error}");
}
