//! What every store must do, as a test kit: call [`check`] from a test of your own store.
//!
//! It covers what the runtime relies on and what stores get wrong: key order, prefixes at the edge of the
//! byte range, the order of writes inside a delta, reopening, and a long random run against a model. It
//! cannot show that a commit survives a power loss; that needs a test with knowledge of the store's files.

use super::memory::MemoryStore;
use super::{Delta, Store};
use crate::error::StateError;

/// What a store holds after it has been dropped and opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopened {
    /// The rows of the last commit.
    Kept,
    /// Nothing.
    Empty,
}

/// Opens the store under test; a store with a place of its own opens the same place each time.
pub type Open<'a> = dyn FnMut() -> Box<dyn Store> + 'a;

/// Runs the whole kit. Rows that the store holds at the start are removed.
///
/// At most one store is open at any time.
///
/// # Panics
/// When the store breaks a rule or fails; the text says which rule.
///
/// # Examples
/// ```
/// use streams_core::store::conformance::{self, Reopened};
/// use streams_core::store::memory::MemoryStore;
///
/// conformance::check(Reopened::Empty, &mut || Box::new(MemoryStore::new()));
/// ```
pub fn check(reopened: Reopened, open: &mut Open<'_>) {
    check_empty(open);
    check_rows(open);
    check_edge_keys(open);
    check_scan(open);
    check_delete_prefix(open);
    check_order_of_writes(open);
    check_large_values(open);
    check_reopen(reopened, open);
    check_random_run(reopened, open);
}

/// An empty store answers, and an empty delta is a commit.
fn check_empty(open: &mut Open<'_>) {
    let mut store = cleared(open);
    expect_rows(&*store, b"", &[], "an empty store");
    assert_eq!(ok(store.get(b"key"), "get of a missing row"), None, "an empty store returned a row");
    commit(&mut *store, |_| {});
    commit(&mut *store, |delta| {
        delta.delete(b"missing");
        delta.delete_prefix(b"missing");
    });
    expect_rows(&*store, b"", &[], "deleting missing rows");
}

/// Rows are set, replaced and removed, and a key is not taken for its prefix.
fn check_rows(open: &mut Open<'_>) {
    let mut store = cleared(open);
    commit(&mut *store, |delta| {
        delta.put(b"ab", b"1");
        delta.put(b"abc", b"2");
    });
    expect_rows(&*store, b"", &[(b"ab", b"1"), (b"abc", b"2")], "two rows");
    assert_eq!(ok(store.get(b"a"), "get"), None, "a prefix of a key was taken for the key");
    commit(&mut *store, |delta| {
        delta.put(b"abc", b"a longer value");
        delta.delete(b"ab");
    });
    expect_rows(&*store, b"", &[(b"abc", b"a longer value")], "a row replaced and a row removed");
    commit(&mut *store, |delta| delta.put(b"abc", b""));
    expect_rows(&*store, b"", &[(b"abc", b"")], "a value replaced by an empty one");
}

/// Empty keys and values are rows like others, and so are keys of any bytes and of some length.
fn check_edge_keys(open: &mut Open<'_>) {
    let mut store = cleared(open);
    let long = [7_u8; 2000];
    let rows: &[(&[u8], &[u8])] = &[
        (b"", b"empty key"),
        (b"\0", b""),
        (b"\0\0", b"\0"),
        (&long, b"long"),
        (b"%_'\\", b"sql"),
        (b"\xff", b""),
    ];
    commit(&mut *store, |delta| rows.iter().for_each(|(key, value)| delta.put(key, value)));
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    expect_rows(&*store, b"", &sorted, "keys at the edges");
    commit(&mut *store, |delta| delta.delete(b""));
    expect_rows(&*store, b"", sorted.get(1..).unwrap_or_default(), "deleting the empty key");
}

