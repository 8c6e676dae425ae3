//! Mistakes of people: one clear line each, exit code 2, nothing has run.

use crate::program::Place;

#[track_caller]
fn check(words: &str, expect: &str) {
    let place = Place::new("traffic");
    place.write("in.jsonl", "");
    let shown = place.run(words);
    assert_eq!(shown.stderr, expect);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(2), ""));
    let left: Vec<_> =
        std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["in.jsonl"], "nothing is left behind");
}

#[test]
fn each_gets_its_line() {
    check(
        "run --from file:none.jsonl",
        "error: --from: cannot read none.jsonl (port `flows`): there is no such file\n",
    );
    check(
        "run --from flow=file:in.jsonl",
        "error: --from flow=file:in.jsonl: unknown input port `flow`; did you mean `flows`?\n",
    );
    check(
        "run --from flie:in.jsonl",
        "error: --from: unknown URL scheme `flie:` in `flie:in.jsonl`; did you mean `file:`?\n",
    );
    check(
        "run --from file:in.jsonl --slack 5x",
        "error: --slack: `5x` is no duration: `x` is no unit; units are ms, s, m, h, d; write for example `250ms`, `5s`, `10m`, `1h30m`\n",
    );
    check(
        "run --from file:in.jsonl --to file:no/out",
        "error: --to: cannot write no/out: there is no directory no; create it first\n",
    );
    check(
        "run",
        "error: --from: input port `flows` is not bound; for example: runtime-test-job run --from file:flows.jsonl\n",
    );
    check(
        "run --from file:in.jsonl --to file:in.jsonl",
        "error: --to: in.jsonl already is read by port `flows`; give each its own file\n",
    );
}

#[test]
fn all_at_once() {
    let shown = Place::new("traffic").run("run --from file:none --slack x --to ftp:y --worker 3");
    assert_eq!(shown.stderr.lines().count(), 4, "{}", shown.stderr);
    assert_eq!(shown.code, Some(2));
}

#[test]
fn environment() {
    let place = Place::new("traffic");
    place.write("in.jsonl", "");
    let shown = crate::program::shown(place.command("run --from file:in.jsonl").env("TRAFFIC_SLACK", "x"));
    assert!(shown.stderr.starts_with("error: TRAFFIC_SLACK: `x` is no duration"), "{shown:?}");
    let text: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"\xff".to_vec());
    let shown = crate::program::shown(place.command("run --from file:in.jsonl").env("TRAFFIC_SLACK", text));
    assert_eq!(
        (shown.code, shown.stderr.as_str()),
        (Some(2), "error: TRAFFIC_SLACK: the value is not UTF-8\n")
    );
    let both =
        crate::program::shown(place.command("run --from file:in.jsonl --slack 1s").env("TRAFFIC_SLACK", "x"));
    assert_eq!(both.code, Some(0), "the flag wins: {both:?}");
}

#[test]
fn help_and_version() {
    let place = Place::new("traffic");
    let help = place.ok("--help");
    assert!(help.stdout.contains("--slack DURATION") && help.stdout.contains("TRAFFIC_SLACK"), "{help:?}");
    assert_eq!(help.stderr, "");
    assert!(place.ok("--version").stdout.starts_with("traffic (streams-runtime "));
    assert!(place.ok("topology").stdout.contains("stage 2"));
}

#[test]
fn one_file_under_two_names() {
    let place = Place::new("traffic");
    place.write("in.jsonl", "precious\n");
    std::fs::hard_link(place.path("in.jsonl"), place.path("hard")).unwrap();
    std::os::unix::fs::symlink("in.jsonl", place.path("soft")).unwrap();
    std::os::unix::fs::symlink("new", place.path("one")).unwrap();
    for (words, told) in [
        ("--to file:hard", "error: --to: hard already is read by port `flows`; give each its own file\n"),
        ("--to file:soft", "error: --to: soft already is read by port `flows`; give each its own file\n"),
        (
            "--to file:one --dead-letter file:new",
            "error: --dead-letter: new already is written by port `traffic`; give each its own file\n",
        ),
    ] {
        let shown = place.run(&format!("run --from file:in.jsonl {words}"));
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(2), told));
    }
    assert_eq!(place.read("in.jsonl"), "precious\n");
}

#[test]
fn the_state_directory_is_the_stores() {
    let place = Place::new("traffic");
    place.write("in.jsonl", "");
    let run = "run --from file:in.jsonl --to file:out --state st";
    for exists in [false, true] {
        for (flag, value) in [("--report", "st/state.redb"), ("--dead-letter", "file:st/../st/x")] {
            let shown = place.run(&format!("{run} {flag} {value}"));
            assert_eq!(shown.code, Some(2), "{shown:?}");
            // A directory that is not there leads nowhere, neither up nor down.
            if exists || !value.contains("..") {
                let told = format!(
                    "error: {flag}: {} lies in the state directory st, which only the store writes to; give another place\n",
                    value.trim_start_matches("file:")
                );
                assert_eq!(shown.stderr, told);
            }
        }
        place.ok(&format!("{run} --report file:r.json"));
        assert_eq!(place.report("r.json")["records_in"], 0);
    }
}
