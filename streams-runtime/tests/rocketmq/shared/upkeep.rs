//! The state of a job on topics is looked at, carried from store to store and back, and set back.

use std::time::Instant;

use mysql_async::prelude::Queryable as _;

use super::super::jobs::{Fleet, end};
use super::super::{eventually, unique};
use super::{connect, copy, server};
use crate::program::{Shown, flows, shown};

/// A job, and an empty database for it.
struct Kept {
    fleet: Fleet,
    remote: String,
}

impl Kept {
    async fn new(job: &'static str, n_queues: u16) -> Self {
        let (server, database) = (server(), unique("kept").replace('-', "_"));
        connect(&server, None).await.query_drop(format!("CREATE DATABASE {database}")).await.unwrap();
        Self { fleet: Fleet::new(job, n_queues).await, remote: format!("{server}/{database}") }
    }

    /// Words that name the state in the database.
    fn in_database(&self) -> String {
        format!("--remote {} --group {}", self.remote, self.fleet.group)
    }

    /// Runs a command that has to end well, and gives what it shows.
    #[track_caller]
    fn ok(&self, words: &str) -> String {
        self.fleet.place.ok(words).stdout
    }

    #[track_caller]
    fn refused(&self, words: &str, code: i32, expect: &str) {
        refused(&self.fleet.place.run(words), code, expect);
    }

    /// Runs until so many records of each queue are committed, and ends in order.
    async fn run_until(&self, words: &str, offset: u64) {
        let instance = self.fleet.join_with(words);
        self.committed(offset).await;
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }

    async fn committed(&self, offset: u64) {
        let Fleet { broker, input, group, .. } = &self.fleet;
        for queue in broker.queues(input).await.unwrap().read {
            let reported = async || broker.reported(group, input, &queue).await.unwrap();
            eventually("commits", reported, |found| *found >= Some(offset)).await;
        }
    }
}

#[track_caller]
fn refused(shown: &Shown, code: i32, expect: &str) {
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(code), ""), "{shown:?}");
    assert!(shown.stderr.contains(expect), "{shown:?}");
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_goes_from_redb_to_rocksdb_to_the_database_and_back() {
    let kept = Kept::new("traffic", 4).await;
    let (fleet, database) = (&kept.fleet, kept.in_database());
    let text = flows(9_000, 20);
    let lines: Vec<&str> = text.lines().collect();
    let expected = fleet.expected(&text);

    fleet.put(&lines[..3_000]).await;
    kept.run_until("--local-only --state one", 750).await;
    let listing = json(&kept.ok("state ls --state one --format json"));
    let inputs = listing["inputs"].as_array().unwrap();
    let read: u64 = inputs.iter().filter(|i| i["input"] == fleet.input.as_str()).map(offset).sum();
    assert_eq!(read, 3_000, "{listing}");
    assert!(inputs.iter().all(|input| input["note"] == "left clean"), "{listing}");
    let row = kept.ok("state get aggregate h3 --state one");
    assert!(row.contains("\"key\":\"h3\"") && row.contains("-shuffle-0"), "{row}");

    kept.ok("state export one.savepoint --state one");
    let store = if cfg!(feature = "rocksdb") { "rocksdb" } else { "redb" };
    kept.ok(&format!("state import one.savepoint --state two --store {store}"));
    kept.ok("state export two.savepoint --state two");
    kept.refused(&format!("state ls {database}"), 2, "there is no state of the group");
    kept.refused(
        &format!("state import two.savepoint --remote {} --group other", kept.remote),
        2,
        "--group other: the savepoint is that of the group",
    );
    kept.ok(&format!("state import two.savepoint {database}"));
    kept.refused(&format!("state import two.savepoint {database}"), 2, "has a state already");
    assert_eq!(kept.ok(&format!("state get aggregate h3 {database}")), row, "rows are the same everywhere");
    assert_eq!(
        operators(&kept.ok(&format!("state ls --format json {database}"))),
        operators(&listing.to_string())
    );

    // On with the database, which is looked at while the job runs.
    fleet.put(&lines[3_000..6_000]).await;
    let instance = fleet.join_with(&format!("--remote {} {}", kept.remote, copy(0)));
    kept.committed(1_500).await;
    let shown = kept.ok(&format!("state ls {database}"));
    assert!(shown.contains("in use, or its owner was killed"), "{shown}");
    kept.ok(&format!("state export live.savepoint {database}"));
    let reset = format!("offsets reset --to earliest --yes --namesrv {} {database}", fleet.namesrv);
    kept.refused(&reset, 2, "is in use by an instance of the job");
    assert_eq!(end(instance.job, "-TERM"), Some(0));
    if cfg!(feature = "rocksdb") {
        kept.refused("state ls --state state-0", 2, "an instance's copy of a remote store");
    }

    // And back into a file.
    kept.ok(&format!("state export three.savepoint {database}"));
    kept.ok("state import three.savepoint --state back --store redb");
    fleet.put(&lines[6_000..]).await;
    fleet.close().await;
    let last = fleet.join_with("--local-only --state back");
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(end(last.job, "-TERM"), Some(0));
}

fn offset(input: &serde_json::Value) -> u64 {
    input["offset"].as_u64().unwrap()
}

