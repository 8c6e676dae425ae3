//! The first start, and starts that must not go on.

use mysql_async::prelude::Queryable as _;
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::{Address, Mysql, PASSWORD, statements};

use super::{Database, base, env, unique};

#[track_caller]
fn refused(answer: Result<Mysql, Failure>) -> String {
    match answer {
        Err(Failure::Fatal(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn the_tables_are_made_once_and_jobs_are_apart() {
    let database = Database::new("made").await;
    let one = database.open().await;
    assert_eq!(one.job().await.unwrap(), None);
    assert!(one.put_job(None, b"a").await.unwrap());
    assert!(!one.put_job(None, b"b").await.unwrap());
    // Another instance finds it, another job does not.
    let again = database.open().await;
    assert_eq!(again.job().await.unwrap(), Some((1, b"a".to_vec())));
    let other = Mysql::open(&database.address(""), "other", "me").await.unwrap();
    assert_eq!(other.job().await.unwrap(), None);
    // Only one of two changes on the same version goes through.
    let (a, b) = tokio::join!(one.put_job(Some(1), b"c"), again.put_job(Some(1), b"d"));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!(a ^ b, "{a} {b}");
    let expect = if a { b"c" } else { b"d" };
    assert_eq!(one.job().await.unwrap(), Some((2, expect.to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_start_at_once() {
    let database = Database::new("at_once").await;
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let address = database.address("");
            tokio::spawn(async move { Mysql::open(&address, "job", "me").await })
        })
        .collect();
    for start in starts {
        start.await.unwrap().unwrap();
    }
    let mut conn = database.conn().await;
    let jobs: Option<u64> = conn.query_first("SELECT COUNT(*) FROM streams_job").await.unwrap();
    assert_eq!(jobs, Some(1));
}

#[tokio::test]
async fn tables_of_a_newer_program_are_refused() {
    let database = Database::new("newer").await;
    database.open().await;
    let mut conn = database.conn().await;
    conn.query_drop("UPDATE streams_schema SET version = 9").await.unwrap();
    let text = refused(Mysql::open(&database.address(""), "job", "me").await);
    assert!(text.contains("version 9") && text.contains("newer one"), "{text}");
}

#[tokio::test]
async fn a_user_who_may_not_create_shows_the_statements_to_one_who_may() {
    let database = Database::new("rights").await;
    let mut conn = database.conn().await;
    let user = unique("u").chars().take(16).collect::<String>();
    conn.query_drop(format!("CREATE USER {user} IDENTIFIED BY 'poor'")).await.unwrap();
    conn.query_drop(format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {}.* TO {user}", database.name))
        .await
        .unwrap();
    let poor = |name: &str| (name == PASSWORD).then(|| "poor".into());
    let text = base().replace("//streams@", &format!("//{user}@"));
    let (server, _) = text.rsplit_once('/').unwrap();
    let address = Address::parse(&format!("{server}/{}", database.name), &poor).unwrap();

    let text = refused(Mysql::open(&address, "job", "me").await);
    assert!(text.contains("denied") && text.contains(&statements()), "{text}");
    // What it shows is what there is to do.
    for statement in statements().lines() {
        conn.query_drop(statement).await.unwrap();
    }
    let mysql = Mysql::open(&address, "job", "me").await.unwrap();
    assert!(mysql.put_job(None, b"a").await.unwrap());
    // Without the right to write, the message says which.
    conn.query_drop(format!("REVOKE UPDATE ON {}.* FROM {user}", database.name)).await.unwrap();
    conn.query_drop("FLUSH PRIVILEGES").await.unwrap();
    let mysql = Mysql::open(&address, "job", "me").await.unwrap();
    match mysql.put_job(Some(1), b"a").await {
        Err(Failure::Fatal(text)) => assert!(text.contains("UPDATE") && text.contains("grant"), "{text}"),
        other => panic!("{other:?}"),
    }
    conn.query_drop(format!("DROP USER {user}")).await.unwrap();
}

#[tokio::test]
async fn wrong_passwords_databases_and_names_are_told() {
    let database = Database::new("wrong").await;
    let wrong = |name: &str| (name == PASSWORD).then(|| "open-sesame".into());
    let address = Address::parse(&base(), &wrong).unwrap();
    let text = refused(Mysql::open(&address, "job", "me").await);
    assert!(text.contains("1045") && text.contains(PASSWORD) && !text.contains("sesame"), "{text}");

    let (server, _) = { base() }.rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let missing = Address::parse(&format!("{server}/{}", unique("missing")), &env).unwrap();
    let text = refused(Mysql::open(&missing, "job", "me").await);
    assert!(text.contains("1049") && text.contains("create the database"), "{text}");

    let text = refused(Mysql::open(&database.address(""), &"n".repeat(256), "me").await);
    assert!(text.contains("1 to 255 bytes"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_away() {
    // Nobody listens at port 1.
    let address = Address::parse("mysql://u@127.0.0.1:1/db", &env).unwrap();
    match Mysql::open(&address, "job", "me").await {
        Err(Failure::Away(text)) => {
            assert!(text.contains("127.0.0.1:1") && text.contains("reachable"), "{text}")
        }
        other => panic!("{other:?}"),
    }
}
