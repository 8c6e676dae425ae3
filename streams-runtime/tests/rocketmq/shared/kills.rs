//! One of three is killed again and again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use streams_runtime::rocketmq::QueueId;

use super::super::groups::Instance;
use super::super::jobs::{Fleet, all, end};
use super::{A_SECOND, Shared, produce, server};
use crate::program::flows;

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
    let n_kills: usize = std::env::var("STREAMS_KILLS").map_or(5, |text| text.parse().unwrap());
    let hosts: usize = std::env::var("STREAMS_KEYS").map_or(40, |text| text.parse().unwrap());
    let shared = Shared::of("kept", &server(), 8).await;
    let fleet = &shared.fleet;
    let text = flows(A_SECOND * (n_kills + 3) * 7, hosts);
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
        let state_rows = shared.count("streams_row").await;
        over.store(true, Ordering::Relaxed);
        (instances, kills, state_rows)
    };
    let (n, (instances, mut kills, state_rows)) = tokio::join!(produce(fleet, &lines, &over), kill);
    let (results, dropped) = shared.check(&lines[..n]).await;
    let waits = time_first_results(fleet, &mut kills).await;
    for instance in instances {
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }
    let at = |at: usize| waits.get(at).copied().unwrap_or(0);
    println!(
        "{{\"kills\":{n_kills},\"records\":{n},\"state_rows\":{state_rows},\"results\":{results},\"lost\":0,\"doubled\":0,\"raw_duplicates\":{dropped},\"queues_taken_over\":{},\"first_result_ms_median\":{},\"first_result_ms_worst\":{}}}",
        waits.len(),
        at(waits.len() / 2),
        at(waits.len().saturating_sub(1)),
    );
}
