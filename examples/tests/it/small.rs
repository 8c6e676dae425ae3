//! `traffic` and `dag` print what their files say.

use crate::tool::{file_url, rows, run_well};

fn flows() -> String {
    format!("file:{}/data/flows.jsonl", env!("CARGO_MANIFEST_DIR"))
}

/// The lines of the ```` ```text ```` block behind "prints" in an example's own header.
pub(crate) fn promised(source: &str) -> Vec<String> {
    let behind = source.split_once("//! prints").unwrap().1;
    let block = behind.split_once("```text").unwrap().1.split_once("```").unwrap().0;
    let lines = block.lines().map(|line| line.trim_start_matches("//!").trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn traffic_prints_what_it_says() {
    let output = run_well("traffic", &["run", "--from", &flows()]);
    let found: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(found, promised(include_str!("../../src/bin/traffic.rs")));
}

#[test]
fn dag_prints_what_it_says_and_keeps_late_records() {
    let dir = tempfile::tempdir().unwrap();
    let late = dir.path().join("late.jsonl");
    let to = format!("late={}", file_url(&late));
    let output =
        run_well("dag", &["run", "--from", &flows(), "--slack", "2s", "--to", "totals=print:", "--to", &to]);
    let found: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(found, promised(include_str!("../../src/bin/dag.rs")));
    let late: Vec<_> = rows(&late).iter().map(|row| row["at"].as_i64().unwrap()).collect();
    assert_eq!(late, [1_700_000_009_900, 1_700_000_011_000]);
}

/// The README shows the first rows and the result of its own job.
#[test]
fn the_readme_shows_what_is_printed() {
    let readme = include_str!("../../../README.md");
    let output = run_well("access_log", &["run", "--from", &file_url(&crate::tool::log())]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let block = readme.split_once("## See it run").unwrap().1.split_once("```text\n").unwrap().1;
    let shown: Vec<_> = block.lines().take_while(|line| line.starts_with('{')).collect();
    assert_eq!(shown.len(), 2);
    assert_eq!(printed.lines().take(2).collect::<Vec<_>>(), shown);
}
