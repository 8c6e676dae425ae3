//! Rows of tables that are files, looked up by key.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::program::{Place, sorted};

const CSV: &str = "host,owner,rack\na,ann,7\nb,\"bob, the\",\n";
const LINES: &str =
    "{\"host\":\"a\",\"owner\":\"ann\",\"rack\":7}\n\n{\"host\":\"b\",\"owner\":\"bob, the\"}\n";
const ARRAY: &str =
    "[{\"host\":\"a\",\"owner\":\"ann\",\"rack\":7},\n{\"host\":\"b\",\"owner\":\"bob, the\"}]";

fn flow(host: &str) -> String {
    format!("{{\"host\":\"{host}\",\"out_flow\":1,\"at\":1}}\n")
}

fn owned(host: &str, owner: &str, rack: u16) -> String {
    format!("{{\"host\":\"{host}\",\"owner\":\"{owner}\",\"rack\":{rack}}}\n")
}

fn place() -> Place {
    let place = Place::new("owners");
    place.write("in", ["a", "x", "b", "a"].map(flow).concat());
    place
}

#[test]
fn a_table_of_a_file_is_joined() {
    for (name, text) in [("t.csv", CSV), ("t.jsonl", LINES), ("t.json", ARRAY), ("t?format=csv", CSV)] {
        for workers in [1, 2, 3] {
            let place = place();
            place.write(name.split('?').next().unwrap(), text);
            place.ok(&format!(
                "run --from file:in --hosts file:{name} --to known=file:known --to all=file:all --workers {workers}"
            ));
            let (a, b) = (owned("a", "ann", 7), owned("b", "bob, the", 0));
            assert_eq!(place.read("known"), [&*a, &*b, &*a].concat(), "{name}");
            let all = [&*a, &owned("x", "nobody", 0), &*b, &*a].concat();
            assert_eq!(sorted(&place.read("all")), sorted(&all), "{name}, {workers} workers");
        }
    }
}

#[test]
fn bad_rows_are_told_and_lose_nothing_else() {
    let place = place();
    place.write("t.csv", "host,owner,rack\na,ann,7\nb,bob\nc,cid,many\na,eve,9\nx,xia,1\n");
    let words = "run --from file:in --hosts file:t.csv --to known=file:known --to all=file:all";
    let shown = place.ok(words);
    let told: Vec<&str> = shown.stderr.lines().filter(|line| line.contains("--hosts")).collect();
    assert_eq!(
        told,
        [
            "note: --hosts: a bad row: t.csv line 3: 2 fields where the header names 3; it is left out",
            "note: --hosts: a bad row: t.csv line 4: column `rack`: `many`: invalid digit found in string; it is left out",
            "note: --hosts: a bad row: t.csv line 5: the key \"a\" stands in an earlier row; give each key one row; it is left out",
            "note: --hosts: t.csv has 2 rows and 3 bad rows; correct them",
        ]
    );
    let rows = [owned("a", "ann", 7), owned("x", "xia", 1), owned("a", "ann", 7)];
    assert_eq!(place.read("known"), rows.concat());
    let shown = place.run(&format!("{words} --on-bad stop"));
    assert_eq!(shown.code, Some(1));
    assert!(
        shown.stderr.starts_with("error: a bad row of a table: t.csv line 3: 2 fields"),
        "{}",
        shown.stderr
    );
}

#[test]
fn a_column_may_be_missing_where_its_field_is_optional() {
    let place = place();
    place.write("t.csv", "owner,host\nann,a\nbob,b\n");
    place.ok("run --from file:in --hosts file:t.csv --to known=file:known --to all=file:all");
    let rows = [owned("a", "ann", 0), owned("b", "bob", 0), owned("a", "ann", 0)];
    assert_eq!(place.read("known"), rows.concat());
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let place = place();
    place.write("empty.csv", "");
    // `rack` may be missing.
    place.write("owner.csv", "hots,name\na,ann\nb,bob\nc\n");
    let owner = "cannot read owner.csv: the columns `host`, `owner` are missing, which its rows need; it has `hots`, `name`; is `hots` meant to be `host`?; give them the names of the fields, or make a field that may be missing an `Option`";
    let owner = format!("--hosts: {owner}");
    for (words, text) in [
        ("", "--hosts: this setting has no default; give --hosts TABLE or set OWNERS_HOSTS"),
        ("--hosts t.csv", "--hosts: `t.csv` is no address of a table; for a file write `file:t.csv`"),
        (
            "--hosts file:t.csv?refersh=1s",
            "--hosts: unknown option `refersh` of a table; did you mean `refresh`?",
        ),
        ("--hosts file:owner.csv", &owner),
        ("--hosts file:owner.csv?fixed", &owner),
        ("--hosts file:none.csv", "--hosts: cannot read none.csv: No such file or directory (os error 2)"),
        (
            "--hosts file:empty.csv",
            "--hosts: cannot read empty.csv: it is empty; the first line of a table as CSV names the columns",
        ),
    ] {
        let shown = place.run(&format!("run --from file:in {words}"));
        assert_eq!((shown.code, shown.stderr), (Some(2), format!("error: {text}\n")));
    }
}

#[test]
fn a_table_is_read_again_without_a_stop() {
    for workers in [1, 2] {
        let place = place();
        place.write("t.csv", CSV);
        let words = format!(
            "run --from stdin: --hosts file:t.csv?refresh=20ms --to known=print: --to all=file:all --workers {workers}"
        );
        let mut command = place.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ask = || {
            stdin.write_all(flow("a").as_bytes()).unwrap();
            let mut row = String::new();
            stdout.read_line(&mut row).unwrap();
            row
        };
        assert_eq!(ask(), owned("a", "ann", 7));
        place.write("new", CSV.replace("ann", "eve"));
        std::fs::rename(place.path("new"), place.path("t.csv")).unwrap();
        let new = owned("a", "eve", 7);
        while ask() != new {}
        // A table that cannot be read keeps its rows, and says so once.
        std::fs::remove_file(place.path("t.csv")).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut note = || {
            let mut line = String::new();
            while !line.contains("--hosts") {
                line.clear();
                assert!(stderr.read_line(&mut line).unwrap() > 0, "no word of the table");
            }
            line
        };
        assert_eq!(
            note(),
            "note: --hosts: cannot read t.csv again, so its rows stay as they are: No such file or directory (os error 2)\n"
        );
        assert_eq!(ask(), new);
        place.write("new", CSV);
        std::fs::rename(place.path("new"), place.path("t.csv")).unwrap();
        assert_eq!(note(), "note: --hosts: t.csv can be read again\n");
        while ask() == new {}
        drop(stdin);
        assert!(child.wait().unwrap().success());
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("--hosts"), "{rest}");
    }
}
