//! State larger than memory: results are those of a run that has all of it there.

use std::time::Duration;

use crate::program::{Place, flows};

/// What the run gives at each output.
fn run(place: &Place, inputs: &str, outputs: &[&str], words: &str) -> Vec<String> {
    let to: String = outputs.iter().map(|port| format!(" --to {port}=file:{port}")).collect();
    place.ok(&format!("run {inputs}{to} {words}"));
    let rows = outputs.iter().map(|port| {
        let rows = place.read(port);
        std::fs::remove_file(place.path(port)).unwrap();
        rows
    });
    rows.collect()
}

const SPILLS: &str = "--state s --store rocksdb --memory 8MB";

#[test]
fn results_are_the_same() {
    for (job, inputs, outputs) in [
        ("traffic", "--from file:l", &["traffic"][..]),
        ("sessions", "--from file:l", &["marks", "totals"]),
        ("joined", "--from left=file:l --from right=file:r", &["joined"]),
    ] {
        let place = Place::new(job);
        // Some megabytes, so that memory is given up several times.
        place.write("l", flows(40_000, 700));
        place.write("r", flows(20_000, 900));
        let all = run(&place, inputs, outputs, "");
        assert!(all.iter().any(|rows| rows.lines().count() > 1_000), "{job}");
        assert_eq!(run(&place, inputs, outputs, SPILLS), all, "{job}");
    }
}

#[test]
fn kills_lose_nothing() {
    let place = Place::new("sessions");
    place.write("l", flows(40_000, 700));
    let all = run(&place, "--from file:l", &["marks", "totals"], "");
    let words = format!("run --from file:l --to marks=file:marks --to totals=file:totals {SPILLS}");
    for kill in 0..4 {
        let mut child = place.spawn(&words);
        // Wherever it has come to: the result must hold in every case.
        std::thread::sleep(Duration::from_millis(100 + 150 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.ok(&words);
    assert_eq!([place.read("marks"), place.read("totals")], *all);
}

#[test]
fn what_does_not_go_with_it_is_told() {
    let place = Place::new("sessions");
    place.write("l", "");
    for (words, text) in [
        ("--memory 64", "--memory: `64` is no size; write for example 64MB or 1GB"),
        ("--memory 1MB", "--memory: `1MB` is too little; write 8MB or more"),
        (
            "--memory 64MB --state s",
            "--memory: what does not fit is in a database; add --state DIR --store rocksdb",
        ),
        (
            "--memory 64MB --state s --store rocksdb --workers 2",
            "--memory: the state of one worker can be larger than memory; leave --workers out",
        ),
        (
            "--memory 64MB --state s --store rocksdb --on-bad stop",
            "--memory: --on-bad stop keeps a copy of the state in memory; choose dead-letter or skip",
        ),
    ] {
        let shown = place.run(&format!("run --from file:l {words}"));
        assert_eq!((shown.code, shown.stderr), (Some(2), format!("error: {text}\n")));
    }
}
