//! `state` and `offsets`: what a person finds out about a state on files, carries away, brings in, and sets back.

use crate::program::{Place, Shown, flows};

/// The stores that this program has.
fn stores() -> Vec<&'static str> {
    if cfg!(feature = "rocksdb") { vec!["redb", "rocksdb"] } else { vec!["redb"] }
}

const RUN: &str = "run --from file:in.jsonl --to file:out --on-bad stop";

/// A state in the middle of a file: the run stops at a bad record, so that its windows are open.
fn stopped(job: &'static str, store: &str, workers: usize) -> Place {
    let place = Place::new(job);
    let (before, behind) = (flows(2_000, 20), flows(4_000, 20));
    let behind = behind.get(before.len()..).unwrap();
    place.write("in.jsonl", format!("{before}{{\n{behind}"));
    let shown = place.run(&format!("{RUN} --state st --store {store} --workers {workers}"));
    assert_eq!(shown.code, Some(1), "{shown:?}");
    // Corrected.
    place.write("in.jsonl", format!("{before}\n{behind}"));
    place
}

#[track_caller]
fn refused(shown: &Shown, code: i32, expect: &str) {
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(code), ""), "{shown:?}");
    assert!(shown.stderr.starts_with("error: ") && shown.stderr.contains(expect), "{shown:?}");
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// The flows of one key that are in the state: how many, and what they sent.
fn expected(host: &str, parity: u64) -> (u64, u64) {
    #[derive(serde::Deserialize)]
    struct Sent {
        host: String,
        out_flow: u64,
    }
    let text = flows(2_000, 20);
    let records = text.lines().map(|line| serde_json::from_str::<Sent>(line).unwrap());
    let of_key = records.filter(|sent| sent.host == host && sent.out_flow % 2 == parity);
    of_key.fold((0, 0), |(n, sum), sent| (n + 1, sum + sent.out_flow))
}

#[test]
fn a_state_is_listed() {
    for store in stores() {
        for workers in [1, 2] {
            let place = stopped("sums", store, workers);
            let shown = place.ok("state ls --state st").stdout;
            assert!(shown.starts_with(&format!("job `sums` in st ({store}): checkpoint ")), "{shown}");
            assert!(shown.contains(", committed ") && shown.contains(" ago\n"), "{shown}");
            assert!(shown.contains("flows  ") && shown.contains("line 2,001"), "{shown}");
            let listing = json(&place.ok("state ls --state st --format json").stdout);
            assert_eq!(listing["inputs"][0]["line"], 2_001);
            let operators = listing["operators"].as_array().unwrap();
            let sums: Vec<_> = operators.iter().filter(|operator| operator["operator"] == "sums").collect();
            assert_eq!(sums.len(), workers, "{listing}");
            let rows: u64 = sums.iter().map(|operator| operator["rows"].as_u64().unwrap()).sum();
            assert_eq!(rows, 40, "20 hosts, odd and even: {listing}");
            assert!(sums.iter().all(|operator| operator["kind"] == "aggregate" && operator["bytes"] != 0));
        }
    }
}

#[test]
fn a_key_is_shown() {
    for store in stores() {
        for workers in [1, 2] {
            let place = stopped("sums", store, workers);
            for (host, parity) in [("h3", 0), ("h3", 1), ("h17", 1)] {
                let mut get = place.command("state get --state st sums");
                let shown = crate::program::shown(get.arg(format!("[\"{host}\",{parity}]")));
                let row = json(&shown.stdout);
                let (n, sum) = expected(host, parity);
                assert_eq!(row["value"]["state"], serde_json::json!([sum, n]), "{shown:?}");
                assert_eq!(row["key"], serde_json::json!([host, parity]));
            }
            let place = stopped("traffic", store, workers);
            let shown = place.ok("state get aggregate h3 --state st").stdout;
            for line in shown.lines() {
                let row = json(line);
                assert!(row["key"] == "h3" && row["from"].as_i64().unwrap() % 10_000 == 0, "{shown}");
            }
            assert!(shown.lines().count() >= 1, "a window is open");
        }
    }
}

