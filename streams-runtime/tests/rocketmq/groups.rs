//! Several instances of a job without a shuffle share the queues of its topic: they come and go, by a signal or by a
//! kill, while records come in; what they leave in the output is compared with a run on a file.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::eventually;
use super::jobs::{Fleet, Job, end};
use crate::program::flows;

const PORTION: usize = 50;

/// What an instance says, with the time of each line.
pub(crate) type Said = Arc<Mutex<Vec<(Instant, String)>>>;

/// An instance that keeps what it says.
pub(crate) struct Instance {
    pub(crate) job: Job,
    pub(crate) said: Said,
}

impl Fleet {
    /// Waits until somebody has committed each queue of the input.
    pub(crate) async fn all_queues_are_taken(&self) {
        for queue in self.broker.queues(&self.input).await.unwrap().read {
            let reported = async || self.broker.reported(&self.group, &self.input, &queue).await;
            eventually("a commit of each queue", reported, |offset| matches!(offset, Ok(Some(1..))))
                .await
                .unwrap();
        }
    }

    /// Starts one more instance of the group.
    fn join(&self) -> Instance {
        self.join_with("")
    }

    /// Starts one more instance with these words.
    pub(crate) fn join_with(&self, more: &str) -> Instance {
        Instance::start(self.joining(more))
    }

    /// The command of one more instance.
    pub(crate) fn joining(&self, more: &str) -> Command {
        let Self { input, output, group, namesrv, interval, .. } = self;
        let words = format!(
            "run --namesrv {namesrv} --group {group} --from topic:{input} --to {}topic:{output} --checkpoint-interval {interval} {more}",
            self.port
        );
        self.place.command(&words)
    }
}

impl Instance {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Said::default();
        let (lines, heard) = (BufReader::new(child.stderr.take().unwrap()).lines(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                eprintln!("{line}");
                heard.lock().unwrap().push((Instant::now(), line));
            }
        });
        Self { job: Job(child), said }
    }

    /// Whether this is its name.
    #[cfg(feature = "mysql")]
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.said.lock().unwrap().iter().any(|(_, line)| line.ends_with(&format!("; this is {name}")))
    }

    /// When it said such a line, for the `n`th time since `since`.
    pub(crate) fn when(&self, since: Instant, text: &str, n: usize) -> Option<Duration> {
        let said = self.said.lock().unwrap();
        let mut found = said.iter().filter(|(at, line)| *at >= since && line.contains(text));
        found.nth(n - 1).map(|(at, _)| *at - since)
    }

    pub(crate) async fn hears(&self, since: Instant, text: &str, n: usize) -> Duration {
        eventually(text, async || self.when(since, text, n), Option::is_some).await.unwrap()
    }
}

/// Puts records at a steady rate for as long as it is wanted; how many.
async fn produce(fleet: &Fleet, lines: &[&str], over: &AtomicBool) -> usize {
    let mut clock = tokio::time::interval(Duration::from_millis(20));
    let mut n = 0;
    for part in lines.chunks(PORTION) {
        clock.tick().await;
        fleet.put(part).await;
        n += part.len();
        if over.load(Ordering::Relaxed) {
            break;
        }
    }
    n
}

async fn check(fleet: &Fleet, lines: &[&str]) -> u64 {
    let expected = fleet.expected(&lines.join("\n"));
    let (found, dropped) = fleet.wait_for(expected.len()).await;
    let lost = expected.iter().filter(|line| found.binary_search(line).is_err()).count();
    assert!(found == expected, "{} results of {}, {lost} lost", found.len(), expected.len());
    dropped
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_come_and_go_while_records_come_in() {
    let fleet = Fleet::new("halves", 8).await;
    let text = flows(400_000, 40);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let scale = async {
        let begun = Instant::now();
        let first = fleet.join();
        first.hears(begun, "has 1 instance", 1).await;
        fleet.all_queues_are_taken().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (second, third) = (fleet.join(), fleet.join());
        first.hears(begun, "has 3 instances", 1).await;
        // Each has its share: what the first has handed over the others take.
        let joined = Instant::now();
        let shares = async || [&second, &third].map(|one| one.when(begun, "is taken over", 2).is_some());
        eventually("shares", shares, |shares| *shares == [true; 2]).await;
        println!("shares of three after {} ms", joined.elapsed().as_millis());
        tokio::time::sleep(Duration::from_secs(3)).await;
        for leaver in [second, third] {
            let left = Instant::now();
            assert_eq!(end(leaver.job, "-TERM"), Some(0));
            println!("a clean end took {} ms", left.elapsed().as_millis());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        first.hears(begun, "has 1 instance", 2).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        over.store(true, Ordering::Relaxed);
        first
    };
    let (n, first) = tokio::join!(produce(&fleet, &lines, &over), scale);
    let dropped = check(&fleet, &lines[..n]).await;
    println!("{n} records, 1 to 3 to 1 instances: equal, {dropped} raw duplicates");
    assert_eq!(end(first.job, "-TERM"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_killed_or_leaves_is_replaced() {
    let fleet = Fleet::new("halves", 8).await;
    let text = flows(400_000, 40);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let replace = async {
        let begun = Instant::now();
        let stays = fleet.join();
        stays.hears(begun, "has 1 instance", 1).await;
        fleet.all_queues_are_taken().await;
        let mut waits = Vec::new();
        for kills in [true, false] {
            let since = Instant::now();
            let mut goes = fleet.join();
            // It has its half, and works on it.
            goes.hears(since, "is taken over", 4).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            let gone = Instant::now();
            if kills {
                goes.job.kill();
            } else {
                assert_eq!(end(goes.job, "-TERM"), Some(0));
            }
            waits.push(stays.hears(gone, "is taken over", 4).await);
            tokio::time::sleep(Duration::from_secs(4)).await;
        }
        over.store(true, Ordering::Relaxed);
        (stays, waits)
    };
    let (n, (stays, waits)) = tokio::join!(produce(&fleet, &lines, &over), replace);
    let dropped = check(&fleet, &lines[..n]).await;
    assert_eq!(end(stays.job, "-TERM"), Some(0));
    let [killed, left] = [waits[0].as_millis(), waits[1].as_millis()];
    println!(
        "{{\"records\":{n},\"equal\":true,\"raw_duplicates\":{dropped},\"all_queues_taken_over_ms_after_a_kill\":{killed},\"after_a_clean_leave\":{left}}}"
    );
}
