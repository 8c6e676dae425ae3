//! Logs cut short, flipped bytes, missing files: an error, or the rows of exactly one commit.
//!
//! `STREAMS_ROCKS_FLIPS` positions a file (default 120) are tried; prints one line of JSON.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// What a copy of the store came up with: the number of a commit, or the text of an error.
///
/// Rows that are those of no commit fail the test.
#[track_caller]
fn outcome(dir: &Path, states: &[Rows], what: &str) -> Result<u64, String> {
    let read = || {
        let store = open(dir)?;
        // Damage in a table shows when its rows are read.
        Ok::<_, StateError>((head(&store)?, rows(&store)?))
    };
    let (found, rows) = read().map_err(|error: StateError| error.to_string())?;
    assert!(states.get(usize::try_from(found).unwrap()) == Some(&rows), "{what}: rows of no commit");
    Ok(found)
}

/// Rows after each commit.
fn states(n_commits: u64) -> Vec<Rows> {
    let mut model = MemoryStore::new();
    let mut states = vec![Vec::new()];
    for n in 1..=n_commits {
        advance(&mut model, n - 1, n);
        states.push(model_rows(&model));
    }
    states
}

/// A copy taken while the store is open, as a kill leaves it.
fn killed_copy(n_commits: u64) -> TempDir {
    let (dir, target) = (scratch(), scratch());
    let mut store = open(dir.path()).unwrap();
    for n in 1..=n_commits {
        store.commit(&delta(n)).unwrap();
    }
    // Files must not come and go while they are copied.
    store.database().wait_for_compact(&rocksdb::WaitForCompactOptions::default()).unwrap();
    copy(dir.path(), target.path());
    target
}

fn is_log(name: &str) -> bool {
    name.ends_with(".log")
}

#[test]
fn a_short_log_is_an_error_and_never_half_a_commit() {
    const COMMITS: u64 = 6;
    let states = states(COMMITS);
    let killed = killed_copy(COMMITS);
    let logs = files(killed.path(), is_log);
    let log = logs.last().unwrap().file_name().unwrap().to_owned();
    let bytes = fs::read(logs.last().unwrap()).unwrap();
    assert!(bytes.len() > 30_000, "the log has {} bytes", bytes.len());

    let step = usize::try_from(bytes.len() as u64 / number("STREAMS_ROCKS_FLIPS", 120)).unwrap();
    let mut found = Vec::new();
    let (mut n_cut, mut n_refused) = (0, 0);
    for len in (0..bytes.len()).step_by(step).chain([1, 6, 7, 8, bytes.len() - 1]) {
        // As it is: the commits that are missing were acknowledged.
        let dir = scratch();
        copy(killed.path(), dir.path());
        fs::write(dir.path().join(FOLDER_NAME).join(&log), &bytes[..len]).unwrap();
        n_cut += 1;
        match outcome(dir.path(), &states, &format!("cut to {len}")) {
            Ok(n) => assert_eq!(n, COMMITS, "cut to {len}: an older commit in silence"),
            Err(error) => {
                n_refused += 1;
                assert!(error.contains("is damaged") && error.contains("restore it from a copy"), "{error}");
            }
        }
        // After a power loss the acknowledgements may not have been written yet.
        let dir = scratch();
        copy(killed.path(), dir.path());
        fs::write(dir.path().join(FOLDER_NAME).join(&log), &bytes[..len]).unwrap();
        fs::remove_file(dir.path().join(FOLDER_NAME).join(acknowledged::FILE_NAME)).unwrap();
        Acknowledged::create(&dir.path().join(FOLDER_NAME), 0).unwrap();
        found.push((
            len,
            outcome(dir.path(), &states, &format!("cut to {len}, unknown acknowledgements")).unwrap(),
        ));
    }
    assert!(n_refused > n_cut / 2, "{n_refused} of {n_cut} cuts were refused");
    found.sort_unstable();
    assert!(found.is_sorted_by_key(|(_, n)| *n), "a longer log gave an older commit: {found:?}");
    let different = found.iter().map(|(_, n)| *n).collect::<std::collections::BTreeSet<_>>().len();
    assert!(different > 3, "cuts gave only {different} commits");
    println!(
        "{{\"claim\":\"rocksdb_short_log\",\"cuts\":{n_cut},\"refused\":{n_refused},\"commits_seen\":{different},\
         \"whole\":true}}"
    );
}

/// What a copy with one flipped byte comes up with.
fn flipped(killed: &Path, name: &str, at: usize, states: &[Rows]) -> Result<u64, String> {
    let dir = scratch();
    copy(killed, dir.path());
    let file = dir.path().join(FOLDER_NAME).join(name);
    let mut bytes = fs::read(&file).unwrap();
    bytes[at] ^= if at.is_multiple_of(2) { 0xff } else { 1 };
    fs::write(&file, bytes).unwrap();
    outcome(dir.path(), states, &format!("{name}, byte {at} flipped"))
}

#[test]
fn flipped_bytes_are_an_error_or_harmless() {
    const COMMITS: u64 = 40;
    let states = states(COMMITS);
    let killed = killed_copy(COMMITS);
    let tries = usize::try_from(number("STREAMS_ROCKS_FLIPS", 120)).unwrap();
    let mut flips = Vec::new();
    for file in files(killed.path(), |name| !name.starts_with("LO") && !name.starts_with("OPTIONS")) {
        let len = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
        flips.extend((0..len).step_by((len / tries).max(1)).map(|at| (file.clone(), at)));
    }
    let (next, n_refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Several at once: a database that finds damage while it compacts takes a second to close.
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some((file, at)) = flips.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = file.file_name().unwrap().to_str().unwrap();
                    match flipped(killed.path(), name, *at, &states) {
                        Ok(n) => {
                            assert_eq!(n, COMMITS, "{name}, byte {at} flipped: an older commit in silence")
                        }
                        Err(error) => {
                            n_refused.fetch_add(1, Ordering::Relaxed);
                            assert!(error.contains(FOLDER_NAME), "{name}, byte {at} flipped: {error}");
                        }
                    }
                }
            });
        }
    });
    let (n_flips, n_refused) = (flips.len(), n_refused.into_inner());
    assert!(n_refused > n_flips / 4, "only {n_refused} of {n_flips} flips were noticed");
    println!("{{\"claim\":\"rocksdb_flips\",\"flips\":{n_flips},\"refused\":{n_refused},\"whole\":true}}");
}

#[test]
fn a_missing_file_is_an_error() {
    let (sample, _) = sample(40);
    let mut n_removed = 0;
    for file in files(sample.path(), |name| {
        ["CURRENT", acknowledged::FILE_NAME].contains(&name)
            || name.ends_with(".sst")
            || is_log(name)
            || name.starts_with("MANIFEST")
    }) {
        let dir = scratch();
        copy(sample.path(), dir.path());
        fs::remove_file(dir.path().join(FOLDER_NAME).join(file.file_name().unwrap())).unwrap();
        let error = open(dir.path()).map(drop).unwrap_err().to_string();
        assert!(error.contains("state.rocksdb"), "{}: {error}", file.display());
        n_removed += 1;
    }
    assert!(n_removed >= 5, "only {n_removed} files were removed");
}
