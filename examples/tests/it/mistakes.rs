//! What goes wrong for people: bad lines, bad flags, full disks, closed pipes.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::tool::{file_url, log, program, report, rows, run, run_well, stderr};

/// The bundled log with a garbage line in the middle, as line 5,001.
fn log_with_garbage(path: &Path) {
    let text = std::fs::read_to_string(log()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(5_000, "garbage \u{fffd} \"in the middle");
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn a_garbage_line_is_one_dead_letter() {
    let dir = tempfile::tempdir().unwrap();
    let (input, clean, out) = (dir.path().join("in.log"), dir.path().join("clean"), dir.path().join("out"));
    let (dead, report_path) = (dir.path().join("dead"), dir.path().join("r.json"));
    log_with_garbage(&input);
    run_well("access_log", &["run", "--from", &file_url(&log()), "--to", &file_url(&clean)]);
    let from = file_url(&input);
    let to = file_url(&out);
    let dead_url = file_url(&dead);
    let args = ["run", "--from", &from, "--to", &to, "--dead-letter", &dead_url, "--report"];
    run_well("access_log", &[&args[..], &[report_path.to_str().unwrap()]].concat());
    assert_eq!(std::fs::read(&clean).unwrap(), std::fs::read(&out).unwrap());
    let letters = rows(&dead);
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0]["line"], 5_001);
    assert_eq!(letters[0]["raw"], "garbage \u{fffd} \"in the middle");
    assert_eq!(letters[0]["port"], "lines");
    assert!(letters[0]["file"].as_str().unwrap().ends_with("in.log"));
    assert!(letters[0]["error"].as_str().unwrap().contains("no `[` in front of the time"));
    assert_eq!(report(&report_path)["dead_letter"], 1);
    assert_eq!(report(&report_path)["records_in"], 10_001);
}

#[test]
fn on_bad_stop_commits_what_came_before_and_can_be_resumed() {
    for workers in ["1", "2"] {
        let dir = tempfile::tempdir().unwrap();
        let (input, out, clean) =
            (dir.path().join("in.log"), dir.path().join("out"), dir.path().join("clean"));
        let state = dir.path().join("state");
        log_with_garbage(&input);
        run_well("access_log", &["run", "--from", &file_url(&log()), "--to", &file_url(&clean)]);
        let from = file_url(&input);
        let to = file_url(&out);
        let state = state.to_str().unwrap();
        let args =
            ["run", "--from", &from, "--to", &to, "--state", state, "--on-bad", "stop", "--workers", workers];
        let stopped = run("access_log", &args);
        assert_eq!(stopped.status.code(), Some(1), "{}", stderr(&stopped));
        let message = stderr(&stopped);
        assert!(message.contains("in.log") && message.contains("5001"), "{message}");
        assert!(message.contains("no `[` in front of the time"), "{message}");
        // Once more: it stops at the same line and gives nothing twice.
        let before = std::fs::read(&out).unwrap();
        assert!(!before.is_empty());
        assert_eq!(run("access_log", &args).status.code(), Some(1));
        assert_eq!(std::fs::read(&out).unwrap(), before);
        // With another policy it goes on to the end.
        let args =
            ["run", "--from", &from, "--to", &to, "--state", state, "--on-bad", "skip", "--workers", workers];
        run_well("access_log", &args);
        let sorted = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap();
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&out), sorted(&clean));
    }
}

/// The arguments lead to exit code 2 and to one line that says all of `words`.
#[track_caller]
fn check_usage(args: &[&str], words: &[&str]) {
    let output = run("access_log", args);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    let line = message.lines().find(|line| words.iter().all(|word| line.contains(word)));
    assert!(line.is_some(), "{args:?}: no line with {words:?} in:\n{message}");
    assert!(message.lines().count() <= 4, "{args:?}: more than a few lines:\n{message}");
}

#[test]
fn mistakes_on_the_command_line_are_one_clear_line_each() {
    let from = file_url(&log());
    check_usage(&["run", "--from", "file:/no/such/file"], &["/no/such/file"]);
    check_usage(&["run", "--from", &format!("line={from}")], &["line", "lines"]);
    check_usage(&["run", "--from", "kafka:x"], &["kafka", "file:"]);
    check_usage(&["run", "--from", &from, "--slack", "5 parsecs"], &["--slack", "parsecs"]);
    check_usage(&["run", "--from", &from, "--to", "file:/no/such/dir/out"], &["/no/such/dir/out"]);
    check_usage(&["run", "--from", &from, "--slak", "5s"], &["--slak", "--slack"]);
    check_usage(&["run"], &["--from"]);
    check_usage(&["rum", "--from", &from], &["rum", "run"]);
}

#[test]
fn a_full_disk_fails_the_job_and_is_no_loss() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let out = dir.path().join("out");
    // A limit on the size of files stands in for a full disk: writes past it fail in the same way.
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec {} run --from {} --to {} --state {}",
        env!("CARGO_BIN_EXE_access_log"),
        file_url(&log()),
        file_url(&out),
        state.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");

    let clean = dir.path().join("clean");
    run_well("access_log", &["run", "--from", &file_url(&log()), "--to", &file_url(&clean)]);
    let args = ["run", "--from", &file_url(&log()), "--to", &file_url(&out), "--state"];
    run_well("access_log", &[&args[..], &[state.to_str().unwrap()]].concat());
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&clean).unwrap());
}

#[test]
fn a_full_device_is_named() {
    let output = run("access_log", &["run", "--from", &file_url(&log()), "--to", "file:/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/dev/full"), "{}", stderr(&output));
}

#[test]
fn a_closed_pipe_ends_the_job_quietly() {
    let mut child = program("access_log")
        .args(["run", "--from", &file_url(&log())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"host\":"));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(!stderr(&output).to_lowercase().contains("pipe"), "{}", stderr(&output));
}
