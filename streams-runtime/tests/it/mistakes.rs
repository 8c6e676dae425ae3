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
