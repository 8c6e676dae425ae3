//! JSON lines, CSV and plain lines, in and out.

use crate::program::Place;
use std::io::Write as _;
use std::process::Stdio;

const ROWS: &str = "{\"host\":\"a\",\"from\":0,\"total\":12,\"count\":2}\n{\"host\":\"b, c\",\"from\":0,\"total\":3,\"count\":1}\n";
const CSV_ROWS: &str = "host,from,total,count\na,0,12,2\n\"b, c\",0,3,1\n";

#[test]
fn json_and_csv() {
    let place = Place::new("traffic");
    place.write("in.jsonl", "{\"host\":\"a\",\"out_flow\":5,\"at\":1}\r\n\n{\"host\":\"a\",\"out_flow\":7,\"at\":2}\n{\"host\":\"b, c\",\"out_flow\":3,\"at\":3}");
    place.write("in.csv", "at,host,out_flow\n1,a,5\n2,\"a\",7\n\n3,\"b, c\",3");
    for input in ["in.jsonl", "in.csv"] {
        assert_eq!(place.ok(&format!("run --from file:{input}")).stdout, ROWS);
        place.ok(&format!("run --from file:{input} --to file:out.csv"));
        assert_eq!(place.read("out.csv"), CSV_ROWS);
        place.ok(&format!("run --from file:{input} --to file:out?format=csv --workers 3"));
        assert_eq!(place.read("out").matches("host,from").count(), 1);
    }
}

#[test]
fn strings_are_lines() {
    let place = Place::new("echo");
    place.write("in.json", "one\n\n {\"two\"} \r\nthree");
    let shown = place.ok("run --from file:in.json --to print:?format=lines");
    assert_eq!(shown.stdout, "one\n\n {\"two\"} \nthree\n");
    let shown = place.ok("run --from file:in.json");
    assert_eq!(shown.stdout, "\"one\"\n\"\"\n\" {\\\"two\\\"} \"\n\"three\"\n");
}

#[test]
fn standard_input() {
    let place = Place::new("traffic");
    let mut child = place
        .command("run --from stdin:?format=csv")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"host,out_flow,at\na,5,1\na,7,2\n\"b, c\",3,3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), ROWS);
}

#[test]
fn a_live_input_is_answered_at_once() {
    let place = Place::new("echo");
    let mut child = place
        .command("run --from stdin: --to print:?format=lines --checkpoint-interval 10ms")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    for text in ["one\n", "two\n"] {
        stdin.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
        assert_eq!(line, text);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn two_inputs_two_outputs() {
    let place = Place::new("pair");
    place.write("l.jsonl", "{\"host\":\"a\",\"out_flow\":500,\"at\":1}\n");
    place.write(
        "r.jsonl",
        "{\"host\":\"a\",\"out_flow\":7,\"at\":2}\n{\"host\":\"b\",\"out_flow\":100,\"at\":2}\n",
    );
    place.ok("run --from right=file:r.jsonl --from left=file:l.jsonl --to large=file:large.jsonl --to totals=file:totals.csv");
    assert_eq!(
        place.read("large.jsonl"),
        "{\"host\":\"a\",\"out_flow\":500,\"at\":1}\n{\"host\":\"b\",\"out_flow\":100,\"at\":2}\n"
    );
    assert_eq!(place.read("totals.csv"), "host,from,total,count\na,0,507,2\nb,0,100,1\n");
}

#[test]
fn a_silent_input_holds_up_no_other() {
    for workers in ["1", "2"] {
        let place = Place::new("pair");
        place.write("r.jsonl", "{\"host\":\"a\",\"out_flow\":100,\"at\":2}\n".repeat(3_000));
        let words = format!(
            "run --from left=stdin: --from right=file:r.jsonl --to large=print: --to totals=file:t --workers {workers}"
        );
        let mut child = place.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        for _ in 0..3_000 {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
            assert_eq!(line, "{\"host\":\"a\",\"out_flow\":100,\"at\":2}\n");
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
        assert_eq!(place.read("t"), "{\"host\":\"a\",\"from\":0,\"total\":300000,\"count\":3000}\n");
    }
}
