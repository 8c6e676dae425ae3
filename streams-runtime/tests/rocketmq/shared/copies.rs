//! What an instance's copy of the shared rows holds when it has ended.

use std::collections::{BTreeMap, BTreeSet};

use streams_core::protocol::ids::{Split, Stage};
use streams_core::protocol::worker::rows_of;
use streams_core::store::Store as _;
use streams_core::store::local::{LocalCommits as _, Marks};
use streams_runtime::store::rocksdb::{RocksOptions, RocksStore};

use super::Shared;

/// The copy of an instance that has ended has rows and marks of the queues that it owned, and of no others; `owners`
/// is what the database said in front of its end.
pub(super) fn copies_are_its_own(shared: &Shared, number: usize, owners: &BTreeMap<String, BTreeSet<Split>>) {
    let dir = shared.fleet.place.path(&format!("state-{number}"));
    let store = RocksStore::open(&dir, RocksOptions::default()).unwrap();
    let name = String::from_utf8(store.get(b"instance").unwrap().unwrap()).unwrap();
    let owned = owners.get(&format!("{}@{name}", shared.fleet.group)).unwrap();
    let all: BTreeSet<Split> = owners.values().flatten().copied().collect();
    assert!(owned.len() < all.len(), "other instances have a share: {owners:?}");

    let marked = all.iter().filter(|split| store.marks(&rows_of(**split)).unwrap() != Marks::default());
    let marked: BTreeSet<Split> = marked.copied().collect();
    assert_eq!(&marked, owned, "instance {number} has marks of its own queues alone");
    let mut copied: BTreeSet<Split> = BTreeSet::new();
    let read = store.scan(b"r", &mut |key, _| {
        let [_, a, b, c, d] = *key.first_chunk().unwrap();
        copied.insert(Split { stage: Stage(u16::from_be_bytes([a, b])), queue: u16::from_be_bytes([c, d]) });
        Ok(())
    });
    read.unwrap();
    assert!(copied.is_subset(owned) && !copied.is_empty(), "instance {number}: {copied:?} of {owned:?}");
}
