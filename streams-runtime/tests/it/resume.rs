//! States: kills, signals, files that grow or change, jobs that differ.

use std::io::Write as _;
use std::time::Duration;

use crate::program::{Place, flows};

fn append(place: &Place, name: &str, text: &str) {
    std::fs::OpenOptions::new()
        .append(true)
        .open(place.path(name))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Inputs must last long enough to be killed in.
const SCALE: usize = if cfg!(debug_assertions) { 1 } else { 8 };

/// Kills the run again and again, each time after the file `out` has grown beyond what any run before had
/// written and some arbitrary milliseconds more, until `kills` have hit it at work; then lets it finish.
fn kill_and_finish(place: &Place, run: &str, out: &str, whole: &str, kills: u64) {
    let length = |name: &str| std::fs::metadata(place.path(name)).map_or(0, |file| file.len());
    let step = length(whole) / (kills + 4);
    let (mut hits, mut reached) = (0, 0);
    for attempt in 0..kills * 10 {
        if hits == kills {
            break;
        }
        let mut child = place.spawn(run);
        // Some kills come before there is anything to see.
        if attempt % 4 == 3 {
            std::thread::sleep(Duration::from_millis(attempt % 40));
        } else {
            while child.try_wait().unwrap().is_none() && length(out) <= reached + step {
                std::thread::sleep(Duration::from_micros(300));
            }
            std::thread::sleep(Duration::from_micros(attempt * 7_919 % 4_000));
        }
        if child.try_wait().unwrap().is_some() {
            // A fast machine may be through early; half of the kills show as much.
            assert!(hits * 2 >= kills, "the input is too small: only {hits} of {kills} kills have hit");
            return;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if length(out) > reached + step {
            hits += 1;
            reached = length(out);
        }
    }
    assert_eq!(hits, kills);
    place.ok(run);
}

#[test]
fn kill_nine() {
    for workers in [1, 2] {
        let place = Place::new("traffic");
        // Every tenth record or so is broken.
        let bad = flows(120_000 * SCALE, 300).replace(
            "5}
", "5
",
        );
        place.write("in.jsonl", bad);
        place.ok(&format!("run --from file:in.jsonl --to file:whole --dead-letter file:whole.dl --report whole.json --slack 1s --workers {workers}"));
        let run = format!(
            "run --from file:in.jsonl --to file:out --dead-letter file:dl --report out.json --state st --slack 1s --checkpoint-interval 5ms --workers {workers}"
        );
        kill_and_finish(&place, &run, "out", "whole", 8);
        assert!(place.read("out") == place.read("whole"), "{workers} workers: the output differs");
        assert!(place.read("dl") == place.read("whole.dl"), "{workers} workers: the dead letters differ");
        let (out, whole) = (place.report("out.json"), place.report("whole.json"));
        for counter in ["records_in", "records_out", "late", "dead_letter"] {
            assert_eq!(out[counter], whole[counter], "{workers} workers: {counter}");
        }
    }
}

#[test]
fn kill_nine_with_two_inputs() {
    for workers in [1, 2] {
        let place = Place::new("pair");
        place.write("l.jsonl", flows(50_000 * SCALE, 30));
        place.write("r.jsonl", flows(20_000 * SCALE, 40));
        let run = format!("run --from left=file:l.jsonl --from right=file:r.jsonl --workers {workers}");
        place.ok(&format!("{run} --to large=file:whole.l --to totals=file:whole.t.csv"));
        let to = "--to large=file:out.l --to totals=file:out.t.csv --state st --checkpoint-interval 5ms";
        kill_and_finish(&place, &format!("{run} {to}"), "out.l", "whole.l", 5);
        assert!(place.read("out.l") == place.read("whole.l"), "{workers} workers: large differs");
        assert!(place.read("out.t.csv") == place.read("whole.t.csv"), "{workers} workers: totals differ");
    }
}

#[test]
fn a_finished_job_does_nothing() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(1_000, 5));
    let run = "run --from file:in.jsonl --to file:out --state st --report r.json";
    place.ok(run);
    let (out, report) = (place.read("out"), place.report("r.json"));
    let shown = place.ok(run);
    assert!(shown.stderr.contains("nothing to do"), "{shown:?}");
    assert_eq!(place.read("out"), out);
    assert_eq!(place.report("r.json")["records_in"], report["records_in"]);
}

