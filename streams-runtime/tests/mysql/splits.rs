//! Ownership and commits: who may, in which order, and what is there behind them.

use streams_core::protocol::ids::{Split, Stage, Token};
use streams_core::protocol::worker::{CommitOutcome, rows_of};
use streams_core::store::Delta;
use streams_runtime::remote::Observed;

use super::{Database, SPLIT, snapshot, take};

fn one_row(value: &[u8]) -> Delta {
    let mut delta = Delta::new();
    delta.put(&[&rows_of(SPLIT), b"k".as_slice()].concat(), value);
    delta
}

#[tokio::test]
async fn a_split_is_taken_committed_and_taken_again() {
    let database = Database::new("taken").await;
    let mysql = database.open().await;
    let nobody = Token { epoch: 0, nonce: 0 };
    assert_eq!(mysql.observe(SPLIT).await.unwrap(), Observed { token: nobody, version: 0, beat: 0 });
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
    assert_eq!(page.rows, [([&rows_of(SPLIT), b"k".as_slice()].concat(), b"v".to_vec())]);
    assert_eq!(mysql.page(SPLIT, token, b"", 10, 1 << 20).await.unwrap(), None);
}

#[tokio::test]
async fn other_code_takes_what_was_left_clean_alone() {
    let database = Database::new("clean").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    assert_eq!(mysql.raise(SPLIT, 8, 2).await.unwrap(), None);
    // A refused raise changes nothing, the owner goes on.
    let dirty = mysql.commit(SPLIT, (token, 0), &snapshot(1), &Delta::new(), false).await.unwrap();
    assert_eq!(dirty, CommitOutcome::Done);
    assert_eq!(mysql.raise(SPLIT, 8, 2).await.unwrap(), None);
    let clean = mysql.commit(SPLIT, (token, 1), &snapshot(1), &Delta::new(), true).await.unwrap();
    assert_eq!(clean, CommitOutcome::Done);
    assert_eq!(mysql.raise(SPLIT, 8, 2).await.unwrap(), Some(Token { epoch: 2, nonce: 2 }));
    // The take cleared it.
    assert_eq!(mysql.raise(SPLIT, 9, 3).await.unwrap(), None);
}

#[tokio::test]
async fn beats_move_and_versions_do_not() {
    let database = Database::new("beats").await;
    let mysql = database.open().await;
    let other = Split { stage: Stage(u16::MAX), queue: u16::MAX };
    let token = take(&mysql, 1).await;
    let second = mysql.raise(other, 7, 2).await.unwrap().unwrap();
    let before = mysql.observe(SPLIT).await.unwrap();
    assert_eq!(mysql.heartbeat(&[(SPLIT, token), (other, second)]).await.unwrap(), 2);
    let after = mysql.observe(SPLIT).await.unwrap();
    assert_eq!((after.version, after.token), (before.version, before.token));
    assert!(after.beat > before.beat);
    // The commit moves it as well, and a lost owner's does nothing.
    mysql.commit(SPLIT, (token, 0), &snapshot(1), &Delta::new(), false).await.unwrap();
    let committed = mysql.observe(SPLIT).await.unwrap();
    assert!(committed.beat > after.beat);
    let next = take(&mysql, 3).await;
    let raised = mysql.observe(SPLIT).await.unwrap();
    assert_eq!(mysql.heartbeat(&[(SPLIT, token)]).await.unwrap(), 0);
    assert_eq!(mysql.observe(SPLIT).await.unwrap(), raised);

    let all = mysql.observe_all().await.unwrap();
    assert_eq!(
        all.iter().map(|(split, seen)| (*split, seen.token)).collect::<Vec<_>>(),
        [(SPLIT, next), (other, second)]
    );
    assert_eq!(mysql.snapshots().await.unwrap(), [(SPLIT, snapshot(1))]);
}