#[test]
fn what_cannot_be_shown_is_told() {
    let place = stopped("sums", "redb", 1);
    let state = |words: &str| place.run(&format!("state {words}"));
    refused(
        &state("get sums h3 --state st"),
        2,
        "`h3` is no key of `sums`, whose keys are of type (String, u64)",
    );
    refused(&state("get sum h3 --state st"), 2, "unknown operator `sum`; did you mean `sums`?");
    refused(&state("get event_time h3 --state st"), 2, "operator `event_time` keeps no rows by key");
    refused(&state("get sums [\"h99\",1] --state st"), 1, "keeps nothing of the key `[\"h99\",1]`");
    refused(&state("get sums --state st"), 2, "write `runtime-test-job state get OPERATOR KEY`");
    refused(&state("ls"), 2, "say where the state lies: --state DIR, or --remote");
    refused(&state("ls --state sT"), 2, "there is no directory sT; give the one that `run --state` had");
    refused(&state("ls --state ."), 2, "there is no state in .; give the directory that `run --state` had");
    refused(&state("ls --state in.jsonl"), 2, "in.jsonl is a file; give a directory");
    refused(&state("lst --state st"), 2, "unknown command `lst`; did you mean `ls`?");
    refused(&state("ls --state st --yes"), 2, "--yes: `state ls` has no such flag; leave it out");
    refused(&state("--state st"), 2, "say what to do: `runtime-test-job state ls`");
    refused(&state("ls --state st --frm x"), 2, "--frm: unknown flag");
    refused(&state("get sums -7 --state st"), 2, "a key that begins with a dash stands behind `--`");
    refused(&state("ls --state st --remote mysql://u@h/d"), 2, "which of them?");
    let other = crate::program::shown(place.command("state ls --state st").env("TEST_JOB", "traffic"));
    refused(&other, 1, "the state belongs to the job `sums`, not to `traffic`");
    assert!(!place.path("sT").exists(), "nothing is made by looking");
}

