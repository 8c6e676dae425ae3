//! Rows: what was committed is what is read, by page, key and range, whatever their number and size.

use std::time::Instant;

use mysql_async::prelude::Queryable as _;
use streams_core::protocol::ids::{Split, Stage, Token};
use streams_core::protocol::worker::{CommitOutcome, rows_of};
use streams_core::store::backing::Row;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store as _, prefix};
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::Mysql;

use super::{Database, Random, SPLIT, key, snapshot, take};

/// Another split of the same job, whose rows sort next to those of [`SPLIT`].
const NEIGHBOR: Split = Split { stage: Stage(1), queue: 3 };

async fn all(mysql: &Mysql, token: Token, most_rows: usize, most_bytes: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let after = rows.last().map(|(key, _)| key.clone()).unwrap_or_default();
        let page = mysql.page(SPLIT, token, &after, most_rows, most_bytes).await.unwrap().unwrap();
        assert!(page.rows.len() <= most_rows && (!page.more || !page.rows.is_empty()));
        let bytes: usize = page.rows.iter().map(|(key, value)| key.len() + value.len()).sum();
        assert!(bytes <= most_bytes || page.rows.len() == 1, "{bytes}");
        rows.extend(page.rows);
        if !page.more {
            return rows;
        }
    }
}

fn model_rows(model: &MemoryStore) -> Vec<Row> {
    let mut rows = Vec::new();
    model
        .scan(&rows_of(SPLIT), &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(())
        })
        .unwrap();
    rows
}

/// Short keys of few letters, so that they meet: 0x00 and 0xff are where comparisons go wrong.
fn random_key(random: &mut Random) -> Vec<u8> {
    let n = random.below(4);
    key(&(0..n).map(|_| [0, 1, b'a', 0xfe, 0xff][random.below(5) as usize]).collect::<Vec<_>>())
}

