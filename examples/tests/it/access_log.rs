//! `access_log` over the bundled log: the numbers that were counted independently, in order, with one worker
//! and with several.

use std::collections::BTreeSet;

use crate::tool::{file_url, log, report, rows, run_well, total};

/// Rows, hits, bytes, errors and late records for one setting of `--slack`.
#[track_caller]
fn check(slack: &str, workers: &str, expect: (usize, u64, u64, u64, u64)) {
    let dir = tempfile::tempdir().unwrap();
    let (out, report_path) = (dir.path().join("out.jsonl"), dir.path().join("r.json"));
    let (from, to) = (file_url(&log()), file_url(&out));
    let args = ["run", "--from", &from, "--to", &to, "--slack", slack, "--workers", workers, "--report"];
    run_well("access_log", &[&args[..], &[report_path.to_str().unwrap()]].concat());
    let rows = rows(&out);
    let report = report(&report_path);
    let late = report["late"].as_u64().unwrap();
    let found = (rows.len(), total(&rows, "hits"), total(&rows, "bytes"), total(&rows, "errors"), late);
    assert_eq!(found, expect);
    assert_eq!(report["records_in"], 10_000);
    assert_eq!(report["records_out"], rows.len());
    assert_eq!(report["dead_letter"], 0);

    let order: Vec<_> =
        rows.iter().map(|row| (row["from"].as_i64().unwrap(), row["host"].as_str().unwrap())).collect();
    if workers == "1" {
        assert!(order.is_sorted(), "rows come in the order of their windows, then of their hosts");
    }
    let different: BTreeSet<_> = order.iter().collect();
    assert_eq!(different.len(), order.len(), "there is one row per window and host");
}

#[test]
fn everything_in_time() {
    check("60s", "1", (6_237, 10_000, 2_747_282_740, 220, 0));
}

#[test]
fn some_too_late() {
    check("30s", "1", (4_328, 6_864, 2_099_317_780, 149, 3_136));
    check("5s", "1", (1_297, 1_966, 583_238_399, 46, 8_034));
}

#[test]
fn workers_share_the_work_and_change_nothing() {
    check("60s", "2", (6_237, 10_000, 2_747_282_740, 220, 0));
    check("30s", "2", (4_328, 6_864, 2_099_317_780, 149, 3_136));
    check("5s", "3", (1_297, 1_966, 583_238_399, 46, 8_034));
}

#[test]
fn workers_give_the_same_rows() {
    let dir = tempfile::tempdir().unwrap();
    let from = file_url(&log());
    let mut results = Vec::new();
    for (index, workers) in ["1", "2", "2", "3"].into_iter().enumerate() {
        let out = dir.path().join(format!("{index}.jsonl"));
        let to = file_url(&out);
        run_well("access_log", &["run", "--from", &from, "--to", &to, "--slack", "5s", "--workers", workers]);
        results.push(std::fs::read_to_string(out).unwrap());
    }
    assert_eq!(results[1], results[2], "the same number of workers gives the same bytes");
    let set = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(set(&results[0]), set(&results[1]));
    assert_eq!(set(&results[0]), set(&results[3]));
}
