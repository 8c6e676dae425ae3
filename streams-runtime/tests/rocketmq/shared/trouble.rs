//! The database goes away, stands still, or its answers are lost.

#[path = "../../mysql/proxy.rs"]
#[allow(dead_code, reason = "the tests of the store use all of it")]
mod proxy;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use self::proxy::{Fault, Proxy};
use super::super::eventually;
use super::super::groups::Instance;
use super::super::jobs::end;
use super::{A_SECOND, Shared, address, base, produce};
use crate::program::flows;

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
        // One line when it goes and one when it is back, from each that asked for something in between.
        let noticed = |instance: &&Instance| instance.when(begun, "going on when", 1).is_some();
        let n_noticed = async || instances.iter().filter(noticed).count();
        eventually("who notices", n_noticed, |n| *n > 0).await;
        for instance in instances.iter().filter(noticed) {
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
