//! What happens to outputs: overwriting, refusing, full disks, readers that go away.

use crate::program::{Place, flows, program, shown};
use std::process::{Command, Stdio};

#[test]
fn overwritten_without_a_state_guarded_with_one() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100, 3));
    place.write("out", "precious");
    let shown = place.run("run --from file:in.jsonl --to file:out --state st");
    assert_eq!(shown.code, Some(2), "{shown:?}");
    assert!(shown.stderr.contains("out has 8 bytes, and the state is new; move the file away"), "{shown:?}");
    assert_eq!(place.read("out"), "precious");
    place.ok("run --from file:in.jsonl --to file:out");
    assert!(place.read("out").starts_with("{\"host\""));
}

#[test]
fn another_output_is_refused() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100, 3));
    place.ok("run --from file:in.jsonl --to file:out --state st");
    for other in ["file:other", "print:", "file:out?format=csv"] {
        // A finished job is looked at as closely as a running one.
        place.write("in.jsonl", flows(200, 3));
        let shown = place.run(&format!("run --from file:in.jsonl --to {other} --state st"));
        assert_eq!(shown.code, Some(2), "{other}: {shown:?}");
        assert!(shown.stderr.contains("the state has written file:/"), "{other}: {shown:?}");
    }
    std::fs::write(place.path("out"), "short").unwrap();
    let shown = place.run("run --from file:in.jsonl --to file:out --state st");
    assert_eq!(shown.code, Some(1));
    assert!(shown.stderr.contains("out has 5 bytes, but the state has committed"), "{shown:?}");
}

#[test]
fn a_full_device_is_told() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(20_000, 50));
    let shown = place.run("run --from file:in.jsonl --to file:/dev/full");
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(
        shown.stderr.contains("cannot write /dev/full (port `traffic`): No space left on device (os error 28); run it again once there is room"),
        "{shown:?}"
    );
}

#[test]
fn a_full_disk_is_resumed() {
    for workers in ["1", "2"] {
        let place = Place::new("traffic");
        place.write("in.jsonl", flows(150_000, 400));
        place.ok(&format!("run --from file:in.jsonl --to file:whole --workers {workers}"));
        let run = format!(
            "run --from file:in.jsonl --to file:out --checkpoint-interval 5ms --state st --workers {workers}"
        );
        // A limit on the size of files is what a full disk looks like without one at hand. 2 MiB hold the
        // state, but not the output.
        let limited = format!("trap '' XFSZ; ulimit -f 2048; exec {} {run}", program().display());
        let full = shown(
            Command::new("bash")
                .args(["-c", &limited])
                .current_dir(place.dir.path())
                .env("TEST_JOB", "traffic"),
        );
        assert_eq!(full.code, Some(1), "{full:?}");
        assert!(
            full.stderr.contains("can be resumed with --state st once there is room")
                || full.stderr.contains("the last checkpoint stands"),
            "{full:?}"
        );
        place.ok(&run);
        assert!(place.read("out") == place.read("whole"), "{workers} workers: the output differs");
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100_000, 500));
    for workers in ["1", "2"] {
        let line = format!(
            "{} run --from file:in.jsonl --workers {workers} | head -1; echo ${{PIPESTATUS[0]}}",
            program().display()
        );
        let shown = shown(
            Command::new("bash").args(["-c", &line]).current_dir(place.dir.path()).stdin(Stdio::null()),
        );
        assert_eq!(shown.stderr, "", "quiet");
        let lines: Vec<&str> = shown.stdout.lines().collect();
        assert_eq!((lines.len(), lines[1]), (2, "0"), "{shown:?}");
    }
}
