//! What users, brokers and administrators do wrong: a clear word or a dead letter, and nothing lost.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::jobs::{Fleet, Job, all, end, refused};
use super::outage::Ours;
use super::{eventually, namesrv, plain, store};
use crate::program::flows;

fn letters(fleet: &Fleet) -> Vec<serde_json::Value> {
    fleet.place.read("letters").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the broker's own tool.
fn admin(words: &[&str]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/rocketmq");
    let mut command = Command::new(script);
    command.arg("admin").args(words).args(["-n", &namesrv()]);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_on_which_the_code_panics_is_a_dead_letter() {
    let fleet = Fleet::new("echo", 1).await;
    let queue = fleet.broker.queues(&fleet.input).await.unwrap().write[0].clone();
    let job = fleet.start_with("--dead-letter file:letters --report report.json");
    let texts = ["a", "panic", "", "panic", "bad", "b"];
    store(&fleet.broker, &fleet.input, &queue, &texts.map(plain)).await;
    eventually("three results", async || fleet.stored().await, |n| *n >= 3).await;
    assert_eq!(end(job, "-TERM"), Some(0));
    let queue = fleet.broker.queues(&fleet.output).await.unwrap().read[0].clone();
    let found = all(&fleet.broker, &fleet.output, &queue).await;
    let found: Vec<_> = found.iter().map(|it| std::str::from_utf8(&it.body).unwrap()).collect();
    assert_eq!(found, [r#""a""#, r#""""#, r#""b""#]);
    let letters = letters(&fleet);
    let told: std::collections::BTreeSet<_> =
        letters.iter().map(|it| (it["offset"].as_u64(), it["raw"].as_str(), it["error"].as_str())).collect();
    let expect = [(1, "panic", "asked to panic"), (3, "panic", "asked to panic"), (4, "bad", "it is bad")];
    assert_eq!(told, expect.map(|(at, raw, error)| (Some(at), Some(raw), Some(error))).into());
    let report = fleet.place.report("report.json");
    assert_eq!((&report["records_in"], &report["dead_letter"]), (&6.into(), &3.into()), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_panics_on_a_window_leaves_everything_clean() {
    let fleet = Fleet::new("strict", 2).await;
    let text = flows(2_000, 5);
    let mut command = fleet.command("--limit 1000000");
    let mut job = Job(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    fleet.put(&text.lines().collect::<Vec<_>>()).await;
    fleet.wait_for(10).await;
    fleet.put(&[r#"{"host":"panic","out_flow":1,"at":8000000000000}"#]).await;
    fleet.close().await;
    let mut said = String::new();
    job.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(job.0.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("asked to panic") && said.contains("the queues are left clean"), "{said}");
    // Other settings are other code: it may go on from there, and comes to the same place.
    let said = refused(fleet.command("--limit 2000000"));
    assert!(said.contains("asked to panic") && said.contains("the queues are left clean"), "{said}");
    assert!(!said.contains("ran here and"), "{said}");
    // Nothing has a gap or stands there in another order.
    fleet.results().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_no_broker_takes_is_a_dead_letter() {
    let fleet = Fleet::new("echo", 1).await;
    let queue = fleet.broker.queues(&fleet.input).await.unwrap().write[0].clone();
    let job = fleet.start_with("--dead-letter file:letters");
    // A message that a broker takes, whose result does not fit beside the properties that it gets.
    let large = "x".repeat(4_194_304 - 200);
    for text in ["a", &large, "b"] {
        store(&fleet.broker, &fleet.input, &queue, &[plain(text)]).await;
    }
    eventually("two results", async || fleet.stored().await, |n| *n >= 2).await;
    assert_eq!(end(job, "-TERM"), Some(0));
    let letters = letters(&fleet);
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0]["offset"], 1);
    let error = letters[0]["error"].as_str().unwrap();
    assert!(error.contains("has 4194106 bytes, and a message holds at most 4128768"), "{error}");
    assert_eq!(letters[0]["raw"].as_str().map(str::len), Some(large.len()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_must_not_be_written_is_refused_at_the_start() {
    let fleet = Fleet::new("traffic", 1).await;
    admin(&["updateTopic", "-c", "DefaultCluster", "-t", &fleet.output, "-r", "3", "-w", "3", "-p", "4"]);
    let closed = async || fleet.broker.queues(&fleet.output).await.unwrap().write.len();
    eventually("that nothing can be written", closed, |n| *n == 0).await;
    let said = refused(fleet.command(""));
    assert!(said.contains(&fleet.output) && said.contains("no queue that can be written"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stands_still_is_waited_for() {
    let ours = Ours::new(2);
    let namesrv = ours.run("start");
    let fleet = Fleet::at(namesrv.trim(), "traffic", 3).await;
    let text = flows(6_000, 20);
    let expected = fleet.expected(&text);
    let lines: Vec<&str> = text.lines().collect();
    let (first, second) = lines.split_at(3_000);
    let mut command = fleet.command("");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        stderr.read_to_string(&mut said).unwrap();
        said
    });
    let job = Job(child);
    fleet.put(first).await;
    fleet.wait_for(1).await;
    ours.signal("-STOP");
    tokio::time::sleep(Duration::from_secs(8)).await;
    ours.signal("-CONT");
    fleet.put(second).await;
    fleet.close().await;
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(end(job, "-TERM"), Some(0));
    let said = said.join().unwrap();
    let times = |text: &str| said.matches(text).count();
    assert!(times("going on when") <= 2 && times("answer again") <= 2, "a line for each change: {said}");
}
