//! `orders` joins the same with any number of threads.

use std::fmt::Write as _;

use crate::small::promised;
use crate::tool::{file_url, run_well};

fn run(folder: &std::path::Path, workers: &str) -> Vec<String> {
    let from = |port: &str| format!("{port}={}", file_url(&folder.join(format!("{port}.jsonl"))));
    let (customers, orders, payments) = (from("customers"), from("orders"), from("payments"));
    let sources = ["--from", &customers, "--from", &orders, "--from", &payments];
    let output = run_well("orders", &[&["run", "--workers", workers][..], &sources].concat());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn orders_prints_what_it_says() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    assert_eq!(run(&data, "1"), promised(include_str!("../../src/bin/orders.rs")));
}

/// Many orders, of which some are not paid, some in parts and some too late. What each still costs does not depend
/// on how the files are interleaved, and no customer changes, so the rows are known.
#[test]
fn several_workers_join_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (mut customers, mut orders, mut payments) = (String::new(), String::new(), String::new());
    let mut expected = Vec::new();
    for id in 0..3_000_u64 {
        let at = 1_700_000_000_000 + id * 1_000;
        let _ = writeln!(orders, r#"{{"id":{id},"customer":{},"cents":100,"at":{at}}}"#, id % 50);
        // In parts of an hour; what comes a ms behind it does not count.
        let times: &[u64] = match id % 5 {
            0 => &[],
            1 => &[0],
            2 => &[3_600_000],
            3 => &[3_600_001],
            _ => &[5_000, 5_000],
        };
        for later in times {
            let _ = writeln!(payments, r#"{{"order":{id},"cents":60,"at":{}}}"#, at + later);
        }
        let open: &[u64] = match id % 5 {
            0 | 3 => &[100],
            1 | 2 => &[40],
            _ => &[40, 40],
        };
        expected
            .extend(open.iter().map(|open| format!(r#"{{"order":{id},"name":null,"open_cents":{open}}}"#)));
    }
    let mut lines: Vec<&str> = payments.lines().collect();
    lines.sort_by_key(|line| line.rsplit(':').next().map(str::to_owned));
    payments = lines.join("\n") + "\n";
    let _ = writeln!(customers, r#"{{"id":999,"name":"Nobody","gone":false,"at":1800000000000}}"#);
    for (name, text) in [("customers", &customers), ("orders", &orders), ("payments", &payments)] {
        std::fs::write(folder.path().join(format!("{name}.jsonl")), text).unwrap();
    }
    expected.sort();
    for workers in ["1", "2", "3"] {
        let mut found = run(folder.path(), workers);
        found.sort();
        assert!(found == expected, "{workers} workers: {} rows for {}", found.len(), expected.len());
    }
}
