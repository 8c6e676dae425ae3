//! Tests on real directories: the conformance kit, other directories, a second open, a full disk; and what the
//! tests about pending commits, kills, damage and memory share.

mod budget;
mod damage;
mod kills;
mod pending;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use streams_core::store::conformance::{self, Reopened};
use streams_core::store::memory::MemoryStore;
use tempfile::TempDir;

use super::*;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn open(dir: &Path) -> Result<RocksStore, StateError> {
    // A small budget brings flushes and compactions into small tests.
    RocksStore::open(dir, RocksOptions::default().with_memory_bytes(1024 * 1024))
}

fn rows(store: &RocksStore) -> Result<Rows, StateError> {
    let mut rows = Vec::new();
    store.scan(b"", &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    Ok(rows)
}

fn model_rows(model: &MemoryStore) -> Rows {
    model.rows().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// The `n`-th commit: its number under `head`, rows that come, change and go, and now and then a large value,
/// which the log takes in several writes.
fn delta(n: u64) -> Delta {
    let mut delta = Delta::new();
    delta.put(b"head", &n.to_be_bytes());
    if n.is_multiple_of(7) {
        delta.delete_prefix(&[u8::try_from(n % 5).unwrap()]);
    }
    for row in 0..60_u64 {
        let key = [&[u8::try_from(row % 5).unwrap()][..], &(row * n % 997).to_be_bytes()].concat();
        delta.put(&key, &n.to_be_bytes().repeat(if row == 7 { 400 } else { 4 }));
    }
    if n.is_multiple_of(11) {
        delta.put(b"large", &n.to_be_bytes().repeat(60_000));
    }
    delta.delete(&[&[1][..], &(n % 997).to_be_bytes()].concat());
    delta
}

/// The number of the last commit in a store.
fn head(store: &RocksStore) -> Result<u64, StateError> {
    Ok(store.get(b"head")?.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap())))
}

/// Brings a model to the `n`-th commit.
fn advance(model: &mut MemoryStore, from: u64, to: u64) {
    for n in from + 1..=to {
        model.commit(&delta(n)).unwrap();
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// This test program again, as a process of its own that runs one test.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        &format!("store::rocksdb::tests::{test}"),
        "--nocapture",
        "--test-threads",
        "1",
    ]);
    command.stdin(Stdio::null());
    command
}

/// A directory for what need not survive anything: in memory where there is such a place.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Files of a database with a name that ends so, the oldest first.
fn files(dir: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let names = fs::read_dir(dir.join(FOLDER_NAME)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        names.filter(|path| fits(path.file_name().unwrap().to_str().unwrap())).collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join(FOLDER_NAME)).unwrap();
    for file in files(from, |name| name != "LOCK") {
        fs::copy(&file, to.join(FOLDER_NAME).join(file.file_name().unwrap())).unwrap();
    }
}

#[test]
fn conforms() {
    let dir = tempfile::tempdir().unwrap();
    conformance::check(Reopened::Kept, &mut || Box::new(open(dir.path()).unwrap()));
    let dir = tempfile::tempdir().unwrap();
    conformance::check(Reopened::Kept, &mut || {
        Box::new(RocksStore::open(dir.path(), RocksOptions::default()).unwrap())
    });
}

#[test]
fn a_prefix_with_many_rows_goes_as_a_range() {
    for prefix in [&b"\xff\xff"[..], b"m", b""] {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, mut model) = (open(dir.path()).unwrap(), MemoryStore::new());
        let both = |store: &mut RocksStore, model: &mut MemoryStore, delta: &Delta| {
            store.commit(delta).unwrap();
            model.commit(delta).unwrap();
            assert!(rows(store).unwrap() == model_rows(model), "{prefix:?}");
        };
        let mut delta = Delta::new();
        for n in 0..500_u32 {
            for start in [&b"\xff\xff"[..], b"l", b"m", b"n"] {
                delta.put(&[start, &n.to_be_bytes()].concat(), b"v");
            }
        }
        both(&mut store, &mut model, &delta);
        delta.clear();
        delta.delete_prefix(prefix);
        delta.put(&[prefix, b"new"].concat(), b"v");
        both(&mut store, &mut model, &delta);
        // Rows of the same delta go too, also where none is behind them.
        delta.clear();
        delta.put(&[prefix, &[0xff; 9]].concat(), b"gone");
        delta.delete_prefix(prefix);
        both(&mut store, &mut model, &delta);
        drop(store);
        assert!(rows(&open(dir.path()).unwrap()).unwrap() == model_rows(&model), "{prefix:?}, reopened");
    }
}

#[test]
fn directories_are_created_and_nothing_else_is_left_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    open(&deep).unwrap().commit(&delta(1)).unwrap();
    assert_eq!(head(&open(&deep).unwrap()).unwrap(), 1);
    let names: Vec<_> = fs::read_dir(&deep).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [FOLDER_NAME]);
}

