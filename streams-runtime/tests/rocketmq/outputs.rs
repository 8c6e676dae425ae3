//! What the messages of an output look like, and in which queue they are.

use std::collections::BTreeMap;
use std::process::Stdio;

use super::jobs::{Fleet, Job, all, end};
use super::{eventually, plain, store, unique};
use crate::program::flows;
use streams_runtime::rocketmq::Outgoing;

/// Starts the job with an output that says more than its topic.
fn start(fleet: &Fleet, options: &str) -> Job {
    let Fleet { namesrv, group, input, output, .. } = fleet;
    let mut command = fleet.place.command(&format!(
        "run --namesrv {namesrv} --group {group} --from topic:{input} --to topic:{output}?{options} --local-only --state state"
    ));
    Job(command.stdout(Stdio::null()).spawn().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_a_key_are_in_one_queue_with_key_and_tag() {
    let fleet = Fleet::new("traffic", 2).await;
    let text = flows(3_000, 40);
    let expected = fleet.expected(&text);
    let job = start(&fleet, "tag=totals");
    fleet.put(&text.lines().collect::<Vec<_>>()).await;
    fleet.close().await;
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "other results than on a file");
    assert_eq!(end(job, "-TERM"), Some(0));
    let mut queues = BTreeMap::new();
    for id in fleet.broker.queues(&fleet.output).await.unwrap().read {
        for message in all(&fleet.broker, &fleet.output, &id).await {
            let total: serde_json::Value = serde_json::from_slice(&message.body).unwrap();
            let host = total["host"].as_str().unwrap().to_owned();
            assert_eq!((message.keys.as_ref(), message.tags.as_deref()), (Some(&host), Some("totals")));
            let before = queues.insert(host.clone(), id.clone());
            assert!(before.is_none_or(|before| before == id), "{host} is in two queues");
        }
    }
    let used: std::collections::BTreeSet<_> = queues.values().map(ToString::to_string).collect();
    assert_eq!((queues.len(), used.len()), (40, 3), "{queues:?}");
}

/// A stage may send to an output and to the next stage: only what an output has counts as a result.
#[tokio::test(flavor = "multi_thread")]
async fn the_report_counts_the_results_of_every_stage() {
    let large = Fleet::new("pair", 1).await;
    let right = Fleet::new("pair", 1).await;
    let text = flows(1_000, 10);
    let lines: Vec<&str> = text.lines().collect();
    for fleet in [&large, &right] {
        fleet.put(&lines).await;
        fleet.close().await;
    }
    let n_large = 2 * lines.iter().filter(|line| out_flow(line) >= 100).count() as u64;
    let totals = unique("totals");
    large.broker.create_topic(&totals, 3, 3).await.unwrap();
    let Fleet { namesrv, group, input, output, .. } = &large;
    let mut command = large.place.command(&format!(
        "run --namesrv {namesrv} --group {group} --from left=topic:{input} --from right=topic:{} --to large=topic:{output} --to totals=topic:{totals} --local-only --state state --report report.json",
        right.input
    ));
    let job = Job(command.stdout(Stdio::null()).spawn().unwrap());
    let totals = Fleet { output: totals, ..right };
    eventually("all that is large", async || large.stored().await, |n| *n == n_large).await;
    totals.grown_from(0).await;
    assert_eq!(end(job, "-TERM"), Some(0));
    let report = large.place.report("report.json");
    assert_eq!(report["records_out"], n_large + totals.stored().await, "{report}");
}

fn out_flow(line: &str) -> i64 {
    let flow: serde_json::Value = serde_json::from_str(line).unwrap();
    flow["out_flow"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_with_a_line_break_is_one_message() {
    let fleet = Fleet::new("echo", 1).await;
    let job = start(&fleet, "format=lines");
    let id = fleet.broker.queues(&fleet.input).await.unwrap().write[0].clone();
    let texts = ["a\nb", "", "c\n", "\n\n"];
    store(&fleet.broker, &fleet.input, &id, &texts.map(plain)).await;
    eventually("four results", async || fleet.stored().await, |n| *n >= 4).await;
    assert_eq!(end(job, "-TERM"), Some(0));
    // Without a key a result is in the queue that belongs to its split.
    let id = fleet.broker.queues(&fleet.output).await.unwrap().read[0].clone();
    let found = all(&fleet.broker, &fleet.output, &id).await;
    let found: Vec<_> = found.iter().map(|it| std::str::from_utf8(&it.body).unwrap()).collect();
    assert_eq!(found, texts);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_another_job_count_once_and_tags_are_chosen() {
    let mut fleet = Fleet::new("echo", 1).await;
    let queue = fleet.broker.queues(&fleet.input).await.unwrap().write[0].clone();
    let result = |number: u64, tag: &str| Outgoing {
        body: format!("{number}{tag}").into(),
        tags: Some(tag.to_owned()),
        properties: [("streams-job", "00000000000000aa"), ("streams-split", "1-0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .chain([("streams-number".to_owned(), number.to_string())])
            .collect(),
        ..Outgoing::default()
    };
    let numbers = [(4, "a"), (5, "b"), (5, "b"), (6, "a"), (4, "a"), (9, "c"), (10, "d")];
    let messages: Vec<_> = numbers.iter().map(|(number, tag)| result(*number, tag)).collect();
    store(&fleet.broker, &fleet.input, &queue, &messages).await;
    store(&fleet.broker, &fleet.input, &queue, &[plain("no tag")]).await;
    let input = std::mem::take(&mut fleet.input);
    fleet.input = format!("{input}?tags=a||b||d");
    let job = fleet.start_with("--report report.json --dead-letter file:letters");
    eventually("four results", async || fleet.stored().await, |n| *n >= 4).await;
    assert_eq!(end(job, "-TERM"), Some(0));
    let queue = fleet.broker.queues(&fleet.output).await.unwrap().read[0].clone();
    let found = all(&fleet.broker, &fleet.output, &queue).await;
    let found: Vec<_> = found.iter().map(|it| std::str::from_utf8(&it.body).unwrap()).collect();
    assert_eq!(found, [r#""4a""#, r#""5b""#, r#""6a""#, r#""10d""#]);
    let report = fleet.place.report("report.json");
    let counts = ["records_in", "duplicates", "filtered", "missing"].map(|name| report[name].as_u64());
    assert_eq!(counts, [4, 2, 2, 2].map(Some), "{report}");
    assert!(fleet.place.read("letters").contains("2 results in front of number 9 of split 1-0"));
}
