//! Inputs as they are in the wild: blank lines, files that are moved or written meanwhile, pipes.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Place, shown};

fn row(host: &str, at: i64) -> String {
    format!("{{\"host\":\"{host}\",\"out_flow\":5,\"at\":{at}}}\n")
}

fn total(host: &str, from: i64, count: u64) -> String {
    format!("{{\"host\":\"{host}\",\"from\":{from},\"total\":{},\"count\":{count}}}\n", count * 5)
}

fn mkfifo(place: &Place, name: &str) {
    assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
}

#[test]
fn blank_lines_are_no_end() {
    let place = Place::new("traffic");
    let blank = "\n".repeat(3 << 20);
    place.write("in.jsonl", row("a", 1) + &blank + &row("a", 2));
    place.write("in.csv", format!("host,out_flow,at\na,5,1\n{blank}a,5,2\n"));
    for input in ["in.jsonl", "in.csv"] {
        for workers in ["1", "2"] {
            let shown = place.ok(&format!("run --from file:{input} --workers {workers}"));
            assert_eq!(shown.stdout, total("a", 0, 2), "{input} {workers}");
        }
    }
}

#[test]
fn a_file_that_is_moved_away_is_read_on() {
    let place = Place::new("pair");
    place.write("l.jsonl", row("a", 1).repeat(100));
    mkfifo(&place, "r");
    let run = "run --from left=file:l.jsonl --from right=file:r?format=json --to large=print: --to totals=file:t --state st --checkpoint-interval 10ms --report rep";
    let mut child = place.command(run).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut right = std::fs::File::create(place.path("r")).unwrap();
    right.write_all(row("b", 1).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    std::fs::rename(place.path("l.jsonl"), place.path("l.jsonl.1")).unwrap();
    right.write_all(row("b", 2).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    place.write("l.jsonl", row("other", 1));
    right.write_all(row("b", 3).as_bytes()).unwrap();
    drop(right);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert_eq!(place.report("rep")["records_in"], 103);
}

#[test]
fn a_pipe_is_opened_once() {
    let place = Place::new("traffic");
    mkfifo(&place, "in");
    mkfifo(&place, "out");
    let child = place
        .command("run --from file:in?format=json --to file:out")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, output) = (place.path("in"), place.path("out"));
    let writer = std::thread::spawn(move || {
        let mut input = std::fs::File::create(input).unwrap();
        for at in 0..1_000 {
            input.write_all(row("a", at).as_bytes()).unwrap();
        }
    });
    let read = std::fs::read_to_string(output).unwrap();
    writer.join().unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(read, total("a", 0, 1_000));
}

#[test]
fn a_job_that_waits_for_a_pipe_can_be_ended() {
    let place = Place::new("traffic");
    mkfifo(&place, "in");
    let mut child = place.spawn("run --from file:in?format=json --to file:out");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none());
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(10) {
            child.kill().unwrap();
            panic!("it goes on waiting");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_pipe_that_nobody_reads_any_more_is_a_failure() {
    let place = Place::new("traffic");
    mkfifo(&place, "out");
    place.write("in.jsonl", crate::program::flows(60_000, 500));
    let mut command = place.command("run --from file:in.jsonl --to file:out --report rep");
    let output = place.path("out");
    let reader = std::thread::spawn(move || drop(std::fs::File::open(output).unwrap()));
    let shown = shown(command.stdin(Stdio::null()));
    reader.join().unwrap();
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stderr.contains("out (port `traffic`): Broken pipe"), "{shown:?}");
    assert_eq!(place.report("rep")["outcome"], "failed");
}

/// What is in the file at the first run, at the second, and how many records each of them counts.
#[track_caller]
fn check_last_line(input: &str, pieces: [(&str, u64); 2], left: bool) {
    let place = Place::new(if input.ends_with("log") { "echo" } else { "traffic" });
    let run =
        format!("run --from file:{input} --to file:out --state st --report r --dead-letter file:letters");
    let mut text = String::new();
    for (at, (piece, records)) in pieces.into_iter().enumerate() {
        text.push_str(piece);
        place.write(input, &text);
        let shown = place.ok(&run);
        assert_eq!(place.report("r").get("records_in"), Some(&records.into()), "{shown:?}");
        let told = shown.stderr.contains("has no line end yet and was not read; it is read by the next run");
        assert_eq!(told, left && at == 0, "{shown:?}");
        // Once more nothing is new, and what was left is told again.
        let again = place.ok(&run);
        assert!(again.stderr.contains("nothing to do"), "{again:?}");
        assert_eq!(again.stderr.contains("has no line end yet"), told, "{again:?}");
    }
    place.ok(&format!("run --from file:{input} --to file:whole"));
    assert_eq!(place.read("out"), place.read("whole"));
    assert_eq!(place.read("letters"), "");
}

#[test]
fn a_last_line_counts_once() {
    let (one, two) = (row("a", 1), row("b", 20_000));
    let whole = format!("{one}{}", two.trim_end());
    // JSON says where a value ends: what is whole counts at once.
    check_last_line("in.jsonl", [(&whole, 2), ("\n", 2)], false);
    check_last_line("in.jsonl", [(&whole, 2), (&format!("\r\n{}", row("b", 60_000)), 3)], false);
    let (half, rest) = whole.split_at(whole.len() - 3);
    check_last_line("in.jsonl", [(half, 1), (&format!("{rest}\n{}", row("b", 60_000)), 3)], true);
    check_last_line("in.log", [("a\nb", 1), ("c\nd\n", 3)], true);
    check_last_line("in.csv", [("host,out_flow,at\na,5,1\nb,5,2", 1), ("0000\n", 2)], true);
    check_last_line("in.csv", [("host,out_fl", 0), ("ow,at\na,5,1\n", 1)], true);
}
