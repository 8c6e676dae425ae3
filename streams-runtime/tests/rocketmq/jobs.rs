//! Jobs on a real broker, as programs: started, killed, started again, ended by a signal; what they leave in their
//! topics is compared with a run on a file.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use streams_runtime::rocketmq::{Broker, QueueId};

use super::{connect, eventually, namesrv, plain, store, unique};
use crate::program::{Place, flows, sorted};

/// A job with a topic for its input and one for its output.
struct Fleet {
    place: Place,
    broker: Broker,
    input: String,
    output: String,
    group: String,
}

impl Fleet {
    async fn new(job: &'static str, n_queues: u16) -> Self {
        let broker = connect().await;
        let (input, output) = (unique("flows"), unique("totals"));
        broker.create_topic(&input, n_queues, n_queues).await.unwrap();
        broker.create_topic(&output, 3, 3).await.unwrap();
        Self { place: Place::new(job), broker, input, output, group: unique("traffic") }
    }

    fn command(&self, more: &str) -> Command {
        let (input, output, group, namesrv) = (&self.input, &self.output, &self.group, namesrv());
        self.place.command(&format!(
            "run --namesrv {namesrv} --group {group} --from topic:{input} --to topic:{output} --local-only --state state --shuffle-queues 4 --checkpoint-interval 200ms {more}"
        ))
    }

    fn start(&self) -> Child {
        self.command("--report report.json").stdout(Stdio::null()).spawn().unwrap()
    }

    /// Spreads lines over the queues of the input, in their order.
    async fn put(&self, lines: &[&str]) {
        let queues = self.broker.queues(&self.input).await.unwrap().write;
        for (queue, id) in queues.iter().enumerate() {
            let own: Vec<_> =
                lines.iter().skip(queue).step_by(queues.len()).map(|line| plain(*line)).collect();
            for batch in own.chunks(500) {
                store(&self.broker, &self.input, id, batch).await;
            }
        }
    }

    /// Moves event time of every queue behind all windows.
    async fn close(&self) {
        let last = r#"{"host":"last","out_flow":1,"at":9000000000000}"#;
        for id in self.broker.queues(&self.input).await.unwrap().write {
            store(&self.broker, &self.input, &id, &[plain(last)]).await;
        }
    }

    /// What a reader finds that keeps the highest number of each sender: lines, and how many it dropped.
    async fn results(&self) -> (Vec<String>, u64) {
        let mut lines = Vec::new();
        let mut dropped = 0;
        for id in self.broker.queues(&self.output).await.unwrap().read {
            let mut highest: BTreeMap<(String, String), u64> = BTreeMap::new();
            for message in all(&self.broker, &self.output, &id).await {
                let property = |name: &str| message.properties[name].clone();
                let sender = (property("streams-job"), property("streams-split"));
                let number: u64 = property("streams-number").parse().unwrap();
                let seen = highest.entry(sender).or_default();
                if number <= *seen {
                    dropped += 1;
                    continue;
                }
                assert_eq!(number, *seen + 1, "a number is missing in {id}");
                *seen = number;
                lines.push(String::from_utf8(message.body.to_vec()).unwrap());
            }
        }
        (lines, dropped)
    }

    /// The results of a run on a file with these lines, without those of the closing record.
    fn expected(&self, text: &str) -> Vec<String> {
        self.place.write("in.jsonl", text);
        self.place.ok("run --from file:in.jsonl --to file:out.jsonl");
        sorted(&self.place.read("out.jsonl")).into_iter().map(str::to_owned).collect()
    }

    async fn wait_for(&self, n: usize) -> (Vec<String>, u64) {
        let ask = async || self.results().await;
        let (mut lines, dropped) = eventually("results", ask, |(lines, _)| lines.len() >= n).await;
        lines.sort_unstable();
        (lines, dropped)
    }
}

async fn all(broker: &Broker, topic: &str, queue: &QueueId) -> Vec<streams_runtime::rocketmq::PulledMessage> {
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let pulled = broker.pull(topic, queue, at, 1_000, 0).await.unwrap();
        if pulled.messages.is_empty() {
            return found;
        }
        at = pulled.next;
        found.extend(pulled.messages);
    }
}

/// Sends a signal and waits for the end.
fn end(mut child: Child, signal: &str) -> Option<i32> {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap().code()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_a_shuffle_gives_what_it_gives_on_a_file() {
    let fleet = Fleet::new("traffic", 4).await;
    let text = flows(20_000, 40);
    let lines: Vec<&str> = text.lines().collect();
    let expected = fleet.expected(&text);
    let job = fleet.start();
    fleet.put(&lines).await;
    fleet.close().await;
    let (found, dropped) = fleet.wait_for(expected.len()).await;
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "other results than on a file");
    assert_eq!(dropped, 0, "without a crash nothing stands there twice");
    assert_eq!(end(job, "-TERM"), Some(0));
    let report = fleet.place.report("report.json");
    assert_eq!((&report["records_in"], &report["late"]), (&20_004.into(), &0.into()), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_nothing_is_lost_or_doubled() {
    let kills: usize = std::env::var("STREAMS_KILLS").map_or(4, |text| text.parse().unwrap());
    let fleet = Fleet::new("traffic", 4).await;
    let text = flows(2_000 * (kills + 1), 40);
    let lines: Vec<&str> = text.lines().collect();
    let expected = fleet.expected(&text);
    let (mut waits, mut before) = (Vec::new(), 0);
    for (round, part) in lines.chunks(2_000).enumerate() {
        let mut job = fleet.start();
        let begun = Instant::now();
        // Some arrive while it starts, some while it runs.
        let (first, rest) = part.split_at(part.len() / 2);
        fleet.put(first).await;
        tokio::time::sleep(Duration::from_millis(700 + (round as u64 * 337) % 900)).await;
        fleet.put(rest).await;
        let (found, _) =
            eventually("the first result", async || fleet.results().await, |(lines, _)| lines.len() > before)
                .await;
        waits.push(begun.elapsed());
        before = found.len();
        tokio::time::sleep(Duration::from_millis((round as u64 * 211) % 500)).await;
        if round < kills {
            job.kill().unwrap();
            job.wait().unwrap();
            continue;
        }
        fleet.close().await;
        let (found, dropped) = fleet.wait_for(expected.len()).await;
        assert!(found == expected, "{} results of {}", found.len(), expected.len());
        assert_eq!(end(job, "-TERM"), Some(0));
        waits.sort_unstable();
        println!(
            "{kills} kills, {} records, {} results, {dropped} raw duplicates; first result behind a start: median {:?}, worst {:?}",
            lines.len(),
            found.len(),
            waits[waits.len() / 2],
            waits[waits.len() - 1]
        );
    }
}
