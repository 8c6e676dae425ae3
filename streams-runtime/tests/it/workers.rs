//! Several workers: the same rows as one, in the same order at every run.

use crate::program::{Place, flows, sorted};

#[test]
fn same_rows_at_every_number() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(40_000, 500));
    for slack in ["5s", "1s"] {
        place.ok(&format!("run --from file:in.jsonl --to file:one --slack {slack} --report one.json"));
        for workers in [2, 3, 7] {
            let run = |out: &str| {
                place.ok(&format!("run --from file:in.jsonl --to file:{out} --slack {slack} --workers {workers} --report {out}.json"));
            };
            run("a");
            run("b");
            assert!(place.read("a") == place.read("b"), "{workers} workers: two runs differ");
            assert_eq!(sorted(&place.read("a")), sorted(&place.read("one")), "{workers} workers");
            for counter in ["records_in", "records_out", "late", "dead_letter"] {
                assert_eq!(
                    place.report("a.json")[counter],
                    place.report("one.json")[counter],
                    "{workers}: {counter}"
                );
            }
        }
    }
}

#[test]
fn two_inputs() {
    let place = Place::new("pair");
    place.write("l.jsonl", flows(5_000, 30));
    place.write("r.jsonl", flows(9_000, 40));
    let run = |tag: &str, workers: u32| {
        place.ok(&format!(
            "run --from left=file:l.jsonl --from right=file:r.jsonl --to large=file:{tag}.l --to totals=file:{tag}.t --workers {workers}"
        ));
        (place.read(&format!("{tag}.l")), place.read(&format!("{tag}.t")))
    };
    let one = run("one", 1);
    let (first, again) = (run("a", 3), run("b", 3));
    assert!(first == again, "two runs differ");
    assert_eq!(sorted(&first.0), sorted(&one.0));
    assert_eq!(sorted(&first.1), sorted(&one.1));
}

/// Every worker reads every input, so windows behind a union fire while records come in, whatever the number of
/// workers.
#[test]
fn a_union_moves_on_in_every_worker() {
    let place = Place::new("joined");
    place.write("l.jsonl", flows(20_000, 30));
    place.write("r.jsonl", flows(20_000, 30));
    // A garbage line at the end stops the job; what is written then fired before.
    place.write("bad.jsonl", format!("{}garbage\n", flows(20_000, 30)));
    let run = |right: &str, to: &str, workers: u32| {
        place.run(&format!(
            "run --from left=file:l.jsonl --from right=file:{right} --to file:{to} --on-bad stop --workers {workers}"
        ))
    };
    assert_eq!(run("r.jsonl", "one", 1).code, Some(0));
    let one = place.read("one");
    for workers in [1, 2, 3, 4] {
        assert_eq!(run("r.jsonl", "all", workers).code, Some(0));
        assert_eq!(sorted(&place.read("all")), sorted(&one), "{workers} workers");
        let stopped = run("bad.jsonl", "fired", workers);
        assert_eq!(stopped.code, Some(1), "{}", stopped.stderr);
        let (fired, all) = (place.read("fired").lines().count(), one.lines().count());
        assert!(fired * 10 > all * 7, "{workers} workers: {fired} of {all} rows before the end");
    }
}

/// An input that has ended holds back nobody, in no worker and behind no shuffle.
#[test]
fn an_ended_input_holds_nothing_back() {
    let place = Place::new("joined");
    place.write("l.jsonl", flows(100, 30));
    place.write("r.jsonl", flows(20_000, 30));
    place.write("bad.jsonl", format!("{}garbage\n", flows(20_000, 30)));
    let run = |right: &str, to: &str, workers: u32| {
        place.run(&format!(
            "run --from left=file:l.jsonl --from right=file:{right} --to file:{to} --on-bad stop --workers {workers}"
        ))
    };
    assert_eq!(run("r.jsonl", "one", 1).code, Some(0));
    let all = place.read("one").lines().count();
    for workers in [1, 2, 3] {
        assert_eq!(run("bad.jsonl", "fired", workers).code, Some(1));
        let fired = place.read("fired").lines().count();
        assert!(fired * 10 > all * 7, "{workers} workers: {fired} of {all} rows before the end");
    }
}