/// A scan visits exactly the rows under a prefix, by unsigned bytes, shorter first, and stops when told.
fn check_scan(open: &mut Open<'_>) {
    let mut store = cleared(open);
    let keys: [&[u8]; 9] = [b"", b"\0", b"a", b"a\0", b"a\x7f", b"a\x80", b"a\xff", b"a\xff\xff", b"b"];
    commit(&mut *store, |delta| keys.iter().rev().for_each(|key| delta.put(key, key)));
    for prefix in [&b""[..], b"a", b"a\x7f", b"a\xff", b"a\xff\xff", b"b", b"c", b"\xff"] {
        let want: Vec<(&[u8], &[u8])> =
            keys.iter().filter(|key| key.starts_with(prefix)).map(|key| (*key, *key)).collect();
        expect_rows(&*store, prefix, &want, "a scan");
    }
    let mut n_visits = 0;
    let stopped = store.scan(b"a", &mut |_, _| {
        n_visits += 1;
        if n_visits == 2 { Err(StateError::Store("stop".to_owned())) } else { Ok(()) }
    });
    assert!(
        matches!(&stopped, Err(StateError::Store(text)) if text == "stop"),
        "a scan returned {stopped:?} instead of its visitor's error"
    );
    assert_eq!(n_visits, 2, "a scan went on after its visitor's error");
}

/// A prefix removes what starts with it and nothing else, also where the byte range ends.
fn check_delete_prefix(open: &mut Open<'_>) {
    let keys: [&[u8]; 10] =
        [b"", b"\0", b"a", b"a\xfe", b"a\xff", b"a\xff\0", b"b", b"\xff", b"\xff\xff", b"\xff\xff\x01"];
    let mut store = cleared(open);
    for prefix in [&b"a"[..], b"a\xff", b"\xff", b"\xff\xff", b"\xff\xff\xff", b"\0", b"c", b""] {
        commit(&mut *store, |delta| keys.iter().for_each(|key| delta.put(key, b"x")));
        commit(&mut *store, |delta| delta.delete_prefix(prefix));
        let want: Vec<(&[u8], &[u8])> =
            keys.iter().filter(|key| !key.starts_with(prefix)).map(|key| (*key, &b"x"[..])).collect();
        expect_rows(&*store, b"", &want, &format!("deleting the prefix {prefix:?}"));
    }
}

/// The writes of one delta apply in their order; each sees those before it.
fn check_order_of_writes(open: &mut Open<'_>) {
    let mut store = cleared(open);
    commit(&mut *store, |delta| delta.put(b"a/old", b"0"));
    commit(&mut *store, |delta| {
        delta.put(b"a/1", b"gone");
        delta.put(b"a/2", b"gone");
        delta.delete_prefix(b"a/");
        delta.put(b"a/2", b"first");
        delta.put(b"a/2", b"second");
        delta.put(b"b", b"gone");
        delta.delete(b"b");
        delta.put(b"c", b"gone");
        delta.delete(b"c");
        delta.put(b"c", b"back");
    });
    expect_rows(&*store, b"", &[(b"a/2", b"second"), (b"c", b"back")], "the order of writes in a delta");
    commit(&mut *store, |delta| {
        delta.put(b"d", b"1");
        delta.delete_prefix(b"");
    });
    expect_rows(&*store, b"", &[], "a delta that ends by clearing the store");
}

/// Values need not fit a page, a packet or a buffer.
fn check_large_values(open: &mut Open<'_>) {
    let mut store = cleared(open);
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251).to_le_bytes()).map(|[low, ..]| low).collect();
    let medium = large.get(..70_000).unwrap_or_default();
    commit(&mut *store, |delta| {
        delta.put(b"large", &large);
        delta.put(b"medium", medium);
        delta.put(b"small", b"s");
    });
    expect_rows(&*store, b"", &[(b"large", &large), (b"medium", medium), (b"small", b"s")], "large values");
    commit(&mut *store, |delta| {
        delta.put(b"large", b"now small");
        delta.put(b"small", medium);
    });
    expect_rows(
        &*store,
        b"",
        &[(b"large", b"now small"), (b"medium", medium), (b"small", medium)],
        "a large value replaced by a small one and the reverse",
    );
}

