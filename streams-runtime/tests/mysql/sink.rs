//! Results in tables: what is in them behind each mode, and that they are there if and only if the commit is.

use std::time::Instant;

use mysql_async::prelude::Queryable as _;
use streams_core::protocol::worker::CommitOutcome;
use streams_core::store::Delta;
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::Mysql;
use streams_runtime::remote::mysql::sink::{Sink, Target};

use super::proxy::{Fault, Proxy};
use super::{Database, SPLIT, address, base, env, key, snapshot, take};

impl Database {
    fn target(&self, options: &str) -> Target {
        let server = base();
        let (server, _) = server.rsplit_once('/').unwrap();
        Target::parse(&format!("{server}/{}?{options}", self.name), &env).unwrap()
    }
}

fn by_line(lines: &[u8]) -> Vec<&[u8]> {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, Failure>, expect: &str) {
    match answer {
        Err(Failure::Fatal(text)) => assert!(text.contains(expect), "{text}"),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_made_of_the_first_records_and_upserted() {
    let database = Database::new("upsert").await;
    let options = "table=totals&mode=upsert&key=host,from&create=true";
    let sink = Sink::open(&database.target(options)).await.unwrap();
    let lines = "{\"host\":\"a\",\"from\":-5,\"total\":1.5,\"tags\":[\"x\",{\"y\":null}],\"ok\":true}\n\
                 {\"host\":\"A\",\"from\":-5,\"total\":2.5,\"tags\":[],\"ok\":null}\n\
                 {\"host\":\"a \",\"from\":-5,\"total\":3.5,\"tags\":[],\"ok\":false}\n\
                 {\"host\":\"a\",\"from\":-5,\"total\":4.5,\"tags\":{\"z\":\"ü\"},\"ok\":false}\n";
    let rows = sink.prepare(&by_line(lines.as_ref())).await.unwrap();
    assert_eq!(rows.len(), 4);
    // Again and again is the same as once.
    for _ in 0..3 {
        sink.write(&rows).await.unwrap();
    }
    let mut conn = database.conn().await;
    let all = "SELECT host, `from`, total, tags, ok FROM totals ORDER BY total";
    let expect = [
        ("A".to_owned(), -5_i64, 2.5, "[]".to_owned(), None),
        ("a ".to_owned(), -5, 3.5, "[]".to_owned(), Some(false)),
        ("a".to_owned(), -5, 4.5, "{\"z\":\"ü\"}".to_owned(), Some(false)),
    ];
    let found: Vec<(String, i64, f64, String, Option<bool>)> = conn.query(all).await.unwrap();
    assert_eq!(found, expect);

    // Ignoring leaves what is there, and takes what is new.
    let ignore = Sink::open(&database.target("table=totals&mode=ignore")).await.unwrap();
    let lines = b"{\"host\":\"a\",\"from\":-5,\"total\":9}\n{\"host\":\"b\",\"from\":0,\"total\":9}\n";
    let rows = ignore.prepare(&by_line(lines.as_ref())).await.unwrap();
    ignore.write(&rows).await.unwrap();
    let found: Vec<f64> = conn.query("SELECT total FROM totals ORDER BY total").await.unwrap();
    assert_eq!(found, [2.5, 3.5, 4.5, 9.0]);
    // But it is no excuse for other errors: a text that does not fit is told, not cut.
    let long = format!("{{\"host\":\"{}\",\"from\":0}}", "x".repeat(256));
    let rows = ignore.prepare(&[long.as_bytes()]).await.unwrap();
    refused(ignore.write(&rows).await, "too long");
    let found: Option<u64> = conn.query_first("SELECT COUNT(*) FROM totals").await.unwrap();
    assert_eq!(found, Some(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_told() {
    let database = Database::new("mistakes").await;
    let mut conn = database.conn().await;
    conn.query_drop("CREATE TABLE plain (a INT, `we``ird` INT NOT NULL DEFAULT 7)").await.unwrap();
    refused(Sink::open(&database.target("table=missing")).await, "create=true");
    refused(Sink::open(&database.target("table=plain&mode=upsert")).await, "ADD UNIQUE");
    conn.query_drop("ALTER TABLE plain ADD UNIQUE (a)").await.unwrap();
    refused(Sink::open(&database.target("table=plain&mode=upsert&key=b")).await, "unique key on `b`");
    let sink = Sink::open(&database.target("table=plain&mode=upsert&key=A")).await.unwrap();
    refused(sink.prepare(&by_line(b"{\"a\":1,\"c\":2}")).await, "no column for field `c`");
    refused(sink.prepare(&by_line(b"[1]")).await, "no JSON object");
    refused(sink.prepare(&by_line(b"{}")).await, "no fields");
    let rows = sink.prepare(&by_line(b"{\"a\":\"five\"}")).await.unwrap();
    refused(sink.write(&rows).await, "error 1366");
    // A column that somebody adds is found.
    conn.query_drop("ALTER TABLE plain ADD COLUMN c INT").await.unwrap();
    let rows = sink.prepare(&by_line(b"{\"a\":1,\"c\":2}\n{\"we`ird\":3,\"a\":2}\n")).await.unwrap();
    sink.write(&rows).await.unwrap();
    let found: Vec<(i32, i32, Option<i32>)> = conn.query("SELECT * FROM plain ORDER BY a").await.unwrap();
    assert_eq!(found, [(1, 7, Some(2)), (2, 3, None)]);

    let insert = Sink::open(&database.target("table=plain")).await.unwrap();
    let rows = insert.prepare(&by_line(b"{\"a\":5}")).await.unwrap();
    refused(insert.write(&rows).await, "mode=upsert");
    // Rows for another server are not written here.
    let ours = super::outage::Ours::new(2);
    let url = ours.run("start");
    let elsewhere = Mysql::open(&address(url.trim()), "job", "me").await.unwrap();
    let token = take(&elsewhere, 1).await;
    let (snapshot, delta, rows) = (snapshot(1), Delta::new(), [rows]);
    let done = elsewhere.commit_with(SPLIT, (token, 0), &snapshot, &delta, false, &rows).await;
    refused(done, "cannot be written in a transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_there_if_and_only_if_the_commit_is() {
    let (database, proxy) = (Database::new("atomic").await, Proxy::new().await);
    let mut conn = database.conn().await;
    // Without a key: nothing but the transaction keeps a row from being there twice.
    conn.query_drop("CREATE TABLE results (n BIGINT, pad TEXT)").await.unwrap();
    let through = address(&proxy.text(&database.name, ""));
    let mysql = Mysql::open(&through, "job", "me").await.unwrap();
    let text = proxy.text(&database.name, "?table=results");
    let sink = Sink::open(&Target::parse(&text, &env).unwrap()).await.unwrap();
    let token = take(&mysql, 1).await;
    let (mut version, mut unknown, mut repeated) = (0_u64, 0, 0);
    for at in 1..=60 {
        let mut lines = String::new();
        for n in 0..700 {
            lines.push_str(&format!("{{\"n\":{},\"pad\":\"{n}\"}}\n", version * 1000 + n));
        }
        let rows = [sink.prepare(&by_line(lines.as_ref())).await.unwrap()];
        let mut delta = Delta::new();
        delta.put(&key(b"last"), &version.to_be_bytes());
        proxy.set(match at % 15 {
            0 => Fault::CutBehindCommit,
            5 => Fault::CutBeforeCommit,
            10 => Fault::CutAtCommit,
            n => Fault::CutAt(n),
        });
        // Repeated as it is until its fate is known, as an owner does.
        loop {
            let stand = (token, version);
            let done = mysql.commit_with(SPLIT, stand, &snapshot(version), &delta, false, &rows).await;
            proxy.set(Fault::None);
            match done {
                Ok(CommitOutcome::Done) => break,
                Ok(CommitOutcome::Unknown | CommitOutcome::Fenced) => {
                    unknown += 1;
                    if mysql.observe(SPLIT).await.unwrap() == (token, version + 1) {
                        break;
                    }
                }
                Ok(CommitOutcome::RolledBack) | Err(Failure::Away(_)) => repeated += 1,
                other => panic!("{other:?}"),
            }
            let rows: Option<u64> = conn.query_first("SELECT COUNT(*) FROM results").await.unwrap();
            assert_eq!(rows.unwrap() % 700, 0, "half of the results are there");
        }
        version += 1;
        let found: Option<(u64, u64)> =
            conn.query_first("SELECT COUNT(*), COUNT(DISTINCT n) FROM results").await.unwrap();
        assert_eq!(found, Some((version * 700, version * 700)), "cut at {at}");
        let last = mysql.get_many(SPLIT, token, &[&key(b"last")]).await.unwrap().unwrap();
        assert_eq!(last, [Some((version - 1).to_be_bytes().to_vec())]);
    }
    println!("{version} commits with results: {repeated} repeated, {unknown} of unknown fate");
    assert!(unknown >= 8 && repeated >= 8);
    // An owner that is fenced writes no results either.
    take(&mysql, 2).await;
    let rows = [sink.prepare(&by_line(b"{\"n\":-1}")).await.unwrap()];
    let stand = (token, version);
    let done = mysql.commit_with(SPLIT, stand, &snapshot(version), &Delta::new(), false, &rows).await;
    assert_eq!(done.unwrap(), CommitOutcome::Fenced);
    let found: Option<u64> = conn.query_first("SELECT COUNT(*) FROM results WHERE n < 0").await.unwrap();
    assert_eq!(found, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_results() {
    const N: u32 = 50_000;
    let database = Database::new("results").await;
    let options = "table=totals&mode=upsert&key=host,from&create=true";
    let sink = Sink::open(&database.target(options)).await.unwrap();
    let mut lines = String::new();
    for n in 0..N {
        let host = n % 500;
        lines.push_str(&format!("{{\"host\":\"host-{host}\",\"from\":{n},\"total\":{n},\"count\":3}}\n"));
    }
    for what in ["inserted", "updated"] {
        let begin = Instant::now();
        let rows = sink.prepare(&by_line(lines.as_ref())).await.unwrap();
        let prepared = begin.elapsed();
        sink.write(&rows).await.unwrap();
        let rate = f64::from(N) / begin.elapsed().as_secs_f64();
        println!(
            "results {what}: {N} in {:?}, {prepared:?} of it to prepare, {rate:.0} a second",
            begin.elapsed()
        );
    }
    let mut conn = database.conn().await;
    let found: Option<u64> = conn.query_first("SELECT COUNT(*) FROM totals").await.unwrap();
    assert_eq!(found, Some(u64::from(N)));
}
