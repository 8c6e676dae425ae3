//! Commits and reads while connections are lost, swallow everything, or find another transaction in the way.

use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable as _;
use streams_core::protocol::worker::CommitOutcome;
use streams_core::store::Delta;
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::Mysql;

use super::proxy::{Fault, Proxy};
use super::{Database, SPLIT, address, key, snapshot, take};

/// Rows `0..n`, which take several statements.
fn many(n: u32, value: &[u8]) -> Delta {
    let mut delta = Delta::new();
    for i in 0..n {
        delta.put(&key(&i.to_be_bytes()), value);
    }
    delta
}

async fn behind(proxy: &Proxy, database: &Database, member: &str, options: &str) -> Mysql {
    Mysql::open(&address(&proxy.text(&database.name, options)), "job", member).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_unknown_and_is_not_done_twice() {
    let (database, proxy) = (Database::new("ambiguous").await, Proxy::new().await);
    let mysql = behind(&proxy, &database, "me", "").await;
    let token = take(&mysql, 1).await;
    let mut version = 0;
    // In the end every one of them is there once: what the row says decides whether to repeat.
    for (fault, is_done) in [
        (Fault::CutBehindCommit, Some(true)),
        (Fault::CutBeforeCommit, Some(false)),
        (Fault::CutAtCommit, None),
    ] {
        let (snapshot, delta) = (snapshot(version), many(600, &[version as u8]));
        proxy.set(fault);
        let outcome = mysql.commit(SPLIT, (token, version), &snapshot, &delta, false).await.unwrap();
        assert_eq!(outcome, CommitOutcome::Unknown, "{fault:?}");
        proxy.set(Fault::None);
        // The compare-and-set waits for a commit that the server is still at.
        let again = mysql.commit(SPLIT, (token, version), &snapshot, &delta, false).await.unwrap();
        match is_done {
            Some(true) => assert_eq!(again, CommitOutcome::Fenced),
            Some(false) => assert_eq!(again, CommitOutcome::Done),
            None => assert!(matches!(again, CommitOutcome::Fenced | CommitOutcome::Done), "{again:?}"),
        }
        version += 1;
        assert_eq!(mysql.observe(SPLIT).await.unwrap(), (token, version), "{fault:?}");
        let page = mysql.page(SPLIT, token, b"", 1000, 1 << 20).await.unwrap().unwrap();
        assert!(page.rows.len() == 600 && page.rows.iter().all(|(_, value)| value[0] as u64 == version - 1));
    }
    assert_eq!(proxy.struck(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_anywhere_leaves_all_or_nothing() {
    let (database, proxy) = (Database::new("anywhere").await, Proxy::new().await);
    let mysql = behind(&proxy, &database, "me", "").await;
    let token = take(&mysql, 1).await;
    let (mut version, mut unknown, mut lost) = (0, 0, 0);
    for at in 1.. {
        let mut delta = many(1200, &[at as u8]);
        delta.delete_prefix(&key(&[0, 0, 1]));
        delta.delete(&key(&[0, 0, 2, 0]));
        proxy.set(Fault::CutAt(at));
        let outcome = mysql.commit(SPLIT, (token, version), &snapshot(at), &delta, false).await;
        proxy.set(Fault::None);
        let (_, after) = mysql.observe(SPLIT).await.unwrap();
        match outcome {
            Ok(CommitOutcome::Done) => assert_eq!(after, version + 1),
            Ok(CommitOutcome::Unknown) => unknown += 1,
            Err(Failure::Away(_)) => {
                lost += 1;
                assert_eq!(after, version);
            }
            other => panic!("{other:?}"),
        }
        let page = mysql.page(SPLIT, token, b"", 5000, 1 << 20).await.unwrap().unwrap();
        let committed = if after == 0 { 0 } else { 1200 - 257 };
        assert_eq!(page.rows.len(), committed, "cut at {at}");
        if after > version {
            assert!(page.rows.iter().all(|(_, value)| *value == [at as u8]), "cut at {at}");
        }
        version = after;
        // A commit that came through says that nothing is left to cut.
        if matches!(outcome, Ok(CommitOutcome::Done)) && proxy.struck() < at {
            break;
        }
        assert!(at < 100, "a commit has no hundred statements");
    }
    println!("{lost} cuts before the commit was asked for, {unknown} at it");
    assert!(lost >= 6 && unknown >= 1, "{lost} {unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_in_the_middle_of_a_transaction_is_overcome() {
    let (database, proxy) = (Database::new("zombie").await, Proxy::new().await);
    let zombie = behind(&proxy, &database, "zombie", "?timeout=2").await;
    let old = take(&zombie, 1).await;
    zombie.commit(SPLIT, (old, 0), &snapshot(1), &many(10, b"old"), false).await.unwrap();
    proxy.set(Fault::SwallowCommit);
    let begin = Instant::now();
    // Its connection stays open and holds the row's lock.
    let stuck = {
        let zombie = zombie.clone();
        let commit =
            async move { zombie.commit(SPLIT, (old, 1), &snapshot(2), &many(10, b"new"), false).await };
        tokio::spawn(commit)
    };
    while proxy.struck() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let next = Mysql::open(&database.address(""), "job", "next").await.unwrap();
    let mut refused = 0;
    let token = loop {
        match next.raise(SPLIT, 7, 2).await {
            Ok(token) => break token.unwrap(),
            Err(Failure::Away(text)) => {
                assert!(text.contains("1205"), "{text}");
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "the zombie's lock is never let go");
    };
    println!("taken over from a zombie after {:?}, {refused} times refused", begin.elapsed());
    // What it wanted is not there, and it is told that nobody knows.
    assert_eq!(stuck.await.unwrap().unwrap(), CommitOutcome::Unknown);
    assert_eq!(next.observe(SPLIT).await.unwrap(), (token, 1));
    assert_eq!(next.read(SPLIT).await.unwrap(), Some((1, snapshot(1))));
    let page = next.page(SPLIT, token, b"", 100, 1 << 20).await.unwrap().unwrap();
    assert!(page.rows.iter().all(|(_, value)| value == b"old"));
    proxy.set(Fault::None);
    let late = zombie.commit(SPLIT, (old, 1), &snapshot(2), &many(10, b"new"), false).await.unwrap();
    assert_eq!(late, CommitOutcome::Fenced);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_swallows_everything_is_noticed_in_time() {
    let (database, proxy) = (Database::new("swallow").await, Proxy::new().await);
    let mysql = behind(&proxy, &database, "me", "?timeout=1").await;
    let token = take(&mysql, 1).await;
    let backing = mysql.backing(SPLIT, token);
    proxy.set(Fault::Swallow);
    let begin = Instant::now();
    for attempt in 0..3 {
        match mysql.read(SPLIT).await {
            Err(Failure::Away(text)) => assert!(text.contains("no answer in 1 s"), "{text}"),
            other => panic!("attempt {attempt}: {other:?}"),
        }
    }
    match mysql.commit(SPLIT, (token, 0), &snapshot(1), &Delta::new(), false).await {
        Err(Failure::Away(_)) => (),
        other => panic!("{other:?}"),
    }
    let blocked = tokio::task::spawn_blocking(move || backing.get(&key(b"k"))).await.unwrap();
    assert!(matches!(blocked, Err(streams_core::error::StateError::Away(_))), "{blocked:?}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // What was open before is not used when the network is back.
    proxy.set(Fault::None);
    assert_eq!(mysql.read(SPLIT).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_transaction_in_the_way_rolls_everything_back() {
    let database = Database::new("in_the_way").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    mysql.commit(SPLIT, (token, 0), &snapshot(1), &many(1200, b"old"), false).await.unwrap();
    // The last rows of the next commit are locked by somebody: a lock that does not come in time rolls back one
    // statement only, and the others must not be committed without it.
    let mut other = database.conn().await;
    other.query_drop("START TRANSACTION").await.unwrap();
    let last = 1199_u32.to_be_bytes();
    other.exec_drop("UPDATE streams_row SET v = 'x' WHERE k = ?", (last.as_slice(),)).await.unwrap();
    let commit = async || mysql.commit(SPLIT, (token, 1), &snapshot(2), &many(1200, b"new"), false).await;
    assert_eq!(commit().await.unwrap(), CommitOutcome::RolledBack);
    assert_eq!(mysql.observe(SPLIT).await.unwrap(), (token, 1));
    let rows = async || mysql.page(SPLIT, token, b"", 5000, 1 << 20).await.unwrap().unwrap().rows;
    assert!(rows().await.iter().all(|(_, value)| value == b"old"));
    other.query_drop("ROLLBACK").await.unwrap();
    assert_eq!(commit().await.unwrap(), CommitOutcome::Done);
    assert!(rows().await.iter().all(|(_, value)| value == b"new"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_fails_takes_the_whole_commit_with_it() {
    let database = Database::new("fails").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let mut other = database.conn().await;
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON streams_row FOR EACH ROW BEGIN IF NEW.v = 'bad' THEN \
                  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no bad rows'; END IF; END";
    other.query_drop(refuse).await.unwrap();
    let mut delta = many(1200, b"good");
    delta.put(&key(b"\xff"), b"bad");
    match mysql.commit(SPLIT, (token, 0), &snapshot(1), &delta, false).await {
        Err(Failure::Fatal(text)) => assert!(text.contains("no bad rows"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(mysql.observe(SPLIT).await.unwrap(), (token, 0));
    assert_eq!(mysql.read(SPLIT).await.unwrap(), None);
    assert_eq!(mysql.page(SPLIT, token, b"", 10, 1 << 20).await.unwrap().unwrap().rows, []);
    // And the connection that was in the middle of it is not the next one's.
    let again = mysql.commit(SPLIT, (token, 0), &snapshot(1), &many(3, b"good"), false).await.unwrap();
    assert_eq!(again, CommitOutcome::Done);
    assert_eq!(mysql.page(SPLIT, token, b"", 10, 1 << 20).await.unwrap().unwrap().rows.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_dropped_leave_nothing_behind() {
    let database = Database::new("dropped").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let begin = Instant::now();
    mysql.commit(SPLIT, (token, 0), &snapshot(0), &many(1500, b"first"), false).await.unwrap();
    let whole = begin.elapsed();
    let mut version = 1;
    for i in 0..40_u32 {
        let (snapshot, delta) = (snapshot(1), many(1500, &i.to_be_bytes()));
        let commit = mysql.commit(SPLIT, (token, version), &snapshot, &delta, false);
        // From at once to longer than one takes.
        let _ = tokio::time::timeout(whole * i / 25, commit).await;
        let (_, after) = loop {
            let before = mysql.observe(SPLIT).await.unwrap();
            // The server may still be at it.
            match mysql.heartbeat(&[(SPLIT, token)]).await {
                Ok(1) if mysql.observe(SPLIT).await.unwrap() == before => break before,
                _ => (),
            }
        };
        let rows = mysql.page(SPLIT, token, b"", 2000, 1 << 20).await.unwrap().unwrap().rows;
        assert!(rows.windows(2).all(|pair| pair[0].1 == pair[1].1), "half a commit at {i}");
        if after > version {
            assert!(rows.len() == 1500 && rows[0].1 == i.to_be_bytes());
        }
        version = after;
    }
    println!("{} of 40 commits that were dropped on the way were done", version - 1);
}