#[test]
fn a_grown_file_goes_on() {
    for workers in [1, 2] {
        let place = Place::new("traffic");
        let row = |at: i64| format!("{{\"host\":\"a\",\"out_flow\":5,\"at\":{at}}}\n");
        place.write("in.jsonl", row(1_000) + &row(21_000));
        let run =
            format!("run --from file:in.jsonl --to file:out --state st --report r.json --workers {workers}");
        place.ok(&run);
        // 17,000 is within the slack of 21,000, 1,500 is not: the end of the input has not moved event time.
        append(&place, "in.jsonl", &(row(1_500) + &row(17_000)));
        let shown = place.ok(&run);
        assert!(shown.stderr.contains("in.jsonl has grown since the end of an earlier run"), "{shown:?}");
        let rows = ["0", "20000", "10000"]
            .map(|from| format!("{{\"host\":\"a\",\"from\":{from},\"total\":5,\"count\":1}}\n"));
        assert_eq!(place.read("out"), rows.concat());
        assert_eq!(place.report("r.json")["late"], 1);
        assert_eq!(place.report("r.json")["records_in"], 4);
    }
}

#[test]
fn other_bytes_are_refused() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(1_000, 5));
    let run = "run --from file:in.jsonl --to file:out --state st";
    place.ok(run);
    place.write("in.jsonl", flows(500, 5));
    let shown = place.run(run);
    assert_eq!(shown.code, Some(1));
    assert!(shown.stderr.contains("but the state has read"), "{shown:?}");
    place.write("in.jsonl", flows(2_000, 7));
    let shown = place.run(run);
    assert_eq!(shown.code, Some(1));
    assert!(shown.stderr.contains("is not what the state has read"), "{shown:?}");
}

#[test]
fn another_header_is_refused() {
    let place = Place::new("traffic");
    // So many rows that the header lies in front of the bytes that are looked at again.
    let rows = "a,5,1\n".repeat(2_000);
    place.write("in.csv", format!("host,out_flow,at\n{rows}"));
    place.ok("run --from file:in.csv --to file:out --state st");
    place.write("in.csv", format!("host,at,out_flow\n{rows}a,6,2\n"));
    let shown = place.run("run --from file:in.csv --to file:out --state st");
    assert_eq!(shown.code, Some(1));
    assert!(
        shown
            .stderr
            .contains("has another header line than the state has read: `host,at,out_flow` instead of"),
        "{shown:?}"
    );
}

#[test]
fn other_shapes_and_worker_counts_are_refused() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100, 5));
    let run = "run --from file:in.jsonl --to file:out --state st";
    place.ok(run);
    let shown = place.run(&format!("{run} --workers 2"));
    assert_eq!(shown.code, Some(2));
    assert!(shown.stderr.contains("run with --workers 1"), "{shown:?}");
    let other = crate::program::shown(
        place.command("run --from file:in.jsonl --to file:out --state st").env("TEST_JOB", "echo"),
    );
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("the state belongs to the job `traffic`, not to `echo`"), "{other:?}");
}

#[test]
fn signals_end_it_in_order() {
    for (workers, signal) in [(1, "INT"), (2, "TERM")] {
        let place = Place::new("traffic");
        place.write("in.jsonl", flows(150_000 * SCALE, 300));
        place.ok(&format!("run --from file:in.jsonl --to file:whole --workers {workers}"));
        let run =
            format!("run --from file:in.jsonl --to file:out --state st --report r.json --workers {workers}");
        let mut interrupted = 0;
        for attempt in 0..200 {
            let mut child = place.command(&run).stderr(std::process::Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(30 + attempt));
            let _ = std::process::Command::new("kill")
                .args([&format!("-{signal}"), &child.id().to_string()])
                .status();
            let mut stderr = String::new();
            std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut stderr).unwrap();
            let status = child.wait().unwrap();
            if status.code().is_none() {
                // It had not begun to listen yet.
                continue;
            }
            assert!(status.success(), "{stderr}");
            if !stderr.contains("stopped by a signal; run it again with --state st to go on") {
                break;
            }
            interrupted += 1;
            assert_eq!(place.report("r.json")["outcome"], "interrupted");
        }
        assert!(interrupted > 0, "the input is too small to be interrupted");
        place.ok(&run);
        assert!(place.read("out") == place.read("whole"), "{workers} workers: the output differs");
    }
}

#[test]
fn an_output_that_is_new_to_a_state_survives_a_kill() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100, 5));
    let run = "run --from file:in.jsonl --to file:out --state st --checkpoint-interval 1h";
    place.ok(run);
    append(&place, "in.jsonl", &flows(60_000, 5).replace("5}\n", "5\n"));
    let run = format!("{run} --dead-letter file:letters");
    let mut child = place.spawn(&run);
    while std::fs::metadata(place.path("letters")).map_or(0, |file| file.len()) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the input is too small to be killed in");
        std::thread::sleep(Duration::from_micros(300));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    place.ok(&run);
    place.write(
        "rest.jsonl",
        place.read("in.jsonl").lines().skip(100).fold(String::new(), |all, line| all + line + "\n"),
    );
    place.ok("run --from file:rest.jsonl --to file:rest --dead-letter file:rest.letters");
    assert_eq!(place.read("letters").lines().count(), place.read("rest.letters").lines().count());
}