/// Dropping the store loses nothing that was committed.
fn check_reopen(reopened: Reopened, open: &mut Open<'_>) {
    let mut store = cleared(open);
    commit(&mut *store, |delta| delta.put(b"kept", b"1"));
    for round in 0..3_u8 {
        commit(&mut *store, |delta| delta.put(b"round", &[round]));
        drop(store);
        store = open();
        match reopened {
            Reopened::Kept => {
                expect_rows(&*store, b"", &[(b"kept", b"1"), (b"round", &[round])], "reopening the store");
            }
            Reopened::Empty => expect_rows(&*store, b"", &[], "reopening the store"),
        }
    }
}

/// A few thousand random writes leave the same rows as in the model, also across reopening.
fn check_random_run(reopened: Reopened, open: &mut Open<'_>) {
    let mut noise = Noise(0x2545_f491_4f6c_dd1d);
    let mut store = cleared(open);
    let mut model = MemoryStore::new();
    for round in 0..200_u32 {
        let mut delta = Delta::new();
        for _ in 0..noise.below(30) {
            let key = noise.key();
            match noise.below(20) {
                0 => delta.delete_prefix(&key),
                1..=4 => delta.delete(&key),
                _ => {
                    let value = vec![noise.byte(); noise.below(300)];
                    delta.put(&key, &value);
                }
            }
        }
        ok(store.commit(&delta), "commit in the random run");
        ok(model.commit(&delta), "commit of the model");
        if reopened == Reopened::Kept && noise.below(20) == 0 {
            drop(store);
            store = open();
        }
        for prefix in [Vec::new(), noise.key()] {
            let (found, want) = (rows(&*store, &prefix), rows(&model, &prefix));
            assert!(found == want, "random run, round {round}: rows differ under the prefix {prefix:?}");
        }
        let key = noise.key();
        assert_eq!(
            ok(store.get(&key), "get in the random run"),
            ok(model.get(&key), "get of the model"),
            "random run, round {round}: the row {key:?} differs"
        );
    }
}

/// Xorshift64*, so that each run writes the same rows and the kit needs no dependency.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u32) -> usize {
        let number = (self.next() >> 32) % u64::from(bound);
        usize::try_from(number).expect("it is below a small bound")
    }

    fn byte(&mut self) -> u8 {
        let [.., high] = self.next().to_le_bytes();
        high
    }

    /// Short, from few letters, so that keys meet again and prefixes have something to remove.
    fn key(&mut self) -> Vec<u8> {
        let len = self.below(5);
        (0..len).map(|_| if self.below(4) == 0 { 0xff } else { b'a' + (self.byte() & 1) }).collect()
    }
}

fn cleared(open: &mut Open<'_>) -> Box<dyn Store> {
    let mut store = open();
    commit(&mut *store, |delta| delta.delete_prefix(b""));
    store
}

#[track_caller]
fn commit(store: &mut dyn Store, fill: impl FnOnce(&mut Delta)) {
    let mut delta = Delta::new();
    fill(&mut delta);
    ok(store.commit(&delta), "commit");
}

#[track_caller]
fn ok<T>(result: Result<T, StateError>, what: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what} failed: {error}"),
    }
}

/// Compares in the order of the visits; a map would forgive a store that is out of order.
#[track_caller]
fn expect_rows(store: &dyn Store, prefix: &[u8], want: &[(&[u8], &[u8])], rule: &str) {
    let found = rows(store, prefix);
    let found_keys: Vec<&[u8]> = found.iter().map(|(key, _)| key.as_slice()).collect();
    let want_keys: Vec<&[u8]> = want.iter().map(|(key, _)| *key).collect();
    assert_eq!(found_keys, want_keys, "{rule}: keys under the prefix {prefix:?}");
    for ((key, value), (_, want)) in found.iter().zip(want) {
        // Values may be megabytes, so they are not printed.
        assert!(value == want, "{rule}: the scanned value of {key:?} differs");
        assert!(
            ok(store.get(key), "get").as_ref() == Some(value),
            "{rule}: `get` and `scan` differ in the value of {key:?}"
        );
    }
}

#[track_caller]
fn rows(store: &dyn Store, prefix: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let scanned = store.scan(prefix, &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(())
    });
    ok(scanned, "scan");
    rows
}

#[cfg(test)]
mod tests;
