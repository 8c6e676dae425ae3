//! Several instances of a job with a shuffle and windows, whose state is in a database: they are killed, stopped and
//! started while records come in, and the output is compared with a run on a file. `STREAMS_MYSQL` has the address of
//! the server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use streams_runtime::rocketmq::QueueId;

use super::eventually;
use super::groups::Instance;
use super::jobs::{Fleet, all, end};
use crate::program::flows;

const A_SECOND: usize = 5_000;

/// A job whose instances share a database of the server's.
struct Shared {
    fleet: Fleet,
    url: String,
}

/// Words that let an instance keep a copy in a directory of its own, where there is a store that can.
fn copy(number: usize) -> String {
    if cfg!(feature = "rocksdb") { format!("--state state-{number} --store rocksdb") } else { String::new() }
}

impl Shared {
    async fn new(n_queues: u16) -> Self {
        let url =
            std::env::var("STREAMS_MYSQL").expect("STREAMS_MYSQL is not set: run scripts/test-rocketmq");
        Self { fleet: Fleet::new("traffic", n_queues).await, url }
    }

    fn join(&self, number: usize) -> Instance {
        let (url, copy) = (&self.url, copy(number));
        self.fleet.join_with(&format!("--shuffle-queues 8 --remote {url} {copy}"))
    }

    /// Starts three, and waits until each has its share of the sixteen splits.
    async fn three(&self) -> Vec<Instance> {
        let begun = Instant::now();
        let instances: Vec<Instance> = (0..3).map(|number| self.join(number)).collect();
        for instance in &instances {
            instance.hears(begun, "has 3 instances", 1).await;
        }
        instances
    }

    /// Compares the output with that of a run on a file: how many results a reader dropped.
    async fn check(&self, lines: &[&str]) -> (usize, u64) {
        let expected = self.fleet.expected(&lines.join("\n"));
        let (found, dropped) = self.fleet.wait_for(expected.len()).await;
        let lost = expected.iter().filter(|line| found.binary_search(line).is_err()).count();
        let doubled = found.len() - found.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert!(
            found == expected,
            "{} results of {}, {lost} lost, {doubled} doubled",
            found.len(),
            expected.len()
        );
        (found.len(), dropped)
    }
}

/// Puts 5,000 records a second for as long as it is wanted, and then closes all windows; how many.
async fn produce(fleet: &Fleet, lines: &[&str], over: &AtomicBool) -> usize {
    let mut clock = tokio::time::interval(Duration::from_millis(100));
    let mut n = 0;
    for part in lines.chunks(A_SECOND / 10) {
        clock.tick().await;
        fleet.put(part).await;
        n += part.len();
        if over.load(Ordering::Relaxed) {
            break;
        }
    }
    fleet.close().await;
    n
}

/// What came of a kill.
struct Kill {
    at: Instant,
    at_ms: i64,
    /// By queue of the shuffle that was taken over: when the first result of it came.
    first: BTreeMap<String, Duration>,
}

/// The time as brokers have it.
#[expect(clippy::disallowed_methods, reason = "it is compared with the broker's own clock")]
fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

impl Kill {
    fn now() -> Self {
        Self { at: Instant::now(), at_ms: now_ms(), first: BTreeMap::new() }
    }

    /// The queues of the shuffle that `instances` have said to have taken over since.
    fn note_queues(&mut self, shuffle: &str, instances: &[Instance]) {
        for instance in instances {
            let said = instance.said.lock().unwrap();
            for (_, line) in said.iter().filter(|(at, line)| *at > self.at && line.contains("is taken over"))
            {
                let queue =
                    line.split_once("note: queue ").and_then(|(_, rest)| rest.split_once(" of topic `"));
                if let Some((queue, rest)) = queue
                    && rest.starts_with(shuffle)
                    && let Some((_, number)) = queue.rsplit_once(':')
                {
                    self.first.entry(number.to_owned()).or_insert(Duration::MAX);
                }
            }
        }
    }
}

/// Looks into the output when the first results of queues that were taken over came.
async fn time_first_results(fleet: &Fleet, kills: &mut [Kill]) -> Vec<u128> {
    let queues: Vec<QueueId> = fleet.broker.queues(&fleet.output).await.unwrap().read;
    for queue in queues {
        for message in all(&fleet.broker, &fleet.output, &queue).await {
            let Some((_, split)) = message.properties["streams-split"].split_once('-') else { continue };
            for kill in kills.iter_mut() {
                let Ok(after) = u64::try_from(message.stored_ms - kill.at_ms) else { continue };
                if let Some(first) = kill.first.get_mut(split) {
                    *first = (*first).min(Duration::from_millis(after));
                }
            }
        }
    }
    let waits = kills.iter().flat_map(|kill| kill.first.values()).filter(|wait| **wait < Duration::MAX);
    let mut waits: Vec<u128> = waits.map(Duration::as_millis).collect();
    waits.sort_unstable();
    waits
}

