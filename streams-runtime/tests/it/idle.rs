//! Inputs that are quiet for a while.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::program::Place;

fn flow(at: i64) -> String {
    format!("{{\"host\":\"a\",\"out_flow\":1,\"at\":{at}}}\n")
}

fn total(from: i64, count: u64) -> String {
    format!("{{\"host\":\"a\",\"from\":{from},\"total\":{count},\"count\":{count}}}\n")
}

#[test]
fn a_quiet_input_holds_nothing_back() {
    for workers in [1, 2, 3] {
        let place = Place::new("joined");
        assert!(Command::new("mkfifo").arg(place.path("left")).status().unwrap().success());
        let words = format!(
            "run --from left=file:left?format=json --from right=stdin: --idle-after left=200ms --workers {workers} --report report"
        );
        let mut child = place.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut left = OpenOptions::new().write(true).open(place.path("left")).unwrap();
        let mut right = child.stdin.take().unwrap();
        let mut rows = BufReader::new(child.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            rows.read_line(&mut line).unwrap();
            line
        };
        for at in [1_000, 2_000, 12_000, 30_000] {
            right.write_all(flow(at).as_bytes()).unwrap();
        }
        // The left input has never said anything.
        assert_eq!(next(), total(0, 2), "{workers} workers");
        assert_eq!(next(), total(10_000, 1));
        // What comes when it is back counts, whichever of the two is read first; and what was passed by is late.
        left.write_all(flow(65_000).as_bytes()).unwrap();
        right.write_all(flow(70_000).as_bytes()).unwrap();
        assert_eq!(next(), total(30_000, 1));
        left.write_all(flow(1_000).as_bytes()).unwrap();
        drop((left, right));
        assert_eq!(next(), total(60_000, 1));
        assert_eq!(next(), total(70_000, 1));
        assert!(child.wait().unwrap().success());
        let report = place.report("report");
        assert_eq!((&report["late"], &report["records_in"]), (&1.into(), &7.into()), "{report}");
    }
}

#[test]
fn what_cannot_be_idle_is_told() {
    let place = Place::new("joined");
    place.write("l", "");
    place.write("r", "");
    let run = |words: &str| place.run(&format!("run --from left=file:l --from right=file:r {words}"));
    let told = [
        (
            "--idle-after 30s",
            "--idle-after 30s: all inputs are files, which end and are never idle; leave it out",
        ),
        (
            "--idle-after left=30s",
            "--idle-after left=30s: port `left` reads a file, which ends and is never idle; leave it out",
        ),
        ("--idle-after lfet=30s", "--idle-after lfet=30s: unknown input port `lfet`; did you mean `left`?"),
        ("--idle-after 0s", "--idle-after 0s: every input would be idle at once; write for example 30s"),
        (
            "--idle-after 5",
            "--idle-after: `5` is no duration: the unit is missing; write for example `250ms`, `5s`, `10m`, `1h30m`",
        ),
    ];
    for (words, text) in told {
        let shown = run(words);
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(2), format!("error: {text}\n").as_str()));
    }
}
