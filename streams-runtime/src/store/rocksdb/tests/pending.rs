//! Commits in two steps: what reads see, what a reopen finds, what is refused.

use streams_core::store::local::{CommitId, Load, LocalCommits, Marks};

use super::*;

fn id(version: u64) -> CommitId {
    CommitId { epoch: 3, nonce: 77, version }
}

#[test]
fn nothing_pending_is_visible_and_it_survives_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = MemoryStore::new();
    let mut store = open(dir.path()).unwrap();
    for n in 1..=30 {
        let before = model_rows(&model);
        store.prepare(b"s", id(n), &delta(n)).unwrap();
        assert!(rows(&store).unwrap() == before, "pending rows are visible");
        if n % 3 == 0 {
            drop(store);
            store = open(dir.path()).unwrap();
            assert!(rows(&store).unwrap() == before, "pending rows are visible after a reopen");
        }
        assert_eq!(store.pending_id(b"s").unwrap(), Some(id(n)));
        assert_eq!(store.committed_id(b"s").unwrap(), (n > 1).then(|| id(n - 1)));
        if n % 4 == 0 {
            store.discard(b"s", id(n)).unwrap();
            assert!(rows(&store).unwrap() == before, "a discarded commit left rows");
            assert_eq!(store.pending_id(b"s").unwrap(), None);
            store.prepare(b"s", id(n), &delta(n)).unwrap();
        }
        store.promote(b"s", id(n)).unwrap();
        model.commit(&delta(n)).unwrap();
        assert!(rows(&store).unwrap() == model_rows(&model));
        let marks = Marks { committed: Some(id(n)), pending: None, load: Load::Complete };
        assert_eq!(store.marks(b"s").unwrap(), marks);
    }
    let mut left = store.database().raw_iterator_cf(family(store.database(), PENDING));
    left.seek_to_first();
    assert!(!left.valid(), "pieces of a pending commit were left behind");
}

#[test]
fn promoting_and_discarding_twice_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    store.prepare(b"s", id(1), &delta(1)).unwrap();
    store.promote(b"s", id(1)).unwrap();
    store.promote(b"s", id(1)).unwrap();
    store.discard(b"s", id(2)).unwrap();
    assert_eq!(head(&store).unwrap(), 1);
}

#[test]
fn steps_out_of_order_are_refused_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    store.prepare(b"s", id(1), &delta(1)).unwrap();
    let other = CommitId { nonce: 78, ..id(1) };
    let marks = store.marks(b"s").unwrap();
    for refused in [
        store.promote(b"s", other),
        store.discard(b"s", other),
        store.prepare(b"s", id(2), &delta(2)),
        store.prepare(b"s", id(1), &delta(1)),
        store.load(b"s", id(1), &delta(1), &Load::Complete),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(&error, StateError::Mismatch(text) if text.contains("split `s`")), "{error}");
    }
    assert_eq!(store.marks(b"s").unwrap(), marks);
    assert!(rows(&store).unwrap().is_empty());
    store.promote(b"s", id(1)).unwrap();
    assert!(store.promote(b"s", id(2)).is_err(), "what was never written was promoted");
}

#[test]
fn a_commit_between_two_pages_leaves_the_copy_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let begun = Load::Cursor(Vec::new());
    store.load(b"s", id(1), &Delta::new(), &begun).unwrap();
    store.prepare(b"s", id(2), &delta(1)).unwrap();
    store.promote(b"s", id(2)).unwrap();
    drop(store);
    let mut store = open(dir.path()).unwrap();
    let marks = Marks { committed: Some(id(2)), pending: None, load: begun };
    assert_eq!(store.marks(b"s").unwrap(), marks);
    store.load(b"s", id(2), &delta(2), &Load::Complete).unwrap();
    assert_eq!(store.marks(b"s").unwrap().load, Load::Complete);
}

#[test]
fn splits_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let splits: [&[u8]; 4] = [b"", b"a", b"a\0\0\0\0", b"a\0\0\0\0\0\0\0\0"];
    let put = |split: usize| {
        let mut delta = Delta::new();
        delta.put(&[u8::try_from(split).unwrap(), 9], b"v");
        delta
    };
    for (at, split) in splits.into_iter().enumerate() {
        store.prepare(split, id(at as u64), &put(at)).unwrap();
    }
    store.promote(splits[1], id(1)).unwrap();
    store.discard(splits[2], id(2)).unwrap();
    assert_eq!(rows(&store).unwrap(), [(vec![1, 9], b"v".to_vec())]);
    assert_eq!(store.pending_id(splits[0]).unwrap(), Some(id(0)));
    store.promote(splits[3], id(3)).unwrap();
    store.promote(splits[0], id(0)).unwrap();
    assert_eq!(rows(&store).unwrap().len(), 3);
    store.forget(splits[1], &[1]).unwrap();
    assert_eq!(store.marks(splits[1]).unwrap(), Marks::default());
    assert_eq!(rows(&store).unwrap().len(), 2);
}

#[test]
fn a_load_goes_on_at_its_cursor() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    for page in 0..4_u8 {
        let mut delta = Delta::new();
        delta.put(&[b's', page], &[page]);
        let load = if page == 3 { Load::Complete } else { Load::Cursor(vec![page]) };
        store.load(b"s", id(7), &delta, &load).unwrap();
        drop(store);
        store = open(dir.path()).unwrap();
        assert_eq!(store.marks(b"s").unwrap(), Marks { committed: Some(id(7)), pending: None, load });
        assert_eq!(rows(&store).unwrap().len(), usize::from(page) + 1);
    }
    // A commit while a load is under way leaves the cursor where it was.
    store.load(b"s", id(7), &Delta::new(), &Load::Cursor(b"x".to_vec())).unwrap();
    store.prepare(b"s", id(8), &delta(1)).unwrap();
    store.promote(b"s", id(8)).unwrap();
    let marks = store.marks(b"s").unwrap();
    assert_eq!((marks.committed, marks.load), (Some(id(8)), Load::Cursor(b"x".to_vec())));
}

#[test]
fn pieces_of_any_size_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, mut model) = (open(dir.path()).unwrap(), MemoryStore::new());
    let mut large = Delta::new();
    large.put(b"", b"");
    for n in 0..200_000_u32 {
        large.put(&n.to_be_bytes(), &[7; 12]);
    }
    large.delete_prefix(&[0, 0, 1]);
    large.put(b"huge", &vec![5; 5_000_000]);
    large.delete(&7_u32.to_be_bytes());
    store.prepare(b"s", id(1), &large).unwrap();
    assert!(rows(&store).unwrap().is_empty());
    drop(store);
    let mut store = open(dir.path()).unwrap();
    store.promote(b"s", id(1)).unwrap();
    model.commit(&large).unwrap();
    assert!(rows(&store).unwrap() == model_rows(&model));

    store.prepare(b"s", id(2), &Delta::new()).unwrap();
    store.promote(b"s", id(2)).unwrap();
    assert_eq!(store.committed_id(b"s").unwrap(), Some(id(2)));
    assert!(rows(&store).unwrap() == model_rows(&model));
}
