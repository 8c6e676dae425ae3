//! Ownership and commits: who may, in which order, and what is there behind them.

use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable as _;
use streams_core::protocol::ids::{Split, Stage, Token};
use streams_core::protocol::instance::Holder;
use streams_core::protocol::worker::CommitOutcome;
use streams_core::store::Delta;

use super::{Database, SPLIT, key, snapshot, take};

fn one_row(value: &[u8]) -> Delta {
    let mut delta = Delta::new();
    delta.put(&key(b"k"), value);
    delta
}

#[tokio::test]
async fn a_split_is_taken_committed_and_taken_again() {
    let database = Database::new("taken").await;
    let mysql = database.open().await;
    let nobody = Token { epoch: 0, nonce: 0 };
    assert_eq!(mysql.observe(SPLIT).await.unwrap(), (nobody, 0));
    assert_eq!(mysql.holder(SPLIT).await.unwrap(), None);
    let token = take(&mysql, 77).await;
    assert_eq!(token, Token { epoch: 1, nonce: 77 });
    assert_eq!(mysql.read(SPLIT).await.unwrap(), None);

    let first = mysql.commit(SPLIT, (token, 0), &snapshot(5), &one_row(b"v"), false).await.unwrap();
    assert_eq!(first, CommitOutcome::Done);
    assert_eq!(mysql.read(SPLIT).await.unwrap(), Some((1, snapshot(5))));
    // The same once more is another version's by now.
    let twice = mysql.commit(SPLIT, (token, 0), &snapshot(5), &one_row(b"w"), false).await.unwrap();
    assert_eq!(twice, CommitOutcome::Fenced);

    // A largest number is no special case.
    let next = take(&mysql, u64::MAX).await;
    assert_eq!(next, Token { epoch: 2, nonce: u64::MAX });
    let zombie = mysql.commit(SPLIT, (token, 1), &snapshot(9), &one_row(b"z"), false).await.unwrap();
    assert_eq!(zombie, CommitOutcome::Fenced);
    let other_nonce = Token { nonce: 1, ..next };
    let guessed = mysql.commit(SPLIT, (other_nonce, 1), &snapshot(9), &one_row(b"z"), false).await.unwrap();
    assert_eq!(guessed, CommitOutcome::Fenced);
    assert_eq!(mysql.read(SPLIT).await.unwrap(), Some((1, snapshot(5))));
    let page = mysql.page(SPLIT, next, b"", 10, 1 << 20).await.unwrap().unwrap();
    assert_eq!(page.rows, [(key(b"k"), b"v".to_vec())]);
    assert_eq!(mysql.page(SPLIT, token, b"", 10, 1 << 20).await.unwrap(), None);
}

#[tokio::test]
async fn other_code_takes_what_was_left_clean_alone() {
    let database = Database::new("clean").await;
    let mysql = database.open().await;
    take(&mysql, 1).await;
    // Without a commit nothing has been begun.
    assert_eq!(mysql.raise(SPLIT, 8, 2).await.unwrap(), Some(Token { epoch: 2, nonce: 2 }));
    let token = take(&mysql, 3).await;
    let zero = mysql.commit(SPLIT, (token, 0), &snapshot(0), &Delta::new(), false).await.unwrap();
    assert_eq!(zero, CommitOutcome::Done);
    assert_eq!(mysql.raise(SPLIT, 8, 4).await.unwrap(), None);
    // A refused raise changes nothing, the owner goes on.
    let dirty = mysql.commit(SPLIT, (token, 1), &snapshot(1), &Delta::new(), false).await.unwrap();
    assert_eq!(dirty, CommitOutcome::Done);
    assert_eq!(mysql.raise(SPLIT, 8, 5).await.unwrap(), None);
    let clean = mysql.commit(SPLIT, (token, 2), &snapshot(1), &Delta::new(), true).await.unwrap();
    assert_eq!(clean, CommitOutcome::Done);
    assert!(mysql.holder(SPLIT).await.unwrap().unwrap().clean);
    assert_eq!(mysql.raise(SPLIT, 8, 6).await.unwrap(), Some(Token { epoch: 4, nonce: 6 }));
    // The take cleared it.
    assert!(!mysql.holder(SPLIT).await.unwrap().unwrap().clean);
    assert_eq!(mysql.raise(SPLIT, 9, 7).await.unwrap(), None);
}

#[tokio::test]
async fn beats_move_and_versions_do_not() {
    let database = Database::new("beats").await;
    let mysql = database.open().await;
    let other = Split { stage: Stage(u16::MAX), queue: u16::MAX };
    let token = take(&mysql, 1).await;
    let second = mysql.raise(other, 7, 2).await.unwrap().unwrap();
    let moves = async || mysql.holder(SPLIT).await.unwrap().unwrap().moves;
    let (raised, stand) = (moves().await, mysql.observe(SPLIT).await.unwrap());
    assert_eq!(mysql.heartbeat(&[(SPLIT, token), (other, second)]).await.unwrap(), 2);
    assert!(moves().await > raised);
    assert_eq!(mysql.observe(SPLIT).await.unwrap(), stand);
    // A commit moves it as well, and what was taken away does not move.
    let beaten = moves().await;
    mysql.commit(SPLIT, (token, 0), &snapshot(1), &Delta::new(), false).await.unwrap();
    assert!(moves().await > beaten);
    let next = take(&mysql, 3).await;
    let taken = moves().await;
    assert_eq!(mysql.heartbeat(&[(SPLIT, token)]).await.unwrap(), 0);
    assert_eq!(moves().await, taken);

    // One that is being committed for long does not make the others look dead.
    let mut conn = database.conn().await;
    let sql = "SELECT split FROM streams_split WHERE nonce = ?";
    let number: Option<u64> = conn.exec_first(sql, (next.nonce,)).await.unwrap();
    conn.query_drop("START TRANSACTION").await.unwrap();
    conn.exec_drop("UPDATE streams_split SET clean = 0 WHERE split = ?", (number,)).await.unwrap();
    let begin = Instant::now();
    assert_eq!(mysql.heartbeat(&[(SPLIT, next), (other, second)]).await.unwrap(), 1);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    conn.query_drop("ROLLBACK").await.unwrap();

    let held = |token, moves| Holder { member: "me".to_owned(), token, moves, clean: false };
    assert_eq!(mysql.holders().await.unwrap(), [(SPLIT, held(next, taken)), (other, held(second, 3))]);
    assert_eq!(mysql.snapshots().await.unwrap(), [(SPLIT, snapshot(1))]);
}

#[tokio::test]
async fn reads_see_what_another_instance_has_just_committed() {
    let database = Database::new("fresh").await;
    let (one, two) = (database.open().await, database.open().await);
    for version in 0..5 {
        let token = take(&one, version).await;
        // What was read before must not be what is read behind a commit of somebody else's.
        let before = two.read(SPLIT).await.unwrap();
        assert_eq!(before.map(|(version, _)| version).unwrap_or(0), version);
        let delta = one_row(&version.to_be_bytes());
        let done = one.commit(SPLIT, (token, version), &snapshot(version), &delta, false).await.unwrap();
        assert_eq!(done, CommitOutcome::Done);
        assert_eq!(two.read(SPLIT).await.unwrap(), Some((version + 1, snapshot(version))));
        let page = two.page(SPLIT, token, b"", 10, 1000).await.unwrap().unwrap();
        assert_eq!(page.rows, [(key(b"k"), version.to_be_bytes().to_vec())]);
    }
}
