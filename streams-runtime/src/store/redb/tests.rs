//! Tests on real files: the conformance kit, copies, damage, a second open.

use std::fs;

use streams_core::store::conformance::{self, Reopened};
use tempfile::TempDir;

use super::*;

fn put(store: &mut RedbStore, key: &[u8], value: &[u8]) {
    let mut delta = Delta::new();
    delta.put(key, value);
    store.commit(&delta).unwrap();
}

fn rows(store: &RedbStore) -> Rows {
    let mut rows = Vec::new();
    store
        .scan(b"", &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(())
        })
        .unwrap();
    rows
}

/// How the process that wrote a file ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Closed,
    Killed,
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A file with three commits, its bytes, and its rows.
fn sample(end: End) -> (TempDir, Vec<u8>, Rows) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE_NAME);
    let mut store = RedbStore::open(dir.path()).unwrap();
    for round in 0..3_u32 {
        let mut delta = Delta::new();
        for row in 0..100_u32 {
            delta.put(&row.to_be_bytes(), &round.to_be_bytes().repeat(20));
        }
        store.commit(&delta).unwrap();
    }
    let rows = rows(&store);
    let killed = fs::read(&file).unwrap();
    drop(store);
    let bytes = if end == End::Killed { killed } else { fs::read(&file).unwrap() };
    (dir, bytes, rows)
}

#[test]
fn a_full_disk_and_missing_rights_have_remedies() {
    let check = |kind: ErrorKind, expect: &str| {
        let error = redb::Error::Io(std::io::Error::from(kind));
        let told = failed(Path::new("st/state.redb"), "committing to", &error).to_string();
        assert!(told.contains("st/state.redb") && told.contains(expect), "{told}");
    };
    check(ErrorKind::StorageFull, "there is no space");
    check(ErrorKind::QuotaExceeded, "make some and start again, nothing that was committed is lost");
    check(ErrorKind::PermissionDenied, "check who owns it and its directory");
    check(ErrorKind::ReadOnlyFilesystem, "whether they can be written");
    check(ErrorKind::TimedOut, "check the disk");
}

#[test]
fn conforms() {
    let dir = tempfile::tempdir().unwrap();
    conformance::check(Reopened::Kept, &mut || Box::new(RedbStore::open(dir.path()).unwrap()));
}

#[test]
fn directories_are_created_and_nothing_else_is_left_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    put(&mut RedbStore::open(&deep).unwrap(), b"k", b"v");
    assert_eq!(rows(&RedbStore::open(&deep).unwrap()), [(b"k".to_vec(), b"v".to_vec())]);
    let names: Vec<_> = fs::read_dir(&deep).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [FILE_NAME]);
}

#[test]
fn a_copy_between_commits_holds_the_last_one() {
    let (dir, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = RedbStore::open(dir.path()).unwrap();
    for round in 0..20_u8 {
        put(&mut store, &[round], &[round; 500]);
        // As after a kill: the store is neither dropped nor closed.
        let copy = copies.path().join(round.to_string());
        fs::create_dir(&copy).unwrap();
        fs::copy(dir.path().join(FILE_NAME), copy.join(FILE_NAME)).unwrap();
        assert_eq!(rows(&RedbStore::open(&copy).unwrap()), rows(&store));
    }
}

#[test]
fn a_second_open_is_refused_and_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let first = RedbStore::open(dir.path()).unwrap();
    let error = RedbStore::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains(&dir.path().join(FILE_NAME).display().to_string()), "{error}");
    assert!(error.contains("in use by another process; stop that process"), "{error}");
    drop(first);
    RedbStore::open(dir.path()).unwrap();
}

#[test]
fn other_files_are_refused_and_kept() {
    for content in [&b""[..], b"x", b"name,value\na,1\n", &[0; 100_000]] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE_NAME), content).unwrap();
        let error = RedbStore::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("is no state file") && error.contains("move it away"), "{error}");
        assert_eq!(fs::read(dir.path().join(FILE_NAME)).unwrap(), content);
    }
    let dir = tempfile::tempdir().unwrap();
    drop(Database::create(dir.path().join(FILE_NAME)).unwrap());
    let error = RedbStore::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("was written by another program"), "{error}");

    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RedbStore::open(&file).unwrap_err().to_string();
    assert!(error.contains("opening state file"), "{error}");
}

#[test]
fn a_truncated_file_is_damaged_or_whole() {
    for end in [End::Closed, End::Killed] {
        let (dir, bytes, want) = sample(end);
        let file = dir.path().join(FILE_NAME);
        let edges = [1, 8, 9, 63, 64, 319, 320, 4095, 4096, bytes.len() - 1];
        for len in (1..bytes.len()).step_by(1021).chain(edges) {
            fs::write(&file, &bytes[..len]).unwrap();
            match RedbStore::open(dir.path()) {
                Ok(store) => assert!(rows(&store) == want, "{end:?}, cut to {len}: other rows"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(
                        text.contains("damaged") && text.contains("move it away"),
                        "cut to {len}: {text}"
                    );
                }
            }
        }
    }
}

/// Position of the byte that says which commit slot is the current one; no sum covers it.
const CURRENT_SLOT: usize = 9;

#[test]
fn flipped_bytes_are_damage_or_harmless() {
    for (end, mask) in [(End::Closed, 0xff), (End::Killed, 0xff), (End::Killed, 1)] {
        let (dir, bytes, want) = sample(end);
        let file = dir.path().join(FILE_NAME);
        // The header is tried whole, the rest in steps.
        let mut n_refused = 0;
        for at in (0..320).chain((320..bytes.len()).step_by(487)) {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            fs::write(&file, &flipped).unwrap();
            match RedbStore::open(dir.path()) {
                Ok(store) => assert!(
                    rows(&store) == want || at == CURRENT_SLOT,
                    "{end:?}, byte {at} ^ {mask}: other rows"
                ),
                Err(error) => {
                    n_refused += 1;
                    let text = error.to_string();
                    assert!(text.contains(FILE_NAME), "byte {at} flipped: {text}");
                }
            }
        }
        assert!(n_refused > 30, "{end:?}: only {n_refused} flips were noticed");
    }
}

#[test]
fn an_empty_delta_writes_nothing() {
    let (dir, bytes, _) = sample(End::Closed);
    let mut store = RedbStore::open(dir.path()).unwrap();
    let opened = fs::read(dir.path().join(FILE_NAME)).unwrap();
    store.commit(&Delta::new()).unwrap();
    assert_eq!(fs::read(dir.path().join(FILE_NAME)).unwrap(), opened);
    assert_eq!(bytes.len(), opened.len());
}
