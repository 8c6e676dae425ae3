//! What commits cost.

use std::time::Instant;

use mysql_async::prelude::Queryable as _;

use super::super::jobs::{Fleet, end, usage};
use super::super::{grown_to, unique};
use super::{connect, copy, server};
use crate::program::spaced_flows;

/// One run over a backlog: processor time in ms, and how long it took to the last result, in seconds.
async fn run(interval: &'static str, text: &str, expected: &[String]) -> (u64, f64) {
    let (server, database) = (server(), unique("cost").replace('-', "_"));
    connect(&server, None).await.query_drop(format!("CREATE DATABASE {database}")).await.unwrap();
    let fleet = Fleet { interval, ..Fleet::new("traffic", 8).await };
    fleet.put(&text.lines().collect::<Vec<_>>()).await;
    fleet.close().await;
    let begun = Instant::now();
    let words = format!("--shuffle-queues 8 --remote {server}/{database} {}", copy(0));
    let instance = fleet.join_with(&words);
    grown_to("results", expected.len() as u64, async || fleet.stored().await).await;
    let (seconds, (cpu_ms, _)) = (begun.elapsed().as_secs_f64(), usage(instance.job.0.id()));
    let (found, dropped) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(dropped, 0);
    assert_eq!(end(instance.job, "-TERM"), Some(0));
    (cpu_ms, seconds)
}

/// A backlog of `STREAMS_RECORDS` records of `STREAMS_KEYS` hosts, ten a ms, with a checkpoint every second and with
/// none, `STREAMS_ROUNDS` times in turns: the same results, and what both took.
#[tokio::test(flavor = "multi_thread")]
async fn results_do_not_depend_on_how_often_is_committed() {
    let number =
        |name: &str, default: usize| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (records, hosts) = (number("STREAMS_RECORDS", 20_000), number("STREAMS_KEYS", 1_000));
    let text = spaced_flows(records, hosts, |at| at as i64 / 10);
    let expected = Fleet::new("traffic", 1).await.expected(&text);
    let mut best = [(u64::MAX, f64::INFINITY); 2];
    for _ in 0..number("STREAMS_ROUNDS", 1) {
        for (best, interval) in best.iter_mut().zip(["1s", "1h"]) {
            let (cpu_ms, seconds) = run(interval, &text, &expected).await;
            *best = (best.0.min(cpu_ms), best.1.min(seconds));
        }
    }
    let [every_second, none] =
        best.map(|(cpu_ms, seconds)| format!("{{\"cpu_ms\":{cpu_ms},\"seconds\":{seconds:.2}}}"));
    println!(
        "{{\"records\":{records},\"hosts\":{hosts},\"results\":{},\"equal\":true,\"every_second\":{every_second},\"none\":{none},\"throughput_ratio\":{:.3}}}",
        expected.len(),
        best[1].1 / best[0].1
    );
}
