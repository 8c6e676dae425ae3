//! Records that cannot be taken: dead letters, skipping, stopping and going on.

use crate::program::{Place, flows, sorted};

const GOOD: &str = "{\"host\":\"a\",\"out_flow\":5,\"at\":1}\n";

#[test]
fn dead_letters_cost_nothing_else() {
    let place = Place::new("traffic");
    let good = flows(3_000, 20);
    let middle = good.match_indices('\n').nth(1_499).unwrap().0 + 1;
    let bad = format!("{}garbage \u{1}\n{}", &good[..middle], &good[middle..]);
    place.write("good.jsonl", &good);
    place.write("bad.jsonl", &bad);
    for workers in ["1", "2"] {
        place.ok(&format!("run --from file:good.jsonl --to file:good.out --workers {workers}"));
        let shown = place.ok(&format!(
            "run --from file:bad.jsonl --to file:bad.out --workers {workers} --dead-letter file:letters --report r.json"
        ));
        assert_eq!(sorted(&place.read("good.out")), sorted(&place.read("bad.out")));
        let letter: serde_json::Value = serde_json::from_str(&place.read("letters")).unwrap();
        assert_eq!(letter["port"], "flows");
        assert_eq!(letter["file"], "bad.jsonl");
        assert_eq!(letter["line"], 1501);
        assert_eq!(letter["offset"], middle);
        assert_eq!(letter["raw"], "garbage \u{1}");
        assert_eq!(letter["error"], "column 1: expected value");
        assert_eq!(place.report("r.json")["dead_letter"], 1);
        assert_eq!(place.report("r.json")["records_in"], 3001);
        assert!(!shown.stderr.contains("bad record"), "{shown:?}");
    }
}

#[test]
fn without_a_file_the_first_ten_are_shown() {
    let place = Place::new("traffic");
    place.write("in.jsonl", "x\n".repeat(15));
    let shown = place.ok("run --from file:in.jsonl");
    assert_eq!(shown.stderr.matches("bad record: in.jsonl line ").count(), 10, "{shown:?}");
    assert!(shown.stderr.contains("--dead-letter file:PATH"), "{shown:?}");
    let shown = place.ok("run --from file:in.jsonl --on-bad skip --report r.json");
    assert!(!shown.stderr.contains("bad record"), "{shown:?}");
    assert_eq!(place.report("r.json")["skipped"], 15);
    assert_eq!(place.report("r.json")["dead_letter"], 0);
}

