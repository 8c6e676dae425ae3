//! The disk of an instance's copy is full, or nothing may be written there.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::super::eventually;
use super::super::groups::Instance;
use super::super::jobs::{end, refused};
use super::{A_SECOND, Shared, produce};
use crate::program::flows;

/// The same command where no file may have more than so many KiB: what a full disk looks like without one at hand.
fn limited(command: &Command, kib: u32) -> Command {
    let mut shell = Command::new("bash");
    let limit = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$@\"");
    shell.args(["-c", &limit, "bash"]).arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        shell.current_dir(dir);
    }
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_copy_finds_no_space_says_so_and_is_replaced() {
    let shared = Shared::new(4).await;
    let fleet = &shared.fleet;
    let text = flows(A_SECOND * 120, 2_000);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let run = async {
        let begun = Instant::now();
        let mut poor = Instance::start(limited(&shared.joining(0, ""), 1_024));
        let other = shared.join(1);
        other.hears(begun, "has 2 instances", 1).await;
        // Its log outgrows the limit.
        let ended = async || poor.job.0.try_wait().unwrap();
        let code = eventually("an end", ended, Option::is_some).await.unwrap().code();
        let told = poor.when(begun, "there is no space", 1);
        let remedy = poor.when(begun, "make some and start again, nothing that was committed is lost", 1);
        assert!(code == Some(1) && told.is_some() && remedy.is_some(), "{code:?} {:?}", poor.said);
        fleet.all_queues_are_taken().await;
        // Four queues of the input, eight of the shuffle.
        let most = async || shared.owners().await.into_values().map(|owned| owned.len()).max();
        eventually("the other one has all", most, |most| *most == Some(12)).await;
        over.store(true, Ordering::Relaxed);
        other
    };
    let (n, other) = tokio::join!(produce(fleet, &lines, &over), run);
    let (results, dropped) = shared.check(&lines[..n]).await;
    println!("{n} records, a full disk: {results} results, {dropped} raw duplicates");
    assert_eq!(end(other.job, "-TERM"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_may_be_written_nothing_begins() {
    let shared = Shared::new(1).await;
    let mut command = shared.fleet.joining(&format!(
        "--to table=print: --remote {}/{} --store rocksdb --state /sys/streams",
        shared.server, shared.database
    ));
    command.stdin(Stdio::null());
    let text = refused(command);
    assert!(
        text.contains("--state: cannot create /sys/streams: ") && text.contains("see to its rights"),
        "{text}"
    );
}
