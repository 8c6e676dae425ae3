//! Starting the built programs and reading what they leave behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The bundled log.
pub(crate) fn log() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/access.log")
}

/// The program of an example, ready for arguments, without anything on standard input.
pub(crate) fn program(name: &str) -> Command {
    let path = match name {
        "access_log" => env!("CARGO_BIN_EXE_access_log"),
        "traffic" => env!("CARGO_BIN_EXE_traffic"),
        "orders" => env!("CARGO_BIN_EXE_orders"),
        "dag" => env!("CARGO_BIN_EXE_dag"),
        _ => panic!("no example `{name}`"),
    };
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    command
}

/// Runs to the end.
pub(crate) fn run(name: &str, args: &[&str]) -> Output {
    program(name).args(args).output().unwrap()
}

/// Runs to the end, which must be a good one.
#[track_caller]
pub(crate) fn run_well(name: &str, args: &[&str]) -> Output {
    let output = run(name, args);
    assert!(output.status.success(), "{args:?} ended with {}:\n{}", output.status, stderr(&output));
    output
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `file:PATH`.
pub(crate) fn file_url(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// The rows of a JSON lines file.
pub(crate) fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The report of a run.
pub(crate) fn report(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The sum of a field over rows.
pub(crate) fn total(rows: &[Value], field: &str) -> u64 {
    rows.iter().map(|row| row[field].as_u64().unwrap()).sum()
}
