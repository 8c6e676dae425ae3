//! The memory of a process with many more rows than its store may keep in memory.
//!
//! What is measured is what the process allocates (`RssAnon`), looked at after every commit and all through the
//! scan; pages of the program's own code, which come in as they are run, are printed beside it.
//!
//! `STREAMS_ROCKS_KEYS` rows (default 300,000); the full size of the claim is 5,000,000. Prints one line of
//! JSON.

use super::*;

const MB: u64 = 1024 * 1024;
const BUDGET_MB: u64 = 32;

/// A line of `/proc/self/status`, in bytes.
fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Spreads numbers over all keys.
fn key(n: u64) -> [u8; 16] {
    let mixed = (n ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(mixed ^ mixed >> 33).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

/// Not a test of its own: writes, reads, overwrites and scans in a process that does nothing else.
#[cfg(target_os = "linux")]
#[test]
fn fill_as_child() {
    const PAGE: u64 = 5_000;
    let Ok(dir) = std::env::var("STREAMS_ROCKS_BUDGET") else { return };
    let n_keys = number("STREAMS_ROCKS_KEYS", 300_000);
    let (before, before_all) = (status("RssAnon"), status("VmRSS"));
    let mut peak = before;
    let options = RocksOptions::default().with_memory_bytes(usize::try_from(BUDGET_MB * MB).unwrap());
    let mut store = RocksStore::open(Path::new(&dir), options).unwrap();
    let mut delta = Delta::new();
    for round in 0..2_u64 {
        // The second time every fifth row is written again.
        let step = if round == 0 { 1 } else { 5 };
        for page in 0..(n_keys / step).div_ceil(PAGE) {
            delta.clear();
            for n in (page * PAGE..(page + 1) * PAGE).map(|n| n * step).filter(|n| *n < n_keys) {
                let mut value = [0; 48];
                value[..8].copy_from_slice(&key(n + round)[..8]);
                value[8..16].copy_from_slice(&n.to_le_bytes());
                delta.put(&key(n), &value);
            }
            store.commit(&delta).unwrap();
            peak = peak.max(status("RssAnon"));
        }
    }
    let written = peak - before;
    for n in (0..n_keys).step_by(usize::try_from(n_keys / 20_000).unwrap().max(1)) {
        assert!(store.get(&key(n)).unwrap().is_some());
        assert!(store.get(&key(n + n_keys)).unwrap().is_none());
    }
    let mut n_rows = 0_u64;
    store
        .scan(b"", &mut |_, _| {
            n_rows += 1;
            if n_rows.is_multiple_of(10_000) {
                peak = peak.max(status("RssAnon"));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(n_rows, n_keys);
    let (grown, all) = (peak - before, status("VmHWM") - before_all);
    let bytes: u64 =
        files(Path::new(&dir), |_| true).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    println!("\ngrown {grown} {written} {all} {bytes}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_budget_is_held() {
    let n_keys = number("STREAMS_ROCKS_KEYS", 300_000);
    let dir = tempfile::tempdir().unwrap();
    let output = again("budget::fill_as_child").env("STREAMS_ROCKS_BUDGET", dir.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find_map(|line| line.strip_prefix("grown ")).unwrap_or_else(|| panic!("{said}"));
    let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
    let [grown, written, all, on_disk] = numbers[..] else { panic!("{line}") };
    let held = grown <= BUDGET_MB * MB;
    println!(
        "{{\"claim\":\"rocksdb_budget\",\"keys\":{n_keys},\"budget_mb\":{BUDGET_MB},\"peak_growth_mb\":{:.1},\
         \"while_writing_mb\":{:.1},\"with_code_mb\":{:.1},\"on_disk_mb\":{:.0},\"held\":{held}}}",
        grown as f64 / MB as f64,
        written as f64 / MB as f64,
        all as f64 / MB as f64,
        on_disk as f64 / MB as f64
    );
    assert!(held, "the process grew by {grown} bytes");
}
