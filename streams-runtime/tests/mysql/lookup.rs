//! Tables of MySQL that a job looks rows up in, by the job as a program: all rows at once, and one by one.

use std::process::Command;

use mysql_async::prelude::Queryable as _;

use crate::Database;

/// Five flows, of which one host has no row and one has two.
const FLOWS: &str = r#"{"host":"a","out_flow":1,"at":1}
{"host":"x","out_flow":1,"at":1}
{"host":"b","out_flow":1,"at":1}
{"host":"A","out_flow":1,"at":1}
{"host":"two","out_flow":1,"at":1}
"#;

/// What comes out at the port `known`, and the dead letters.
fn run(database: &Database, options: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("in"), FLOWS).unwrap();
    let address = database.address("");
    let hosts = format!("{address}?table=hosts{options}");
    let output = Command::new(env!("CARGO_BIN_EXE_runtime-test-job"))
        .env("TEST_JOB", "owners")
        .args(["run", "--from", "file:in", "--to", "known=file:known", "--to", "all=file:all"])
        .args(["--dead-letter", "file:bad", "--hosts", &hosts])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    (read("known"), read("bad") + &stderr)
}

#[tokio::test]
async fn a_table_of_mysql_is_joined() {
    let database = Database::new("lookup").await;
    let mut conn = database.conn().await;
    conn.query_drop(
        "CREATE TABLE hosts (host VARCHAR(9), owner TEXT, rack SMALLINT UNSIGNED NULL, more DECIMAL(9,2))",
    )
    .await
    .unwrap();
    conn.query_drop(
        "INSERT INTO hosts VALUES ('a', 'ann', 7, 1.5), ('b', 'bob', NULL, 2), ('two', 'eve', 1, 3), ('two', 'eva', 2, 4)",
    )
    .await
    .unwrap();
    let (a, b) = (r#"{"host":"a","owner":"ann","rack":7}"#, r#"{"host":"b","owner":"bob","rack":0}"#);
    // All at once, the first of two rows with one key counts, and the other is told.
    let (known, told) = run(&database, "");
    assert_eq!(known, format!("{a}\n{b}\n{}\n", r#"{"host":"two","owner":"eve","rack":1}"#));
    assert!(told.contains("row 4: the key \"two\" stands in an earlier row"), "{told}");
    // One by one, the record is a dead letter, in both look-ups; and what the server takes for the same key is not.
    let (known, told) = run(&database, "&by=host&keep=100");
    assert_eq!(known, format!("{a}\n{b}\n"));
    assert_eq!(
        told.matches("the key \\\"two\\\" has several rows; give each key one row").count(),
        2,
        "{told}"
    );
}

#[tokio::test]
async fn a_table_that_is_not_there_is_told() {
    let database = Database::new("lookup").await;
    let text = format!("{}?table=none", database.address(""));
    let output = Command::new(env!("CARGO_BIN_EXE_runtime-test-job"))
        .env("TEST_JOB", "owners")
        .args(["run", "--from", "stdin:", "--hosts", &text])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with("error: --hosts: cannot read mysql://") && stderr.contains("none"),
        "{stderr}"
    );
}
