//! Several instances of a job with a shuffle and windows, whose state is in a database: they are killed, stopped and
//! started while records come in, and the output is compared with a run on a file. `STREAMS_MYSQL` has the address of
//! the server.

#[path = "../mysql/proxy.rs"]
#[allow(dead_code, reason = "the tests of the store use all of it")]
mod proxy;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use streams_runtime::rocketmq::QueueId;

use self::proxy::{Fault, Proxy};
use super::eventually;
use super::groups::Instance;
use super::jobs::{Fleet, all, end};
use crate::program::flows;

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
        let database = unique("job").replace('-', "_");
        connect(server, None).await.query_drop(format!("CREATE DATABASE {database}")).await.unwrap();
        let fleet = Fleet { port: "topic=", ..Fleet::new("twice", n_queues).await };
        Self { fleet, server: server.to_owned(), database }
    }

    fn join(&self, number: usize) -> Instance {
        self.join_with(number, "")
    }

    fn join_with(&self, number: usize, more: &str) -> Instance {
        let (server, database, copy) = (&self.server, &self.database, copy(number));
        self.fleet.join_with(&format!(
            "--to table={server}/{database}?table=totals&create=true --shuffle-queues 8 --remote {server}/{database} {copy} {more}"
        ))
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
        let full = async || self.rows().await.len();
        eventually("rows", full, |n| *n >= expected.len()).await;
        difference("table", &expected, &self.rows().await);
        (found.len(), dropped)
    }
}

