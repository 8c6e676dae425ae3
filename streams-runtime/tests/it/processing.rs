//! Jobs in processing time.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::program::{Place, flows};

fn count(row: &str) -> u64 {
    let row: serde_json::Value = serde_json::from_str(row).unwrap();
    row.get("count").and_then(serde_json::Value::as_u64).unwrap()
}

/// A window is over when the clock says so, whether records come in or not.
#[test]
fn windows_fire_by_the_clock() {
    for workers in [1, 2] {
        let place = Place::new("arrivals");
        let words = format!("run --from stdin: --workers {workers}");
        let mut child = place.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut rows = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..3 {
            // What the record says of time is of no interest.
            stdin.write_all(b"{\"host\":\"a\",\"out_flow\":1,\"at\":7}\n").unwrap();
            let mut row = String::new();
            rows.read_line(&mut row).unwrap();
            assert_eq!(count(&row), 1, "{row}");
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

/// Which windows the records come into differs from run to run; that each comes into one does not.
#[test]
fn each_record_is_in_one_window_across_runs_and_kills() {
    for workers in [1, 3] {
        let place = Place::new("arrivals");
        let words = format!(
            "run --from file:in --to file:out --state s --checkpoint-interval 5ms --workers {workers}"
        );
        place.write("in", flows(60_000, 5));
        for kill in 0..3 {
            let mut child = place.spawn(&words);
            // A kill hits wherever the job has come to; the result must hold in every case.
            std::thread::sleep(std::time::Duration::from_millis(60 + 40 * kill));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        place.ok(&words);
        let n: u64 = place.read("out").lines().map(count).sum();
        assert_eq!(n, 60_000, "{workers} workers");
    }
}