fn random_delta(random: &mut Random) -> Delta {
    let mut delta = Delta::new();
    for _ in 0..random.below(30) {
        let key = random_key(random);
        match random.below(10) {
            0 => delta.delete_prefix(&key),
            1..4 => delta.delete(&key),
            _ => delta.put(&key, &vec![random.below(256) as u8; random.below(40) as usize]),
        }
    }
    if random.below(20) == 0 {
        delta.delete_prefix(&rows_of(SPLIT)[..random.below(6) as usize]);
        delta.put(&random_key(random), b"behind");
    }
    delta
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_those_of_a_model() {
    let database = Database::new("model").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let neighbor = mysql.raise(NEIGHBOR, 7, 2).await.unwrap().unwrap();
    let mut apart = Delta::new();
    apart.put(&[&rows_of(NEIGHBOR), b"a".as_slice()].concat(), b"theirs");
    mysql.commit(NEIGHBOR, (neighbor, 0), &snapshot(1), &apart, false).await.unwrap();

    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut model = MemoryStore::default();
    for version in 0..200 {
        let delta = random_delta(&mut random);
        let outcome = mysql.commit(SPLIT, (token, version), &snapshot(1), &delta, false).await.unwrap();
        assert_eq!(outcome, CommitOutcome::Done);
        model.commit(&delta).unwrap();
        let expect = model_rows(&model);
        let most_rows = 1 + random.below(20) as usize;
        let most_bytes = 1 + random.below(400) as usize;
        assert_eq!(all(&mysql, token, most_rows, most_bytes).await, expect, "version {version}");

        let keys: Vec<Vec<u8>> = (0..random.below(20)).map(|_| random_key(&mut random)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let found = mysql.get_many(SPLIT, token, &keys).await.unwrap().unwrap();
        let wanted: Vec<_> = keys.iter().map(|key| model.get(key).unwrap()).collect();
        assert_eq!(found, wanted);

        let backing = mysql.backing(SPLIT, token);
        let (from, to, one) = (random_key(&mut random), random_key(&mut random), random_key(&mut random));
        let (bounds, single) = ((from.clone(), to.clone()), one.clone());
        let (range, got) = tokio::task::spawn_blocking(move || {
            let mut rows: Vec<Row> = Vec::new();
            let mut visit = |key: &[u8], value: &[u8]| {
                rows.push((key.to_vec(), value.to_vec()));
                Ok(())
            };
            backing.range(&bounds.0, &bounds.1, &mut visit).unwrap();
            (rows, backing.get(&single).unwrap())
        })
        .await
        .unwrap();
        let inside: Vec<Row> = expect.into_iter().filter(|(key, _)| *key >= from && *key < to).collect();
        assert_eq!(range, inside, "from {from:?} to {to:?}");
        assert_eq!(got, model.get(&one).unwrap());
    }
    // Not even what removed everything touched the neighbor's.
    let page = mysql.page(NEIGHBOR, neighbor, b"", 10, 1000).await.unwrap().unwrap();
    assert_eq!(page.rows.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_longer_than_a_page_come_whole_and_stop_when_the_token_falls() {
    let database = Database::new("ranges").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let mut delta = Delta::new();
    for i in 0..7000_u32 {
        delta.put(&key(&i.to_be_bytes()), &[b'v'; 30]);
    }
    mysql.commit(SPLIT, (token, 0), &snapshot(1), &delta, false).await.unwrap();
    // What lies around the split's own keys is no reason to read less, or more.
    for (from, to, expect) in [
        (key(&3_u32.to_be_bytes()), key(&6003_u32.to_be_bytes()), 6000),
        (Vec::new(), vec![0xff], 7000),
        (prefix_end(), vec![0xff], 0),
        (Vec::new(), rows_of(SPLIT).to_vec(), 0),
    ] {
        let backing = mysql.backing(SPLIT, token);
        let seen = tokio::task::spawn_blocking(move || {
            let mut seen = 0;
            backing.range(&from, &to, &mut |_, _| {
                seen += 1;
                Ok(())
            })?;
            Ok::<_, streams_core::error::StateError>(seen)
        });
        assert_eq!(seen.await.unwrap().unwrap(), expect);
    }
    let backing = mysql.backing(SPLIT, token);
    let (runtime, other) = (tokio::runtime::Handle::current(), mysql.clone());
    let fenced = tokio::task::spawn_blocking(move || {
        let mut seen = 0;
        let read = backing.range(&key(b""), &key(b"\xff"), &mut |_, _| {
            seen += 1;
            if seen == 1 {
                runtime.block_on(take(&other, 2));
            }
            Ok(())
        });
        (seen, read, backing.get(&key(b"")))
    });
    let (seen, read, got) = fenced.await.unwrap();
    assert!(seen < 7000, "{seen}");
    assert!(matches!(read, Err(streams_core::error::StateError::Fenced)), "{read:?}");
    assert!(matches!(got, Err(streams_core::error::StateError::Fenced)), "{got:?}");
    assert_eq!(mysql.get_many(SPLIT, token, &[]).await.unwrap(), None);
    assert_eq!(mysql.get_many(SPLIT, token, &[&key(b"none")]).await.unwrap(), None);
}

fn prefix_end() -> Vec<u8> {
    match prefix::range(&rows_of(SPLIT)).1 {
        std::ops::Bound::Excluded(end) => end,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_rows_go_as_far_as_the_server_takes_them() {
    let database = Database::new("large").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let mut conn = database.conn().await;
    let most: u64 = conn.query_first("SELECT @@max_allowed_packet").await.unwrap().unwrap();
    // All together twice what one message may have, and one that is nearly that alone.
    let mut delta = Delta::new();
    for i in 0..64_u8 {
        delta.put(&key(&[i]), &vec![i; most as usize / 32]);
    }
    delta.put(&key(&[64]), &vec![1; most as usize - 5000]);
    let outcome = mysql.commit(SPLIT, (token, 0), &snapshot(1), &delta, false).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Done);
    let rows = all(&mysql, token, 1000, 1 << 20).await;
    assert_eq!(rows.len(), 65);
    assert!(
        rows.iter()
            .zip(0..)
            .take(64)
            .all(|((_, value), i)| value.len() == most as usize / 32 && value[0] == i)
    );

    for (key, value, expect) in [
        (key(&[1]), vec![1; most as usize], "max_allowed_packet"),
        (key(&[1; 3001]), vec![1], "3001 bytes"),
        (b"another split's".to_vec(), vec![1], "belongs to another"),
    ] {
        let mut delta = Delta::new();
        delta.put(&super::key(&[65]), b"not alone");
        delta.put(&key, &value);
        match mysql.commit(SPLIT, (token, 1), &snapshot(2), &delta, false).await {
            Err(Failure::Fatal(text)) => assert!(text.contains(expect), "{text}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(mysql.observe(SPLIT).await.unwrap(), (token, 1));
    }
    // The longest key that there can be.
    let mut delta = Delta::new();
    delta.put(&key(&[0xff; 3000]), b"longest");
    assert_eq!(
        mysql.commit(SPLIT, (token, 1), &snapshot(2), &delta, false).await.unwrap(),
        CommitOutcome::Done
    );
    let found = mysql.get_many(SPLIT, token, &[&key(&[0xff; 3000]), &key(&[65])]).await.unwrap().unwrap();
    assert_eq!(found, [Some(b"longest".to_vec()), None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_small_messages_gets_small_messages() {
    let database = Database::new("small").await;
    let mut conn = database.conn().await;
    let before: u64 = conn.query_first("SELECT @@GLOBAL.max_allowed_packet").await.unwrap().unwrap();
    let small = super::outage::Ours::new(1);
    let url = small.run("start");
    small.sql("SET GLOBAL max_allowed_packet = 65536");
    let address = super::address(url.trim());
    let mysql = Mysql::open(&address, "job", "me").await.unwrap();
    let token = take(&mysql, 1).await;
    let mut delta = Delta::new();
    for i in 0..5000_u32 {
        delta.put(&key(&i.to_be_bytes()), &[b'v'; 100]);
        delta.delete(&key(&[&i.to_be_bytes()[..], &[b'd'; 90]].concat()));
    }
    let outcome = mysql.commit(SPLIT, (token, 0), &snapshot(1), &delta, false).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Done);
    assert_eq!(all(&mysql, token, 1000, 1 << 20).await.len(), 5000);
    // The tests' own server is as it was.
    let after: u64 = conn.query_first("SELECT @@GLOBAL.max_allowed_packet").await.unwrap().unwrap();
    assert_eq!(before, after);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_rows() {
    const N: u32 = 100_000;
    let database = Database::new("many").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let delta = |value: u8| {
        let mut delta = Delta::new();
        for i in 0..N {
            delta.put(&key(&i.wrapping_mul(0x9e37_79b1).to_be_bytes()), &[value; 100]);
        }
        delta
    };
    let rate = |what: &str, begin: Instant| {
        let elapsed = begin.elapsed();
        println!("{what}: {N} rows in {elapsed:?}, {:.0} a second", f64::from(N) / elapsed.as_secs_f64());
    };
    for (version, what) in [(0, "inserted"), (1, "updated")] {
        let delta = delta(version as u8);
        let begin = Instant::now();
        mysql.commit(SPLIT, (token, version), &snapshot(1), &delta, false).await.unwrap();
        rate(what, begin);
    }
    for most_rows in [1000, 10_000] {
        let begin = Instant::now();
        let rows = all(&mysql, token, most_rows, 8 << 20).await;
        rate(&format!("read in pages of {most_rows}"), begin);
        assert_eq!(rows.len(), N as usize);
        assert!(rows.iter().all(|(_, value)| *value == [1; 100]));
    }
    let keys: Vec<Vec<u8>> = (0..N).map(|i| key(&i.wrapping_mul(0x9e37_79b1).to_be_bytes())).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let begin = Instant::now();
    assert!(mysql.get_many(SPLIT, token, &keys).await.unwrap().unwrap().iter().all(Option::is_some));
    rate("read by key", begin);
    let begin = Instant::now();
    for key in &keys[..1000] {
        mysql.get_many(SPLIT, token, &[key]).await.unwrap();
    }
    println!("one key at a time: {:?} each", begin.elapsed() / 1000);
    let begin = Instant::now();
    for version in 2..202 {
        mysql.commit(SPLIT, (token, version), &snapshot(1), &Delta::new(), false).await.unwrap();
    }
    println!("an empty commit: {:?}", begin.elapsed() / 200);
    let mut gone = Delta::new();
    gone.delete_prefix(&rows_of(SPLIT));
    let begin = Instant::now();
    mysql.commit(SPLIT, (token, 202), &snapshot(1), &gone, false).await.unwrap();
    rate("removed under a prefix", begin);
    assert_eq!(all(&mysql, token, 10, 1000).await, []);
}