#[test]
fn a_second_open_is_refused_and_names_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path()).unwrap();
    let error = open(dir.path()).unwrap_err().to_string();
    assert!(error.contains(&dir.path().join(FOLDER_NAME).display().to_string()), "{error}");
    assert!(error.contains("in use by another process; stop that process"), "{error}");
    // A clone keeps it open.
    let clone = first.clone();
    drop(first);
    open(dir.path()).unwrap_err();
    drop(clone);
    open(dir.path()).unwrap();
}

/// Not a test of its own: opens the store of another process and says what happened.
#[test]
fn open_as_child() {
    let Ok(dir) = std::env::var("STREAMS_ROCKS_OPEN") else { return };
    println!("opened: {:?}", open(Path::new(&dir)).map(drop).map_err(|error| error.to_string()));
}

#[test]
fn another_process_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    let said = || {
        let output = again("open_as_child").env("STREAMS_ROCKS_OPEN", dir.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = said();
    assert!(refused.contains("in use by another process"), "{refused}");
    drop(store);
    let opened = said();
    assert!(opened.contains("opened: Ok"), "{opened}");
}

#[test]
fn other_directories_are_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(FOLDER_NAME);
    fs::write(&folder, "text").unwrap();
    let error = open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is no state of this program (it is a file)"), "{error}");
    assert_eq!(fs::read(&folder).unwrap(), b"text");

    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(FOLDER_NAME);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("notes"), "text").unwrap();
    let error = open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("it has no file CURRENT") && error.contains("another state directory"), "{error}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);

    // A database of another program.
    let dir = tempfile::tempdir().unwrap();
    drop(DB::open_default(dir.path().join(FOLDER_NAME)).unwrap());
    let error = open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is no state of this program"), "{error}");

    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open(&file).unwrap_err().to_string();
    assert!(error.contains("opening state"), "{error}");
}

#[test]
fn another_layout_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    store.database().put_cf(family(store.database(), MARKS), FORMAT_KEY, [FORMAT + 1]).unwrap();
    drop(store);
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(&error, StateError::Mismatch(text) if text.contains("this build knows 1")), "{error}");
}

#[test]
fn an_empty_delta_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let before = store.database().latest_sequence_number();
    store.commit(&Delta::new()).unwrap();
    assert_eq!(store.database().latest_sequence_number(), before);
}

#[test]
fn clones_commit_from_several_threads() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let mut store = store.clone();
            scope.spawn(move || {
                for n in 0..50_u8 {
                    let mut delta = Delta::new();
                    delta.put(&[thread, n], &[n; 100]);
                    store.commit(&delta).unwrap();
                }
            });
        }
    });
    let written = rows(&store).unwrap();
    assert_eq!(written.len(), 200);
    drop(store);
    assert!(rows(&open(dir.path()).unwrap()).unwrap() == written);
}

/// Not a test of its own: commits until the disk is full, then says how far it came.
#[test]
fn fill_as_child() {
    let Ok(dir) = std::env::var("STREAMS_ROCKS_FILL") else { return };
    let mut store = open(Path::new(&dir)).unwrap();
    for n in head(&store).unwrap() + 1.. {
        if let Err(error) = store.commit(&delta(n)) {
            println!("failed: {error}");
            store.commit(&delta(n + 1)).expect_err("a store whose commit failed went on");
            return;
        }
        println!("committed {n}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_fails_the_commit_and_loses_none_before_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    // A limit on the length of files is a disk that is full as far as the log is concerned.
    let child = again("fill_as_child");
    let program = child.get_program().to_owned();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 250; exec \"$@\"", "sh"])
        .arg(program)
        .args(child.get_args())
        .env("STREAMS_ROCKS_FILL", dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("failed: committing to state") && said.contains("there is no space"), "{said}");
    let committed =
        said.lines().filter_map(|line| line.split_once("committed ")?.1.parse::<u64>().ok()).max();
    let committed = committed.expect("the disk was full from the start");

    let store = open(dir.path()).unwrap();
    let found = head(&store).unwrap();
    assert!(found == committed || found == committed + 1, "{committed} committed, {found} found");
    let mut model = MemoryStore::new();
    advance(&mut model, 0, found);
    assert!(rows(&store).unwrap() == model_rows(&model), "a commit is there in part");
}

/// A directory with some commits, closed, and the model of it.
fn sample(n_commits: u64) -> (TempDir, MemoryStore) {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, mut model) = (open(dir.path()).unwrap(), MemoryStore::new());
    for n in 1..=n_commits {
        store.commit(&delta(n)).unwrap();
    }
    advance(&mut model, 0, n_commits);
    (dir, model)
}
