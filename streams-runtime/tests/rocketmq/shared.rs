//! Several instances of a job with a shuffle and windows, whose state is in a database: they are killed, stopped and
//! started while records come in, and the output is compared with a run on a file. `STREAMS_MYSQL` has the address of
//! the server.

#[cfg(feature = "rocksdb")]
mod copies;
mod cost;
#[cfg(feature = "rocksdb")]
mod disk;
mod kills;
mod many;
mod trouble;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts, OptsBuilder};
use streams_core::protocol::ids::{Split, Stage};
use streams_runtime::remote::mysql::{Address, PASSWORD};

#[cfg(feature = "rocksdb")]
use self::copies::copies_are_its_own;
use super::groups::Instance;
use super::jobs::{Fleet, end};
use super::{eventually, grown_to, unique};
use crate::program::{Place, flows, sorted};

const A_SECOND: usize = 5_000;

/// A job whose instances share a database; its results go into a topic and into a table of the same server.
struct Shared {
    fleet: Fleet,
    server: String,
    database: String,
}

/// Words that let an instance keep a copy in a directory of its own, where there is a store that can.
fn copy(number: usize) -> String {
    if cfg!(feature = "rocksdb") { format!("--state state-{number} --store rocksdb") } else { String::new() }
}

/// The server that tests use, without a database.
fn server() -> String {
    let url = std::env::var("STREAMS_MYSQL").expect("STREAMS_MYSQL is not set: run scripts/test-rocketmq");
    url.rsplit_once('/').expect("a database is named").0.to_owned()
}

/// The same, with a database.
fn base() -> String {
    format!("{}/any", server())
}

fn address(text: &str) -> Address {
    Address::parse(text, &|name| std::env::var_os::<OsString>(name.into())).unwrap()
}

/// A plain connection.
async fn connect(server: &str, database: Option<&str>) -> Conn {
    let address = address(&format!("{server}/any"));
    let options = OptsBuilder::default()
        .ip_or_hostname(address.host)
        .tcp_port(address.port)
        .user(Some(address.user))
        .pass(std::env::var(PASSWORD).ok())
        .prefer_socket(false)
        .db_name(database);
    Conn::new(Opts::from(options)).await.unwrap()
}

impl Shared {
    async fn new(n_queues: u16) -> Self {
        Self::at(&server(), n_queues).await
    }

    async fn at(server: &str, n_queues: u16) -> Self {
        Self::of("twice", server, n_queues).await
    }

    async fn of(job: &'static str, server: &str, n_queues: u16) -> Self {
        let database = unique("job").replace('-', "_");
        connect(server, None).await.query_drop(format!("CREATE DATABASE {database}")).await.unwrap();
        let fleet = Fleet { port: "topic=", ..Fleet::new(job, n_queues).await };
        Self { fleet, server: server.to_owned(), database }
    }

    fn join(&self, number: usize) -> Instance {
        self.join_with(number, "")
    }

    fn join_with(&self, number: usize, more: &str) -> Instance {
        Instance::start(self.joining(number, more))
    }

    /// The command of an instance.
    fn joining(&self, number: usize, more: &str) -> Command {
        let (server, database, copy) = (&self.server, &self.database, copy(number));
        self.fleet.joining(&format!(
            "--to table={server}/{database}?table=totals&create=true --shuffle-queues 8 --remote {server}/{database} {copy} {more}"
        ))
    }

    /// How many rows a table has.
    async fn count(&self, table: &str) -> u64 {
        let mut conn = connect(&self.server, Some(&self.database)).await;
        conn.query_first(format!("SELECT COUNT(*) FROM {table}")).await.unwrap().unwrap()
    }

    /// The rows of the table, as lines of a file.
    async fn rows(&self) -> Vec<String> {
        let mut conn = connect(&self.server, Some(&self.database)).await;
        let sql = "SELECT `host`, `from`, `total`, `count` FROM totals";
        let rows: Vec<(String, i64, u64, u64)> = conn.query(sql).await.unwrap();
        let line = |(host, from, total, count)| {
            format!("{{\"host\":\"{host}\",\"from\":{from},\"total\":{total},\"count\":{count}}}")
        };
        let mut lines: Vec<String> = rows.into_iter().map(line).collect();
        lines.sort_unstable();
        lines
    }

    /// The splits of each instance, by its name.
    async fn owners(&self) -> BTreeMap<String, BTreeSet<Split>> {
        let mut conn = connect(&self.server, Some(&self.database)).await;
        let rows: Vec<(u64, String)> = conn.query("SELECT split, member FROM streams_split").await.unwrap();
        let mut owners: BTreeMap<String, BTreeSet<Split>> = BTreeMap::new();
        for (number, member) in rows {
            let (stage, queue) = (Stage((number >> 16) as u16), number as u16);
            owners.entry(member).or_default().insert(Split { stage, queue });
        }
        owners
    }

    /// The same, when so many instances have shares that do not change any more.
    async fn settled(&self, n: usize) -> BTreeMap<String, BTreeSet<Split>> {
        let twice = async || {
            let first = self.owners().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            (first, self.owners().await)
        };
        eventually("shares", twice, |(first, then)| first == then && then.len() == n).await.1
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

    /// Compares topic and table with the results of a run on a file: how many there are, and how many a reader of the
    /// topic dropped.
    async fn check(&self, lines: &[&str]) -> (usize, u64) {
        let place = Place::new("traffic");
        place.write("in.jsonl", lines.join("\n"));
        place.ok("run --from file:in.jsonl --to file:out.jsonl");
        let text = place.read("out.jsonl");
        let expected: Vec<&str> = sorted(&text);
        let (found, dropped) = self.fleet.wait_for(expected.len()).await;
        difference("topic", &expected, &found);
        grown_to("rows", expected.len() as u64, async || self.count("totals").await).await;
        difference("table", &expected, &self.rows().await);
        (found.len(), dropped)
    }
}

/// Fails with numbers where something is lost or doubled.
fn difference(what: &str, expected: &[&str], found: &[String]) {
    let there: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let lost = expected.iter().filter(|line| !there.contains(*line)).take(5);
    let doubled = found.len() - there.len();
    let equal = expected.iter().copied().eq(found.iter().map(String::as_str));
    assert!(
        equal,
        "{what}: {} of {}, {doubled} doubled, lost {:?}",
        found.len(),
        expected.len(),
        lost.collect::<Vec<_>>()
    );
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
            assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
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
        fleet.all_queues_are_taken().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let more = [shared.join(1), shared.join(2)];
        for one in &more {
            one.hears(begun, "is taken over", 4).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        for (number, leaver) in (1..).zip(more) {
            let owned = shared.settled(4 - number).await;
            assert_eq!(end(leaver.job, "-TERM"), Some(0));
            copies_are_its_own(&shared, number, &owned);
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        over.store(true, Ordering::Relaxed);
        first
    };
    let (n, first) = tokio::join!(produce(fleet, &lines, &over), scale);
    let (results, dropped) = shared.check(&lines[..n]).await;
    println!("{n} records, 1 to 3 to 1 instances with windows: {results} results, {dropped} raw duplicates");
    // The first one had all queues in between: of those that it hands over once more nothing stays.
    let other = shared.join(1);
    let owned = shared.settled(2).await;
    assert_eq!(end(first.job, "-TERM"), Some(0));
    copies_are_its_own(&shared, 0, &owned);
    assert_eq!(end(other.job, "-TERM"), Some(0));
}

#[cfg(not(feature = "rocksdb"))]
fn copies_are_its_own(_: &Shared, _: usize, _: &BTreeMap<String, BTreeSet<Split>>) {}
