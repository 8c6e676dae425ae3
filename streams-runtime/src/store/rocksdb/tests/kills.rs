//! SIGKILL at random moments of a process that commits: the next open finds the last acknowledged commit, or
//! the one after it as a whole.
//!
//! `STREAMS_ROCKS_KILLS` kills (default 15) for each way of committing; the full size of the claim is 200.
//! Prints one line of JSON.

use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::mpsc::channel;
use std::time::Duration;

use streams_core::store::local::{CommitId, LocalCommits};

use super::*;

const SPLIT: &[u8] = b"split";

/// Far longer than a first commit takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn id(version: u64) -> CommitId {
    CommitId { epoch: 1, nonce: 2, version }
}

/// Not a test of its own: the process that is killed. Commits from where the store is, for ever.
#[test]
fn commit_as_child() {
    let Ok(dir) = std::env::var("STREAMS_ROCKS_COMMIT") else { return };
    let two_steps = std::env::var("STREAMS_ROCKS_STEPS").is_ok_and(|steps| steps == "2");
    let mut store = open(Path::new(&dir)).unwrap();
    let mut stdout = std::io::stdout().lock();
    // The test harness has begun a line of its own.
    writeln!(stdout).unwrap();
    for n in head(&store).unwrap() + 1.. {
        if two_steps {
            store.prepare(SPLIT, id(n), &delta(n)).unwrap();
            writeln!(stdout, "pending {n}").unwrap();
            store.promote(SPLIT, id(n)).unwrap();
        } else {
            store.commit(&delta(n)).unwrap();
        }
        writeln!(stdout, "committed {n}").unwrap();
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Lets a process commit for a while, kills it, and gives the last numbers it acknowledged.
fn killed(dir: &Path, steps: &str, random: &mut Random) -> (u64, u64) {
    let mut child = again("kills::commit_as_child")
        .env("STREAMS_ROCKS_COMMIT", dir)
        .env("STREAMS_ROCKS_STEPS", steps)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (begun, first) = channel();
    let reader = std::thread::spawn(move || {
        let (mut committed, mut pending) = (0, 0);
        for line in output.lines().map_while(Result::ok) {
            // A number without its line's end may lack digits; `lines` would not tell.
            match line.split_once(' ') {
                Some(("committed", n)) => {
                    committed = n.parse().unwrap_or(committed);
                    // Nobody waits for the second one.
                    let _ = begun.send(());
                }
                Some(("pending", n)) => pending = n.parse().unwrap_or(pending),
                _ => {}
            }
        }
        (committed, pending)
    });
    // Some kills come while the database opens and recovers, however long that takes here.
    if random.below(4) == 0 {
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
    } else {
        first.recv_timeout(PATIENCE).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(200_000)));
    }
    assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn kills_lose_nothing(steps: &str) {
    let wanted = number("STREAMS_ROCKS_KILLS", 15);
    let dir = tempfile::tempdir().unwrap();
    let seed = u64::from(std::process::id()) << 20 | 1;
    let mut random = Random(seed);
    let mut model = MemoryStore::new();
    let (mut reached, mut ahead, mut pendings, mut at_work) = (0, 0, 0, 0);
    for kill in 0..wanted {
        let (committed, pending) = killed(dir.path(), steps, &mut random);
        at_work += u64::from(committed > 0);
        let acknowledged = committed.max(reached);
        let mut store = open(dir.path()).unwrap_or_else(|error| panic!("seed {seed}, kill {kill}: {error}"));
        let found = head(&store).unwrap();
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "seed {seed}, kill {kill}: {acknowledged} was acknowledged, {found} was found"
        );
        ahead += u64::from(found > acknowledged);
        advance(&mut model, reached, found);
        let whole = rows(&store).unwrap() == model_rows(&model);
        assert!(whole, "seed {seed}, kill {kill}: the rows are not those of commit {found}");
        reached = found;
        if steps == "2" {
            assert_eq!(store.committed_id(SPLIT).unwrap(), (found > 0).then(|| id(found)));
            match store.pending_id(SPLIT).unwrap() {
                Some(waiting) => {
                    assert_eq!(waiting, id(found + 1), "seed {seed}, kill {kill}");
                    pendings += 1;
                    // As the remote store may have it: it has the commit, or it never got it.
                    if random.below(2) == 0 {
                        store.promote(SPLIT, waiting).unwrap();
                        advance(&mut model, reached, found + 1);
                        reached += 1;
                    } else {
                        store.discard(SPLIT, waiting).unwrap();
                    }
                    assert!(rows(&store).unwrap() == model_rows(&model), "seed {seed}, kill {kill}");
                }
                None => assert!(pending <= found, "seed {seed}, kill {kill}: pending {pending} is gone"),
            }
        }
    }
    println!(
        "{{\"claim\":\"rocksdb_kills\",\"steps\":{steps},\"kills\":{wanted},\"while_committing\":{at_work},\
         \"commits\":{reached},\"one_ahead\":{ahead},\"found_pending\":{pendings},\"whole\":true,\"seed\":{seed}}}"
    );
    assert!(at_work * 3 > wanted, "only {at_work} of {wanted} kills hit a process that commits");
}

#[test]
fn kills_lose_nothing_in_one_step() {
    kills_lose_nothing("1");
}

#[test]
fn kills_lose_nothing_in_two_steps() {
    kills_lose_nothing("2");
}
