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
    assert!(
        shown.stderr.contains("out has 8 bytes, and the state has not written to it; move the file away"),
        "{shown:?}"
    );
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
        // A finished job with nothing to do is looked at as closely as one that goes on.
        let shown = place.run(&format!("run --from file:in.jsonl --to {other} --state st"));
        assert_eq!(shown.code, Some(2), "{other}: {shown:?}");
        assert!(shown.stderr.contains("the state has written file:/"), "{other}: {shown:?}");
    }
    assert!(!place.path("other").exists());
    let whole = place.read("out");
    std::fs::remove_file(place.path("out")).unwrap();
    let shown = place.run("run --from file:in.jsonl --to file:out --state st");
    assert_eq!(shown.code, Some(1), "{shown:?}");
    let expect = format!("out is missing, and the state has committed {} bytes of it", whole.len());
    assert!(shown.stderr.contains(&expect), "{shown:?}");
    assert!(!place.path("out").exists(), "nothing is created for a complaint");
    std::fs::write(place.path("out"), "short").unwrap();
    let shown = place.run("run --from file:in.jsonl --to file:out --state st");
    assert_eq!(shown.code, Some(1));
    assert!(shown.stderr.contains("out has 5 bytes, but the state has committed"), "{shown:?}");
}

#[test]
fn a_full_device_is_told() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(20_000, 50));
    let shown = place.run("run --from file:in.jsonl --to file:/dev/full --report r");
    assert_eq!(place.report("r")["records_out"], 0, "nothing was written");
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

#[test]
fn a_link_to_a_file_that_is_not_there_yet() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100, 3));
    std::fs::create_dir(place.path("deep")).unwrap();
    std::os::unix::fs::symlink("deep/out", place.path("link")).unwrap();
    place.ok("run --from file:in.jsonl --to file:link --state st");
    place.ok("run --from file:in.jsonl --to file:plain");
    assert_eq!(place.read("deep/out"), place.read("plain"));
    assert!(place.path("link").is_symlink());
}

#[test]
fn a_closed_standard_output_is_told() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(100, 3));
    let run = |redirection: &str| {
        let line = format!("{} run --from file:in.jsonl {redirection}", program().display());
        shown(Command::new("bash").args(["-c", &line]).current_dir(place.dir.path()))
    };
    let closed = run(">&-");
    assert_eq!(closed.code, Some(2), "{closed:?}");
    assert!(closed.stderr.contains("standard output is closed; write --to file:PATH"), "{closed:?}");
    assert_eq!(run("> /dev/null").code, Some(0));
    assert_eq!(run(">&- --to file:out").code, Some(0));
}

#[test]
fn a_failure_tells_what_stands() {
    let place = Place::new("strict");
    let row =
        |host: &str, flow: u64, at: i64| format!("{{\"host\":\"{host}\",\"out_flow\":{flow},\"at\":{at}}}\n");
    // The panic comes in the third batch; results of the first two have been gathered.
    let good: String = (0..2_048).map(|at| row("a", 1, at * 100)).collect();
    place.write("in.jsonl", good + &row("panic", 1, 300_000));
    let run = "run --from file:in.jsonl --to file:out --report r";
    let shown = place.run(run);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    let rows = place.read("out").lines().count();
    assert!(rows > 0);
    assert_eq!(place.report("r")["records_out"], rows);
    std::fs::remove_file(place.path("out")).unwrap();
    assert_eq!(place.run(&format!("{run} --state st --checkpoint-interval 1h")).code, Some(1));
    // The state stands at the beginning, and so do the numbers.
    assert_eq!(place.report("r")["records_out"], 0);
    assert_eq!(place.report("r")["records_in"], 0);
}