#[test]
fn bytes_that_are_no_text() {
    let place = Place::new("echo");
    place.write("in", b"ok\n\xff\xfe\nbad one\n");
    place.ok("run --from file:in --dead-letter file:letters --to file:out?format=lines");
    assert_eq!(place.read("out"), "ok\n");
    let expect = "\
{\"port\":\"lines\",\"file\":\"in\",\"line\":2,\"offset\":3,\"raw_base64\":\"//4=\",\"error\":\"byte 1 is not UTF-8\"}
{\"port\":\"lines\",\"file\":\"in\",\"line\":3,\"offset\":6,\"raw\":\"bad one\",\"operator\":\"try_map\",\"error\":\"it is bad\"}
";
    assert_eq!(place.read("letters"), expect);
}

#[test]
fn stop_and_go_on() {
    for workers in ["1", "2", "3"] {
        for bad_at in [0, 1, 1_500, 2_999] {
            let place = Place::new("traffic");
            let good = flows(3_000, 20);
            let lines: Vec<&str> = good.lines().collect();
            let text = |bad: &str| {
                let (before, after) = lines.split_at(bad_at);
                format!("{}\n{bad}\n{}\n", before.join("\n"), after.join("\n")).trim_start().to_owned()
            };
            let run = format!(
                "run --from file:in.jsonl --to file:out --state st --workers {workers} --report r.json"
            );
            place.write("in.jsonl", text("{\"host\":3}"));
            let shown = place.run(&format!("{run} --on-bad stop"));
            assert_eq!(shown.code, Some(1), "{shown:?}");
            let place_shown = format!("in.jsonl line {}: column", bad_at + 1);
            assert!(shown.stderr.contains(&place_shown), "{bad_at} {shown:?}");
            assert_eq!(place.report("r.json")["records_in"], bad_at, "{workers}");
            // The same again changes nothing.
            let before = place.read("out");
            assert_eq!(place.run(&format!("{run} --on-bad stop")).code, Some(1));
            assert_eq!(place.read("out"), before);
            // Corrected, it goes on there.
            let corrected = "{\"host\":\"z\",\"out_flow\":1,\"at\":59000}";
            place.write("in.jsonl", text(corrected));
            place.ok(&format!("{run} --on-bad stop"));
            assert_eq!(place.report("r.json")["records_in"], 3_001);
            place.ok("run --from file:in.jsonl --to file:whole");
            assert_eq!(sorted(&place.read("out")), sorted(&place.read("whole")), "{workers} {bad_at}");
            if workers == "1" {
                assert_eq!(place.read("out"), place.read("whole"));
            }
        }
    }
}

#[test]
fn stop_goes_on_with_another_policy() {
    let place = Place::new("echo");
    place.write("in", "one\nbad\ntwo\nbad\n");
    let run = "run --from file:in --to file:out?format=lines --state st";
    let shown = place.run(&format!("{run} --on-bad stop"));
    assert_eq!(shown.code, Some(1));
    assert!(
        shown
            .stderr
            .starts_with("error: stopped at a bad record: in line 2: operator `try_map`: it is bad: bad\n"),
        "{shown:?}"
    );
    assert_eq!(place.read("out"), "one\n");
    place.ok(&format!("{run} --report r"));
    assert_eq!(place.read("out"), "one\ntwo\n");
    assert_eq!(place.report("r")["records_in"], 4);
    assert_eq!(place.report("r")["dead_letter"], 2);
}

#[test]
fn panics_name_their_place() {
    for workers in ["1", "2"] {
        let place = Place::new("echo");
        place.write("in", "one\ntwo\npanic\n");
        let shown = place.run(&format!("run --from file:in --to file:out --workers {workers}"));
        assert_eq!(shown.code, Some(1), "{shown:?}");
        assert!(
            shown.stderr.contains("error: the job's code panicked: asked to panic; while it worked on in lines 1 to 3 (3 records)"),
            "{shown:?}"
        );
    }
}

#[test]
fn records_beyond_all_measure() {
    let place = Place::new("traffic");
    let huge = format!("{GOOD}{}\n{GOOD}", "x".repeat(20 << 20));
    place.write("in.jsonl", huge);
    place.ok("run --from file:in.jsonl --to file:out --dead-letter file:letters");
    assert_eq!(place.read("out"), "{\"host\":\"a\",\"from\":0,\"total\":10,\"count\":2}\n");
    let letter: serde_json::Value = serde_json::from_str(&place.read("letters")).unwrap();
    assert_eq!(letter["error"], "the record is longer than 16.0 MiB");
    assert_eq!(letter["raw"].as_str().unwrap().len(), 1024);
}

#[test]
fn stop_behind_a_window() {
    let row =
        |host: &str, flow: u64, at: i64| format!("{{\"host\":\"{host}\",\"out_flow\":{flow},\"at\":{at}}}\n");
    let rest: String = (0..3_000).map(|at| row("b", 1, at * 20)).collect();
    for workers in ["1", "2"] {
        // The refused total comes out in the middle of the input, or at its end.
        for text in [row("a", 1_000, 0) + &rest, rest.clone() + &row("a", 1_000, 60_000)] {
            let place = Place::new("strict");
            place.write("in.jsonl", text);
            let run =
                format!("run --from file:in.jsonl --to file:out --state st --report r --workers {workers}");
            for _ in 0..2 {
                let shown = place.run(&format!("{run} --on-bad stop"));
                assert_eq!(shown.code, Some(1), "{shown:?}");
                assert!(shown.stderr.contains("operator `try_map`: too much"), "{shown:?}");
                assert!(!place.read("out").contains("\"a\""), "{workers}");
            }
            place.ok(&format!("{run} --dead-letter file:letters"));
            place.ok(&format!("run --from file:in.jsonl --to file:whole --workers {workers}"));
            assert_eq!(sorted(&place.read("out")), sorted(&place.read("whole")), "{workers}");
            assert_eq!(place.report("r")["records_in"], 3_001);
            let letter: serde_json::Value = serde_json::from_str(&place.read("letters")).unwrap();
            assert_eq!(letter["operator"], "try_map");
        }
    }
}

#[test]
fn panics_in_a_checkpoint_are_told() {
    for workers in ["1", "2"] {
        let place = Place::new("fragile");
        place.write("in.jsonl", flows(20_000, 20));
        for policy in ["dead-letter", "stop"] {
            let shown = place.run(&format!(
                "run --from file:in.jsonl --to file:out --state st --checkpoint-interval 1ms --workers {workers} --on-bad {policy}"
            ));
            assert_eq!(shown.code, Some(1), "{shown:?}");
            let told =
                "error: the job's code panicked: this cannot be kept; while it worked on a checkpoint\n";
            assert!(shown.stderr.contains(told), "{shown:?}");
        }
    }
}

#[test]
fn results_that_do_not_fit_name_their_key_and_window() {
    let row = |at: i64| format!("{{\"host\":\"a\",\"out_flow\":18446744073709551615,\"at\":{at}}}\n");
    for workers in ["1", "2"] {
        let place = Place::new("traffic");
        place.write("in.jsonl", row(1) + &row(2));
        place.ok(&format!("run --from file:in.jsonl --workers {workers} --dead-letter file:letters"));
        let letter: serde_json::Value = serde_json::from_str(&place.read("letters")).unwrap();
        assert_eq!((letter["key"].as_str(), letter.get("value")), (Some("a"), None), "{letter}");
        let error = letter["error"].as_str().unwrap();
        assert!(error.starts_with("in the window [0, 10000): "), "{letter}");
        let shown = place.ok(&format!("run --from file:in.jsonl --workers {workers}"));
        assert!(shown.stderr.contains(": key \"a\""), "{shown:?}");
    }
}