#[test]
fn a_state_that_is_in_use_is_left_alone() {
    for store in stores() {
        let place = Place::new("sums");
        let fifo = place.path("in.fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        place.write("in.jsonl", flows(200, 20));
        place.ok(&format!("{RUN} --state st --store {store}"));
        let mut child =
            place.spawn(&format!("run --from file:in.fifo --to file:out2 --state s2 --store {store}"));
        let mut input = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        std::io::Write::write_all(&mut input, flows(200, 20).as_bytes()).unwrap();
        let entry = if store == "redb" { "s2/state.redb" } else { "s2/state.rocksdb" };
        while !place.path(entry).exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        refused(&place.run("state ls --state s2"), 1, "is in use by another process; stop that process");
        let reset = place.run("offsets reset --state s2 --to earliest --yes");
        refused(&reset, 1, "is in use by another process; stop that process");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_savepoint_goes_from_store_to_store_and_back() {
    for workers in [1, 2] {
        for from in stores() {
            let place = stopped("traffic", from, workers);
            let whole = Place::new("traffic");
            whole.write("in.jsonl", place.read("in.jsonl"));
            whole.ok(&format!("{RUN} --workers {workers}"));
            place.ok("state export one.savepoint --state st");
            // From store to store, and to the first one again.
            let mut at = "one.savepoint".to_owned();
            for (n, store) in stores().into_iter().chain([from]).enumerate() {
                let shown = place.ok(&format!("state import {at} --state s{n} --store {store}")).stdout;
                assert!(shown.contains(&format!("are in s{n} ({store})")), "{shown}");
                at = format!("{n}.savepoint");
                place.ok(&format!("state export {at} --state s{n}"));
                // But for when it was written, which stands in its header, the same each time.
                let rows = |name: &str| std::fs::read(place.path(name)).unwrap().len();
                assert_eq!(rows("one.savepoint"), rows(&at));
            }
            let last = stores().len();
            let left: Vec<_> = std::fs::read_dir(place.path(&format!("s{last}")))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(left.len(), 1, "only the state is left: {left:?}");
            place.ok(&format!("{RUN} --state s{last} --store {from} --workers {workers}"));
            assert!(
                place.read("out") == whole.read("out"),
                "the imported state goes on where the first one was"
            );
        }
    }
}

#[test]
fn savepoints_that_do_not_fit_are_refused() {
    let place = stopped("traffic", "redb", 1);
    place.ok("state export good --state st");
    refused(
        &place.run("state export good --state st"),
        2,
        "good is there already; give the savepoint another name",
    );
    refused(&place.run("state import good --state st"), 2, "st has a state already; give an empty directory");
    refused(&place.run("state import none --state new"), 2, "there is no file none");
    refused(&place.run("state import in.jsonl --state new"), 1, "in.jsonl is no savepoint; give a file that");
    let other = crate::program::shown(place.command("state import good --state new").env("TEST_JOB", "sums"));
    refused(&other, 1, "does not fit: it is that of the job `traffic`, not of `sums`");
    assert!(!place.path("new").exists());

    let good = std::fs::read(place.path("good")).unwrap();
    // Cut anywhere, lengthened, or changed in any byte, it is no savepoint any more.
    let step = good.len() / 40;
    for at in (0..good.len()).step_by(step) {
        place.write("bad", &good[..at]);
        let shown = place.run("state import bad --state new");
        assert_eq!(shown.code, Some(1), "cut to {at}: {shown:?}");
        let mut flipped = good.clone();
        flipped[at] ^= 1;
        place.write("bad", &flipped);
        let shown = place.run("state import bad --state new");
        assert_eq!(shown.code, Some(1), "byte {at}: {shown:?}");
    }
    place.write("bad", [&good[..], b"x"].concat());
    refused(&place.run("state import bad --state new"), 1, "something stands behind its end");
    place.write("bad", b"streams savepoint 9\n");
    refused(&place.run("state import bad --state new"), 1, "is a savepoint of another version");
    assert!(!place.path("new").exists());
}

#[test]
fn offsets_are_shown_and_set_back() {
    for store in stores() {
        let place = stopped("sums", store, 1);
        let shown = place.ok("offsets show --state st").stdout;
        assert!(shown.contains("line 2,001") && shown.contains(" behind"), "{shown}");
        let line = |place: &Place| {
            json(&place.ok("offsets show --state st --format json").stdout)[0]["line"].clone()
        };
        refused(
            &place.run("offsets reset --state st --to earliest"),
            2,
            "add --yes when that is what you want",
        );
        assert_eq!(line(&place), 2_001);

        let moved = place.ok("offsets reset --state st --to 1501 --yes").stdout;
        assert!(moved.starts_with("flows ") && moved.contains("line 2,001 → line 1,501"), "{moved}");
        assert_eq!(line(&place), 1_501);
        assert_eq!(
            place.ok("offsets reset --state st --to 1501 --yes").stdout,
            "nothing was moved: the inputs are there already\n"
        );
        // What is read again is counted again, and what stands in the output stays.
        let before = place.read("out");
        place.ok(&format!("{RUN} --state st --store {store}"));
        let out = place.read("out");
        assert!(out.starts_with(&before));
        assert_eq!(out.lines().count(), 4_000 + 500);

        place.ok("offsets reset --state st --to earliest --input flows --yes");
        assert_eq!(line(&place), 1);
        place.ok("offsets reset --state st --to latest --yes");
        assert_eq!(line(&place), 4_002);
        let again = place.ok(&format!("{RUN} --state st --store {store}"));
        assert!(again.stderr.contains("resuming from checkpoint"), "{again:?}");
        assert_eq!(place.read("out").lines().count(), 4_500);
    }
}

#[test]
fn places_that_are_none_are_told() {
    let place = stopped("sums", "redb", 1);
    let reset = |words: &str| place.run(&format!("offsets reset --state st --yes {words}"));
    refused(&reset(""), 2, "offsets reset: say where to read on: --to earliest, latest");
    refused(&reset("--to latset"), 2, "--to: unknown place `latset`; did you mean `latest`?");
    refused(&reset("--to earliest --input flow"), 2, "unknown input port `flow`; did you mean `flows`?");
    refused(
        &reset("--to time:1700000000000"),
        2,
        "is a file, which has no times; give earliest, latest or a line",
    );
    refused(&reset("--to 0"), 2, "begins with line 1; nothing was moved");
    refused(&reset("--to 9999"), 2, "has 4,001 lines; nothing was moved");
    refused(&reset("--to earliest --namesrv a:1"), 2, "the state is that of a run on files; leave it out");
    std::fs::remove_file(place.path("in.jsonl")).unwrap();
    refused(&reset("--to latest"), 1, "No such file");
    assert!(place.ok("offsets show --state st").stdout.contains("is not there"));
}
