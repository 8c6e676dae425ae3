//! A job as a program in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A directory in which a job runs.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    job: &'static str,
}

/// What a run left at the terminal.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new(job: &'static str) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), job }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with these words, in this directory.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(program());
        command.args(words.split_whitespace()).current_dir(self.dir.path()).env("TEST_JOB", self.job);
        command
    }

    pub(crate) fn spawn(&self, words: &str) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub(crate) fn run(&self, words: &str) -> Shown {
        shown(self.command(words).stdin(Stdio::null()))
    }

    /// Runs and insists that it ends well.
    #[track_caller]
    pub(crate) fn ok(&self, words: &str) -> Shown {
        let shown = self.run(words);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown
    }

    pub(crate) fn report(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }
}

/// The program with the jobs; `STREAMS_TEST_JOB` names another one, a release build for example.
pub(crate) fn program() -> PathBuf {
    let other = std::env::var_os("STREAMS_TEST_JOB").map(PathBuf::from);
    other.unwrap_or_else(|| Path::new(env!("CARGO_BIN_EXE_runtime-test-job")).to_owned())
}

pub(crate) fn shown(command: &mut Command) -> Shown {
    let output = command.output().unwrap();
    Shown {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Records of `hosts` hosts, out of order by up to 4.9 s, the same at every call.
pub(crate) fn flows(n: usize, hosts: usize) -> String {
    spaced_flows(n, hosts, |at| at as i64 * 40)
}

/// The same with times of one's own, by the number of the record.
pub(crate) fn spaced_flows(n: usize, hosts: usize, ms_of: impl Fn(usize) -> i64) -> String {
    let mut random = 88_172_645_463_325_252_u64;
    let mut text = String::new();
    for at in 0..n {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (host, back) = (random % hosts as u64, (random >> 20) % 4_900);
        let ms = ms_of(at) - i64::try_from(back).unwrap();
        text.push_str(&format!(
            "{{\"host\":\"h{host}\",\"out_flow\":{},\"at\":{ms}}}\n",
            (random >> 40) % 200
        ));
    }
    text
}

/// Lines in an order that does not depend on who wrote them first.
pub(crate) fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
