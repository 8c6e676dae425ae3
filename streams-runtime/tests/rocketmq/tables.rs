//! Rows of tables that jobs on topics look up: what leaves when, and who may go on.

use super::eventually;
use super::jobs::{Fleet, Job, end, refused};
use crate::program::flows;

const ROWS: &str = "host,owner,rack\nh0,ann,1\nh1,bob,2\n";

/// A job whose commits are far apart.
async fn racks() -> Fleet {
    let mut fleet = Fleet::new("racks", 2).await;
    fleet.interval = "1h";
    fleet.place.write("hosts.csv", ROWS);
    fleet
}

fn start(fleet: &Fleet, options: &str) -> Job {
    fleet.start_with(&format!("--hosts file:hosts.csv{options}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_never_change_are_joined_without_a_commit_and_are_the_same_after_a_crash() {
    let mut fleet = racks().await;
    let text = flows(1_000, 2);
    let lines: Vec<&str> = text.lines().collect();
    let expected = {
        fleet.place.write("in.jsonl", &text);
        fleet.place.ok("run --from file:in.jsonl --hosts file:hosts.csv?fixed --to file:out.jsonl");
        let mut rows: Vec<_> = fleet.place.read("out.jsonl").lines().map(str::to_owned).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(expected.len(), 1_000);

    let mut job = start(&fleet, "?fixed");
    fleet.put(&lines[..600]).await;
    fleet.wait_for(600).await;
    // All of that came without a commit: nothing has been read as far as the store knows.
    for queue in fleet.broker.queues(&fleet.input).await.unwrap().read {
        let reported = fleet.broker.reported(&fleet.group, &fleet.input, &queue).await.unwrap();
        assert_eq!(reported.unwrap_or(0), 0);
    }
    job.kill();

    // Other rows would give other results under the same numbers.
    fleet.place.write("hosts.csv", ROWS.replace("ann", "eve"));
    let text = refused(fleet.command("--hosts file:hosts.csv?fixed"));
    assert!(text.contains("other rows of a fixed table ran here"), "{text}");
    // A table that may change is another setting.
    fleet.place.write("hosts.csv", ROWS);
    refused(fleet.command("--hosts file:hosts.csv"));

    let job = start(&fleet, "?fixed");
    fleet.put(&lines[600..]).await;
    let (found, dropped) = fleet.wait_for(1_000).await;
    assert!(found == expected, "other rows than on a file");
    assert_eq!(end(job, "-TERM"), Some(0));
    // What was sent is not sent again by one that can see it.
    assert_eq!(dropped, 0);

    // Whoever was ended in order goes on with other rows, and with a table that changes.
    fleet.place.write("hosts.csv", ROWS.replace("ann", "eve"));
    let job = start(&fleet, "?fixed");
    fleet.put(&lines[..2]).await;
    let (found, _) = fleet.wait_for(1_002).await;
    assert!(found.iter().any(|line| line.contains("eve")));
    assert_eq!(end(job, "-TERM"), Some(0));
    fleet.interval = "200ms";
    let job = start(&fleet, "");
    fleet.put(&lines[..2]).await;
    fleet.wait_for(1_004).await;
    assert_eq!(end(job, "-TERM"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_may_change_are_joined_by_the_commit() {
    let mut fleet = racks().await;
    fleet.interval = "200ms";
    let job = start(&fleet, "?refresh=100ms");
    let text = flows(100, 1);
    fleet.put(&text.lines().collect::<Vec<_>>()).await;
    fleet.wait_for(100).await;
    fleet.place.write("hosts.csv", ROWS.replace("ann", "eve"));
    let put_one = async || {
        fleet.put(&[r#"{"host":"h0","out_flow":1,"at":1}"#]).await;
        fleet.results().await.0
    };
    eventually("the new row", put_one, |lines| lines.iter().any(|line| line.contains("eve"))).await;
    assert_eq!(end(job, "-TERM"), Some(0));
}
