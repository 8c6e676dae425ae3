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
