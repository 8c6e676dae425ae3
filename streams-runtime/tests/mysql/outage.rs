//! A server of its own, killed and started again under those who use it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use streams_core::protocol::ids::{Split, Stage, Token};
use streams_core::protocol::worker::{CommitOutcome, rows_of};
use streams_core::store::Delta;
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::Mysql;

use super::{address, snapshot};

/// Runs until it is dropped, at a port that this process has to itself.
pub(crate) struct Ours {
    port: u32,
}

impl Ours {
    /// Each test has a number of its own.
    pub(crate) fn new(number: u32) -> Self {
        // Below the ports that systems give away by themselves.
        Self { port: 15_000 + std::process::id() % 500 * 10 + number }
    }

    fn script(&self, arguments: &[&str]) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/mysql");
        let mut command = Command::new(script);
        command.args(arguments).env("MYSQL_PORT", self.port.to_string());
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/mysql {arguments:?}: {}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn run(&self, verb: &str) -> String {
        self.script(&[verb])
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(self.run("folder").trim())
    }

    pub(crate) fn sql(&self, text: &str) -> String {
        self.script(&["sql", text])
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.run("stop");
    }
}

/// One owner that commits without end: each commit sets a few hundred rows to its number.
struct Owner {
    split: Split,
    token: Token,
    /// As far as it knows.
    version: u64,
    unknown: u64,
    away: u64,
}

fn delta(split: Split, value: u64) -> Delta {
    let mut delta = Delta::new();
    for i in 0..600_u16 {
        delta.put(&[&rows_of(split), i.to_be_bytes().as_slice()].concat(), &value.to_be_bytes());
    }
    delta
}

impl Owner {
    async fn run(mut self, mysql: Mysql, until: Instant) -> Self {
        while Instant::now() < until || self.version == 0 {
            let (split, version) = (self.split, self.version);
            let delta = delta(split, version + 1);
            match mysql.commit(split, (self.token, version), &snapshot(version + 1), &delta, false).await {
                Ok(CommitOutcome::Done) => self.version += 1,
                Ok(CommitOutcome::Unknown) => {
                    self.unknown += 1;
                    self.version = self.look(&mysql).await;
                    assert!(self.version == version || self.version == version + 1);
                }
                // Its own attempt of which it had lost sight, or nothing.
                Ok(other) => panic!("{other:?} at version {version}"),
                Err(Failure::Away(_)) => {
                    self.away += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(Failure::Fatal(text)) => panic!("{text}"),
            }
        }
        self
    }

    async fn look(&self, mysql: &Mysql) -> u64 {
        loop {
            match mysql.observe(self.split).await {
                Ok((token, version)) => {
                    assert_eq!(token, self.token);
                    return version;
                }
                Err(Failure::Away(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(Failure::Fatal(text)) => panic!("{text}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_committed_is_lost_when_the_server_is_killed() {
    let ours = Ours::new(0);
    let url = ours.run("start");
    let mysql = Mysql::open(&address(url.trim()), "job", "me").await.unwrap();
    let mut owners = Vec::new();
    for queue in 0..3 {
        let split = Split { stage: Stage(0), queue };
        let token = mysql.raise(split, 7, u64::from(queue)).await.unwrap().unwrap();
        owners.push(Owner { split, token, version: 0, unknown: 0, away: 0 });
    }
    for round in 0..3 {
        let until = Instant::now() + Duration::from_secs(3);
        let running: Vec<_> =
            owners.drain(..).map(|owner| tokio::spawn(owner.run(mysql.clone(), until))).collect();
        tokio::time::sleep(Duration::from_millis(700 + 130 * round)).await;
        ours.run("kill");
        tokio::time::sleep(Duration::from_millis(300)).await;
        ours.run("restart");
        for owner in running {
            owners.push(owner.await.unwrap());
        }
        for owner in &owners {
            // Rows, snapshot and version are of one commit, the last that it was told of.
            let (version, read) = mysql.read(owner.split).await.unwrap().unwrap();
            assert_eq!((version, read), (owner.version, snapshot(owner.version)));
            let page = mysql.page(owner.split, owner.token, b"", 1000, 1 << 20).await.unwrap().unwrap();
            assert_eq!(page.rows.len(), 600);
            assert!(page.rows.iter().all(|(_, value)| *value == version.to_be_bytes()));
        }
    }
    let sum = |of: fn(&Owner) -> u64| owners.iter().map(of).sum::<u64>();
    let (version, unknown, away) = (sum(|o| o.version), sum(|o| o.unknown), sum(|o| o.away));
    println!("{version} commits over three kills, {unknown} of unknown fate, {away} times away");
    assert!(away > 0, "the kills were noticed by nobody");
}
