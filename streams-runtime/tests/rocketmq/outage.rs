//! A broker of its own, killed and started again under those who use it.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use streams_runtime::rocketmq::{Broker, Config, Error, Sent};

use super::{eventually, in_time, plain, topic};

/// Runs until it is dropped, at ports that this process has to itself.
pub(crate) struct Ours {
    port: u32,
}

impl Ours {
    /// Each test has a number of its own.
    pub(crate) fn new(number: u32) -> Self {
        // Below the ports that systems give away by themselves.
        Self { port: 22_000 + std::process::id() % 500 * 20 + number * 10 }
    }

    pub(crate) fn run(&self, verb: &str) -> String {
        self.run_with(verb, "no")
    }

    /// With servers that speak TLS only and take signed requests only.
    pub(crate) fn run_secured(&self, verb: &str) -> String {
        self.run_with(verb, "yes")
    }

    fn run_with(&self, verb: &str, secured: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/rocketmq");
        let mut command = Command::new(script);
        command
            .arg(verb)
            .env("ROCKETMQ_SECURED", secured)
            .env("NS_PORT", self.port.to_string())
            .env("BROKER_PORT", (self.port + 5).to_string());
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/rocketmq {verb}: {}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Sends the broker a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let cache = std::env::var("XDG_CACHE_HOME").map(std::path::PathBuf::from);
        let cache =
            cache.unwrap_or_else(|_| std::path::Path::new(&std::env::var("HOME").unwrap()).join(".cache"));
        let file = cache.join(format!("streams-rocketmq/run-{}/broker.pid", self.port));
        let pid = std::fs::read_to_string(file).unwrap();
        assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success());
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.run("stop");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stored_is_lost_when_the_broker_is_killed() {
    let ours = Ours::new(0);
    let namesrv = ours.run("start");
    let broker = Broker::connect(&Config::new([namesrv.trim()], "group", "client")).await.unwrap();
    let (topic, queue) = topic(&broker, "outage", 1).await;
    let membership = broker.join("members", &[&topic]).await.unwrap();

    let mut stored = Vec::new();
    let send = async |n: u32| in_time(broker.send(&topic, &queue, &[plain(n.to_string()), plain("-")])).await;
    for n in 0..100 {
        let Ok(Sent::Stored { offset }) = send(n).await else { panic!("{n} is not stored") };
        stored.push((n, offset));
    }
    // One that is in the middle of waiting.
    let waiting = {
        let (broker, topic, queue) = (broker.clone(), topic.clone(), queue.clone());
        tokio::spawn(async move { broker.pull(&topic, &queue, 200, 10, 60_000).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    ours.run("kill-broker");
    let error = in_time(waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Away { .. }), "{error}");

    let mut failed = 0;
    for n in 100..110 {
        match send(n).await {
            Ok(Sent::Unknown(_)) => failed += 1,
            Err(error) if error.is_retryable() => failed += 1,
            other => panic!("{n}: {other:?}"),
        }
    }
    assert_eq!(failed, 10);
    let away = |error: Error| assert!(matches!(error, Error::Away { .. }), "{error}");
    away(in_time(broker.pull(&topic, &queue, 0, 10, 0)).await.unwrap_err());
    away(in_time(broker.bounds(&topic, &queue)).await.unwrap_err());
    away(in_time(membership.members()).await.unwrap_err());
    away(in_time(membership.heartbeat()).await.unwrap_err());
    // Its topics are gone from the name server, but nobody must believe that they do not exist.
    let ask = async || in_time(broker.queues(&topic)).await;
    away(eventually("queues", ask, Result::is_err).await.unwrap_err());

    ours.run("start-broker");
    for n in 110..200 {
        // The first ones may come before the name server knows the broker again.
        let ask = async || send(n).await;
        let sent = eventually("send", ask, |sent| matches!(sent, Ok(Sent::Stored { .. }))).await;
        let Ok(Sent::Stored { offset }) = sent else { unreachable!() };
        stored.push((n, offset));
    }
    assert_eq!(in_time(membership.members()).await.unwrap(), ["client"]);

    let mut seen = BTreeSet::new();
    broker.settle(&topic, &queue).await.unwrap();
    let (_, max) = broker.bounds(&topic, &queue).await.unwrap();
    let mut next = 0;
    while next < max {
        let pulled = in_time(broker.pull(&topic, &queue, next, 100, 5_000)).await.unwrap();
        for message in pulled.messages {
            assert_eq!(message.offset, next, "a hole");
            next += 1;
            seen.insert((String::from_utf8(message.body.to_vec()).unwrap(), message.offset));
        }
    }
    for (n, offset) in stored {
        assert!(seen.contains(&(n.to_string(), offset)), "{n} was stored at {offset}, and is lost");
        assert!(seen.contains(&("-".to_owned(), offset + 1)), "half of {n} is lost");
    }
    broker.shutdown().await;
}