/// `STREAMS_KILLS` kills of one of three, one every three to six seconds; each comes back.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_is_killed_again_and_again() {
    let n_kills: usize = std::env::var("STREAMS_KILLS").map_or(3, |text| text.parse().unwrap());
    let hosts: usize = std::env::var("STREAMS_KEYS").map_or(40, |text| text.parse().unwrap());
    let shared = Shared::new(8).await;
    let fleet = &shared.fleet;
    let text = flows(A_SECOND * (n_kills + 2) * 20, hosts);
    let lines: Vec<&str> = text.lines().collect();
    let shuffle = format!("{}-shuffle-0", fleet.group);
    let over = AtomicBool::new(false);
    let kill = async {
        let mut instances = shared.three().await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        let mut kills = Vec::new();
        for number in 0..n_kills {
            let victim = number * 7 % 3;
            let mut kill = Kill::now();
            instances[victim].job.kill();
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            kill.note_queues(&shuffle, &instances);
            kills.push(kill);
            instances[victim] = shared.join(victim);
            tokio::time::sleep(Duration::from_millis(1_500 + number as u64 * 7_919 % 3_000)).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        over.store(true, Ordering::Relaxed);
        (instances, kills)
    };
    let (n, (instances, mut kills)) = tokio::join!(produce(fleet, &lines, &over), kill);
    let (results, dropped) = shared.check(&lines[..n]).await;
    let waits = time_first_results(fleet, &mut kills).await;
    for instance in instances {
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }
    let at = |at: usize| waits.get(at).copied().unwrap_or(0);
    println!(
        "{{\"kills\":{n_kills},\"records\":{n},\"results\":{results},\"lost\":0,\"doubled\":0,\"raw_duplicates\":{dropped},\"queues_taken_over\":{},\"first_result_ms_median\":{},\"first_result_ms_worst\":{}}}",
        waits.len(),
        at(waits.len() / 2),
        at(waits.len().saturating_sub(1)),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stands_still_is_replaced_and_commits_nothing_more() {
    let shared = Shared::new(4).await;
    let fleet = &shared.fleet;
    let text = flows(A_SECOND * 120, 40);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let stop = async {
        let instances = shared.three().await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        let signal = |name: &str| {
            let pid = instances[0].job.0.id().to_string();
            assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
        };
        let stopped = Instant::now();
        signal("-STOP");
        // Nobody tells the brokers; who is next in line sees that its rows do not move.
        let others = &instances[1..];
        let taken = async || others.iter().filter_map(|one| one.when(stopped, "is taken over", 1)).min();
        let after = eventually("a takeover", taken, Option::is_some).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let woken = Instant::now();
        signal("-CONT");
        instances[0].hears(woken, "another instance has taken it over", 1).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        over.store(true, Ordering::Relaxed);
        (instances, after)
    };
    let (n, (instances, after)) = tokio::join!(produce(fleet, &lines, &over), stop);
    let (results, dropped) = shared.check(&lines[..n]).await;
    println!(
        "{{\"stopped\":true,\"records\":{n},\"results\":{results},\"raw_duplicates\":{dropped},\"taken_over_ms\":{}}}",
        after.as_millis()
    );
    for instance in instances {
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_follow_their_queues_from_one_to_three_and_back() {
    let shared = Shared::new(8).await;
    let fleet = &shared.fleet;
    let text = flows(A_SECOND * 120, 40);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let scale = async {
        let begun = Instant::now();
        let first = shared.join(0);
        first.hears(begun, "has 1 instance", 1).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let more = [shared.join(1), shared.join(2)];
        for one in &more {
            one.hears(begun, "is taken over", 4).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        for leaver in more {
            assert_eq!(end(leaver.job, "-TERM"), Some(0));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        over.store(true, Ordering::Relaxed);
        first
    };
    let (n, first) = tokio::join!(produce(fleet, &lines, &over), scale);
    let (results, dropped) = shared.check(&lines[..n]).await;
    println!("{n} records, 1 to 3 to 1 instances with windows: {results} results, {dropped} raw duplicates");
    assert_eq!(end(first.job, "-TERM"), Some(0));
}
