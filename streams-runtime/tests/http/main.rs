//! Tables that an HTTP server has, looked up by a job as a program; the server is a part of the test.

#![expect(
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test; clippy allows it in test functions only"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// By path: status and body; everything else is not found.
type Pages = Arc<Mutex<BTreeMap<String, (u16, String)>>>;

/// A server with these pages: its address, and the paths that were asked for.
fn serve(pages: &Pages) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (pages, asked) = (Arc::clone(pages), Arc::<Mutex<Vec<String>>>::default());
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(line)) = lines.next() else { continue };
            // The rest of the head, or the client finds its connection reset.
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let path = line.split(' ').nth(1).unwrap().to_owned();
            let found = pages.lock().unwrap().get(&path).cloned();
            let (status, body) = found.unwrap_or((404, "no such page".to_owned()));
            log.lock().unwrap().push(path);
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, asked)
}

fn job(dir: &tempfile::TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runtime-test-job"));
    command.env("TEST_JOB", "owners").arg("run").args(words).current_dir(dir.path());
    command
}

fn flow(host: &str) -> String {
    format!("{{\"host\":\"{host}\",\"out_flow\":1,\"at\":1}}\n")
}

fn row(host: &str, owner: &str) -> String {
    format!("{{\"host\":\"{host}\",\"owner\":\"{owner}\"}}")
}

fn owned(host: &str, owner: &str) -> String {
    format!("{{\"host\":\"{host}\",\"owner\":\"{owner}\",\"rack\":0}}\n")
}

#[test]
fn a_table_is_read_as_a_whole_and_again() {
    let pages = Pages::default();
    let set = |status, body: String| drop(pages.lock().unwrap().insert("/hosts".to_owned(), (status, body)));
    set(200, format!("[{}]", row("a", "ann")));
    let (server, asked) = serve(&pages);
    let dir = tempfile::tempdir().unwrap();
    let hosts = format!("{server}/hosts#refresh=20ms");
    let words = ["--from", "stdin:", "--to", "known=print:", "--to", "all=file:all", "--hosts", &hosts];
    let mut command = job(&dir, &words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut ask = || {
        stdin.write_all(flow("a").as_bytes()).unwrap();
        let mut row = String::new();
        stdout.read_line(&mut row).unwrap();
        row
    };
    assert_eq!(ask(), owned("a", "ann"));
    set(200, format!("[{}]", row("a", "eve")));
    while ask() != owned("a", "eve") {}
    // What the server cannot give now stays as it was.
    set(500, String::new());
    let mut note = String::new();
    while !note.contains("--hosts") {
        note.clear();
        assert!(stderr.read_line(&mut note).unwrap() > 0, "no word of the table");
    }
    let place = format!("{server}/hosts");
    assert_eq!(
        note,
        format!(
            "note: --hosts: cannot read {place} again, so its rows stay as they are: the server answers with status 500\n"
        )
    );
    let before = asked.lock().unwrap().len();
    while asked.lock().unwrap().len() < before + 3 {
        assert_eq!(ask(), owned("a", "eve"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn rows_are_fetched_one_by_one_and_kept() {
    let pages = Pages::default();
    for (path, body) in
        [("/h/a", row("a", "ann")), ("/h/b%2Fc", row("b/c", "bob")), ("/h/bad", "{}".to_owned())]
    {
        pages.lock().unwrap().insert(path.to_owned(), (200, body));
    }
    let (server, asked) = serve(&pages);
    let dir = tempfile::tempdir().unwrap();
    let flows = ["a", "x", "b/c", "a", "bad", "x", "a"].map(flow).concat();
    std::fs::write(dir.path().join("in"), flows).unwrap();
    let hosts = format!("{server}/h/{{key}}#keep=100");
    let words = [
        "--from",
        "file:in",
        "--to",
        "known=file:known",
        "--to",
        "all=file:all",
        "--dead-letter",
        "file:bad",
    ];
    let output = job(&dir, &[&words[..], &["--hosts", &hosts]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let (a, b) = (owned("a", "ann"), owned("b/c", "bob"));
    assert_eq!(read("known"), [&*a, &*b, &*a, &*a].concat());
    assert_eq!(read("all").lines().count(), 6);
    assert_eq!(read("bad").matches("missing field `host`").count(), 2, "{}", read("bad"));
    let mut asked = asked.lock().unwrap().clone();
    asked.sort();
    // By each of the two look-ups: once, but for the row that is none.
    assert_eq!(asked, ["/h/a", "/h/a", "/h/b%2Fc", "/h/b%2Fc", "/h/bad", "/h/bad", "/h/x", "/h/x"]);
}

/// A server that is away ends the job, with the place; nothing is written that would have to be taken back.
#[test]
fn a_server_that_is_away_ends_the_job() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("in"), flow("a")).unwrap();
    // A port that nobody listens on: it was free just now.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let each = format!("http://127.0.0.1:{port}/{{key}}");
    let words = ["--from", "file:in", "--to", "known=file:known", "--to", "all=file:all", "--hosts", &each];
    let output = job(&dir, &words).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: a table that the job looks rows up in does not answer: "), "{stderr}");
    assert_eq!(std::fs::read_to_string(dir.path().join("all")).unwrap(), "");
    let whole = format!("http://127.0.0.1:{port}/hosts");
    let output = job(&dir, &["--from", "file:in", "--hosts", &whole]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with(&format!("error: --hosts: cannot read {whole}: ")), "{stderr}");
}