/// What operators keep, in an order that does not depend on the store.
fn operators(listing: &str) -> Vec<String> {
    let mut operators: Vec<String> =
        json(listing)["operators"].as_array().unwrap().iter().map(ToString::to_string).collect();
    operators.sort_unstable();
    operators
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_set_back_on_topics() {
    for in_database in [false, true] {
        let kept = Kept::new("sums", 2).await;
        let fleet = &kept.fleet;
        let (run, place) = match in_database {
            true => (format!("--remote {} {}", kept.remote, copy(0)), kept.in_database()),
            false => ("--local-only --state st".to_owned(), "--state st".to_owned()),
        };
        let text = flows(400, 5);
        let lines: Vec<&str> = text.lines().collect();
        fleet.put(&lines).await;
        kept.run_until(&run, 200).await;
        let offsets = |more: &str| {
            let shown = json(&kept.ok(&format!("offsets show --format json {place} {more}")));
            let of_input = |source: &&serde_json::Value| source["input"] == fleet.input.as_str();
            let sources = shown.as_array().unwrap().iter().filter(of_input);
            sources.map(|source| (offset(source), source["behind"].as_u64())).collect::<Vec<_>>()
        };
        assert_eq!(offsets(""), [(200, None); 2]);
        let brokers = format!("--namesrv {}", fleet.namesrv);
        let reset = |more: &str| format!("offsets reset {place} {more}");
        kept.refused(&reset("--to earliest --yes"), 2, "add --namesrv HOST:9876");
        kept.refused(&reset(&format!("--to earliest {brokers}")), 2, "add --yes when that is what you want");
        kept.refused(
            &reset(&format!("--to 300 --yes {brokers}")),
            2,
            "has messages from 0 on and in front of 200; nothing was moved",
        );
        kept.ok(&reset(&format!("--to 50 --yes {brokers}")));
        assert_eq!(offsets(&brokers), [(50, Some(150)); 2]);
        kept.ok(&reset(&format!("--to time:0 --yes {brokers}")));
        assert_eq!(offsets(&brokers), [(0, Some(200)); 2]);
        kept.ok(&reset(&format!("--to latest --yes {brokers}")));
        assert_eq!(offsets(""), [(200, None); 2]);
        kept.ok(&reset(&format!("--to earliest --input flows --yes {brokers}")));

        // State is kept, and results of before stay: every record is counted a second time.
        let before = fleet.stored().await;
        let instance = fleet.join_with(&run);
        let (found, dropped) = fleet.wait_for(800).await;
        assert_eq!((found.len(), dropped, before), (800, 0, 400));
        let most = found.iter().map(|line| json(line)["count"].as_u64().unwrap()).max();
        let once = lines.len() as u64 / 10;
        assert!(most > Some(once), "no key is counted twice: {most:?}");

        // Behind a kill the offsets cannot be moved.
        let mut job = instance.job;
        job.kill();
        kept.refused(&reset(&format!("--to earliest --yes {brokers}")), 2, "or its last owner was killed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told() {
    let kept = Kept::new("traffic", 1).await;
    let mut command = kept.fleet.place.command(&format!("state ls {}", kept.in_database()));
    let begun = Instant::now();
    refused(&shown(command.env("STREAMS_MYSQL_PASSWORD", "open-sesame")), 1, "STREAMS_MYSQL_PASSWORD");
    kept.refused("state ls --remote mysql://u@127.0.0.1:1/db", 1, "is the server running and reachable?");
    assert!(begun.elapsed() < super::super::PATIENCE, "both are told at once");
}

/// Queues that were read 1,500 further than the savepoint knows.
async fn stepped_back(more: &str) -> (Kept, Vec<String>, Vec<String>) {
    let kept = Kept::new("traffic", 2).await;
    let text = flows(9_000, 20);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let expected = kept.fleet.expected(&text);
    let part = |range: std::ops::Range<usize>| lines[range].iter().map(String::as_str).collect::<Vec<_>>();
    kept.fleet.put(&part(0..3_000)).await;
    kept.run_until(&format!("--local-only --state one {more}"), 1_500).await;
    kept.ok("state export early.savepoint --state one");
    kept.fleet.put(&part(3_000..6_000)).await;
    kept.run_until(&format!("--local-only --state one {more}"), 3_000).await;
    kept.fleet.put(&part(6_000..9_000)).await;
    kept.fleet.close().await;
    (kept, lines, expected)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_back_gives_the_same_results_under_the_same_numbers_to_the_same_program_alone() {
    let (kept, _, expected) = stepped_back("").await;
    kept.ok("state import early.savepoint --state two");
    let mut other = kept.fleet.joining("--local-only --state two --slack 7s");
    refused(&shown(&mut other), 1, "ran here and were not ended by a signal");
    let again = kept.fleet.join_with("--local-only --state two");
    let (found, dropped) = kept.fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(dropped, 0, "what lies in the outputs is not sent again");
    assert_eq!(end(again.job, "-TERM"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_back_is_refused_where_results_would_be_others() {
    // With it a queue's results depend on when nothing came.
    let idle = "--idle-after 1h";
    let (kept, ..) = stepped_back(idle).await;
    kept.ok("state import early.savepoint --state two");
    let mut again = kept.fleet.joining(&format!("--local-only --state two {idle}"));
    refused(&shown(&mut again), 1, "the job ran on after the savepoint was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_program_goes_on_where_a_savepoint_is_the_last_state() {
    let kept = Kept::new("traffic", 2).await;
    let text = flows(6_000, 20);
    let lines: Vec<&str> = text.lines().collect();
    let expected = kept.fleet.expected(&text);
    kept.fleet.put(&lines[..3_000]).await;
    kept.run_until("--local-only --state one", 1_500).await;
    kept.ok("state export last.savepoint --state one");
    kept.ok("state import last.savepoint --state two --not-run-since");
    kept.fleet.put(&lines[3_000..]).await;
    kept.fleet.close().await;
    // Another setting counts as another program.
    let other = kept.fleet.join_with("--local-only --state two --slack 7s");
    let (found, _) = kept.fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(end(other.job, "-TERM"), Some(0));
}