/// Fails with numbers where something is lost or doubled.
fn difference(what: &str, expected: &[&str], found: &[String]) {
    let lost = expected.iter().filter(|line| !found.iter().any(|other| other == *line)).take(5);
    let doubled = found.len() - found.iter().collect::<BTreeSet<_>>().len();
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

/// Runs three instances against a server while `trouble` happens to it, and compares.
async fn in_trouble(shared: &Shared, what: &str, trouble: impl AsyncFnOnce(&[Instance])) {
    let fleet = &shared.fleet;
    let text = flows(A_SECOND * 240, 40);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let run = async {
        let instances = shared.three().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        trouble(&instances).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        over.store(true, Ordering::Relaxed);
        instances
    };
    let (n, instances) = tokio::join!(produce(fleet, &lines, &over), run);
    let (results, dropped) = shared.check(&lines[..n]).await;
    println!(
        "{{\"trouble\":\"{what}\",\"records\":{n},\"results\":{results},\"equal\":true,\"raw_duplicates\":{dropped}}}"
    );
    for instance in instances {
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }
}

/// How long the server is away.
fn away() -> Duration {
    Duration::from_secs(std::env::var("STREAMS_AWAY_S").map_or(8, |text| text.parse().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_is_stopped_for_a_while() {
    let ours = Database::new(7);
    let shared = Shared::at(&ours.start(), 4).await;
    in_trouble(&shared, "stopped", async |instances| {
        let begun = Instant::now();
        ours.run("kill");
        tokio::time::sleep(away()).await;
        ours.run("restart");
        // One line when it goes and one when it is back, from each.
        for instance in instances {
            instance.hears(begun, "going on when", 1).await;
            instance.hears(begun, "answers again", 1).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_stands_still_for_a_while() {
    let ours = Database::new(8);
    let shared = Shared::at(&ours.start(), 4).await;
    in_trouble(&shared, "paused", async |_| {
        ours.run("pause");
        tokio::time::sleep(away()).await;
        ours.run("resume");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_commits_are_lost() {
    let proxy = Proxy::new().await;
    let through = proxy.text("any", "");
    let server = through.strip_suffix("/any").expect("a database is named").to_owned();
    let shared = Shared { server, ..Shared::new(4).await };
    in_trouble(&shared, "answers to COMMIT lost", async |_| {
        for fault in [Fault::CutBehindCommit, Fault::CutAtCommit, Fault::CutBeforeCommit].repeat(3) {
            let before = proxy.struck();
            proxy.set(fault);
            eventually("a commit", async || proxy.struck(), |n| *n > before).await;
            proxy.set(Fault::None);
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
    })
    .await;
}

/// A server of a test's own.
struct Database(u32);

impl Database {
    fn new(number: u32) -> Self {
        // Below the ports that systems give away by themselves.
        Self(10_500 + std::process::id() % 400 * 10 + number)
    }

    fn start(&self) -> String {
        let url = self.run("start");
        url.trim().rsplit_once('/').expect("a database is named").0.to_owned()
    }

    fn run(&self, verb: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/mysql");
        let mut command = std::process::Command::new(script);
        command.arg(verb).env("MYSQL_PORT", self.0.to_string());
        let output = command.stderr(std::process::Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/mysql {verb}: {}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.run("stop");
    }
}

/// `STREAMS_KEYS` keys in one open window, half of them with an instance that is killed: whoever takes its queues over
/// works on them before their rows have been loaded, and the window fires in the middle of that.
#[tokio::test(flavor = "multi_thread")]
async fn queues_are_worked_on_while_their_state_is_loaded() {
    let keys: usize = std::env::var("STREAMS_KEYS").map_or(20_000, |text| text.parse().unwrap());
    let shared = Shared::new(8).await;
    let fleet = &shared.fleet;
    let record = |key: usize, at: usize| format!("{{\"host\":\"key-{key}\",\"out_flow\":1,\"at\":{at}}}");
    let mut lines: Vec<String> = (0..keys).map(|key| record(key, key * 4_000 / keys)).collect();
    let begun = Instant::now();
    let mut instances = [shared.join(0), shared.join(1)];
    instances[0].hears(begun, "has 2 instances", 1).await;
    for part in lines.chunks(20_000) {
        fleet.put(&part.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    let mut conn = connect(&shared.server, Some(&shared.database)).await;
    let stage_1 = "split >> 16 & 65535 = 1";
    loop {
        let there: Option<u64> =
            conn.query_first(format!("SELECT COUNT(*) FROM streams_row WHERE {stage_1}")).await.unwrap();
        if there.unwrap_or(0) >= keys as u64 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // One of them dies.
    let owners = format!("SELECT split, member, version FROM streams_split WHERE {stage_1}");
    let before: Vec<(u64, String, u64)> = conn.query(&owners).await.unwrap();
    let victim = before[0].1.clone();
    let killed = Instant::now();
    for instance in instances.iter_mut().filter(|instance| instance.is_called(&victim)) {
        instance.job.kill();
    }
    let mut taken: BTreeMap<u64, (u64, Option<Duration>)> = BTreeMap::new();
    taken.extend(
        before.iter().filter(|(_, member, _)| *member == victim).map(|(split, _, v)| (*split, (*v, None))),
    );
    let mut n = 0;
    while taken.values().any(|(_, first)| first.is_none()) {
        assert!(killed.elapsed() < super::PATIENCE, "not taken over: {taken:?}");
        let more: Vec<String> = (0..400).map(|i| record((n + i) * 7_919 % keys, 4_100)).collect();
        n += more.len();
        fleet.put(&more.iter().map(String::as_str).collect::<Vec<_>>()).await;
        lines.extend(more);
        for (split, member, version) in conn.query::<(u64, String, u64), _>(&owners).await.unwrap() {
            if let Some((old, first)) = taken.get_mut(&split)
                && member != victim
                && version > *old
            {
                first.get_or_insert(killed.elapsed());
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let firsts: Vec<u128> = taken.values().map(|(_, first)| first.unwrap().as_millis()).collect();
    fleet.close().await;
    let text: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (results, dropped) = shared.check(&text).await;
    let loaded = instances.iter().filter_map(|one| one.when(killed, "has been loaded", 1)).min();
    println!(
        "{{\"keys\":{keys},\"results\":{results},\"equal\":true,\"raw_duplicates\":{dropped},\"queues_taken_over\":{},\"first_record_ms_worst\":{},\"first_load_done_ms\":{}}}",
        firsts.len(),
        firsts.iter().max().unwrap(),
        loaded.map_or("null".to_owned(), |loaded| loaded.as_millis().to_string()),
    );
    for instance in instances.into_iter().filter(|instance| !instance.is_called(&victim)) {
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }
}
