//! Tests on a simulated disk: power loss at every write, and a disk that is full.
//!
//! The disk logs what redb does to it. A crash keeps everything before the last flush and an arbitrary part
//! of what came after, including halves of writes, which is the most that a real disk may do.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use streams_core::store::memory::MemoryStore;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Resize(u64),
    Write(u64, Vec<u8>),
    Flush,
}

/// A disk with a log and a limit on the bytes written to it.
#[derive(Debug, Clone)]
struct Disk {
    memory: Arc<InMemoryBackend>,
    log: Arc<Mutex<Vec<Step>>>,
    free_bytes: Arc<AtomicU64>,
}

impl Disk {
    fn new() -> Self {
        Self {
            memory: Arc::new(InMemoryBackend::new()),
            log: Arc::default(),
            free_bytes: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    fn open(&self) -> Result<RedbStore, StateError> {
        if self.memory.len().unwrap() == 0 {
            create::initialize(builder().create_with_backend(self.clone()).unwrap()).unwrap();
        }
        let disk = std::panic::AssertUnwindSafe(self.clone());
        RedbStore::over(PathBuf::from("disk"), move || builder().create_with_backend(disk.clone()))
    }

    /// What a crash after `n_steps` steps leaves.
    fn crashed(&self, n_steps: usize, noise: &mut u64) -> Self {
        let log = self.log.lock().unwrap();
        let steps = &log[..n_steps];
        let flushed = steps.iter().rposition(|step| matches!(step, Step::Flush)).unwrap_or(0);
        let disk = Self::new();
        for (position, step) in steps.iter().enumerate() {
            *noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let luck = *noise >> 61;
            match step {
                // A length may be lost only together with the writes behind it; they are kept in order here.
                Step::Resize(len) => disk.memory.set_len(*len).unwrap(),
                Step::Write(at, data) if position < flushed || luck < 3 => {
                    disk.memory.write(*at, data).unwrap();
                }
                Step::Write(at, data) if luck < 5 => {
                    // Torn at a sector, as disks do.
                    let sectors = data.len().div_ceil(512) as u64;
                    let kept = usize::try_from((*noise >> 32) % sectors).unwrap() * 512;
                    disk.memory.write(*at, &data[..kept]).unwrap();
                }
                // Still in the drive's cache, and gone.
                Step::Flush | Step::Write(..) => {}
            }
        }
        disk
    }

    fn spend(&self, n_bytes: usize) -> io::Result<()> {
        let n_bytes = n_bytes as u64;
        let spent = self.free_bytes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |free| {
            if free == u64::MAX { Some(free) } else { free.checked_sub(n_bytes) }
        });
        spent.map(drop).map_err(|_| io::Error::from(ErrorKind::StorageFull))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(at, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.log.lock().unwrap().push(Step::Resize(len));
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.spend(1)?;
        self.log.lock().unwrap().push(Step::Flush);
        Ok(())
    }

    fn write(&self, at: u64, data: &[u8]) -> io::Result<()> {
        self.spend(data.len())?;
        self.log.lock().unwrap().push(Step::Write(at, data.to_vec()));
        self.memory.write(at, data)
    }
}

fn rows(store: &RedbStore) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    store
        .scan(b"", &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(())
        })
        .unwrap();
    rows
}

/// Rows come, change and go; some values span pages.
fn delta(round: u32) -> Delta {
    let mut delta = Delta::new();
    if round.is_multiple_of(4) {
        delta.delete_prefix(&[1]);
    }
    for row in 0..40_u32 {
        let key = [&[row.to_le_bytes()[0] % 3][..], &(row * round % 101).to_be_bytes()].concat();
        delta.put(&key, &round.to_be_bytes().repeat(if row == 7 { 3000 } else { 30 }));
    }
    delta
}

#[test]
fn power_loss_leaves_the_last_commit_or_the_one_in_progress() {
    let disk = Disk::new();
    let mut store = disk.open().unwrap();
    let mut commits = vec![(disk.log.lock().unwrap().len(), rows(&store))];
    for round in 1..=8 {
        store.commit(&delta(round)).unwrap();
        commits.push((disk.log.lock().unwrap().len(), rows(&store)));
    }
    drop(store);

    let mut noise = 42;
    let mut n_in_progress = 0;
    let n_steps = disk.log.lock().unwrap().len();
    for crash in commits[0].0..=n_steps {
        let last = commits.iter().rposition(|(steps, _)| *steps <= crash).unwrap();
        for _ in 0..8 {
            let found = rows(&disk.crashed(crash, &mut noise).open().unwrap());
            if found == commits[last].1 {
                continue;
            }
            assert!(
                commits.get(last + 1).is_some_and(|(_, rows)| *rows == found),
                "a crash after step {crash} left neither commit {last} nor the next"
            );
            n_in_progress += 1;
        }
    }
    assert!(n_in_progress > 0, "no crash was late enough to keep a commit in progress");
}

#[test]
fn a_full_disk_fails_the_commit_and_loses_none_before_it() {
    let mut n_failed = 0;
    for free_bytes in (0..).step_by(700) {
        let disk = Disk::new();
        let mut store = disk.open().unwrap();
        store.commit(&delta(1)).unwrap();
        let before = rows(&store);

        disk.free_bytes.store(free_bytes, Ordering::SeqCst);
        let Err(error) = store.commit(&delta(2)) else { break };
        n_failed += 1;
        let text = error.to_string();
        assert!(text.contains("committing to state file `disk`: there is no space"), "{text}");
        store.commit(&delta(3)).expect_err("a store whose commit failed went on");
        drop(store);

        disk.free_bytes.store(u64::MAX, Ordering::SeqCst);
        let mut store = disk.open().unwrap();
        let found = rows(&store);
        if found != before {
            // Whether the last flush failed before or after the bytes were safe cannot be known.
            let mut model = MemoryStore::new();
            model.commit(&delta(1)).unwrap();
            model.commit(&delta(2)).unwrap();
            let whole = model.rows().map(|(key, value)| (key.to_vec(), value.to_vec()));
            assert!(found.into_iter().eq(whole), "a failed commit is there in part");
        }
        store.commit(&delta(4)).unwrap();
    }
    assert!(n_failed > 20, "the disk was full only {n_failed} times");
}
