//! SIGKILL at random moments, resumed each time: the output is byte for byte that of an undisturbed run.
//!
//! `STREAMS_KILL_COPIES` copies of the log (default 12) and `STREAMS_KILLS` kills (default 6); the full size of
//! the claim is 200 and 20. Prints one line of JSON.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::tool::{file_url, log, program, report};

/// The days from a date of the log to the date `days` later, as the log writes it.
fn shift(date: &str, days: u32) -> String {
    const MONTHS: [(&str, u32); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let mut parts = date.split('/');
    let mut day: u32 = parts.next().unwrap().parse().unwrap();
    let name = parts.next().unwrap();
    let mut month = MONTHS.iter().position(|(month, _)| *month == name).unwrap();
    let mut year: u32 = parts.next().unwrap().parse().unwrap();
    day += days;
    loop {
        let leap = u32::from(month == 1 && year.is_multiple_of(4));
        let length = MONTHS[month].1 + leap;
        if day <= length {
            return format!("{day:02}/{}/{year}", MONTHS[month].0);
        }
        day -= length;
        month = (month + 1) % 12;
        year += u32::from(month == 0);
    }
}

/// `copies` of the log behind one another, copy `i` moved by `4·i` days.
fn write_copies(path: &Path, copies: u32) {
    let log = std::fs::read_to_string(log()).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    for copy in 0..copies {
        for line in log.lines() {
            let (head, rest) = line.split_once('[').unwrap();
            let (date, rest) = rest.split_once(':').unwrap();
            writeln!(out, "{head}[{}:{rest}", shift(date, 4 * copy)).unwrap();
        }
    }
    out.flush().unwrap();
}

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

struct Job {
    input: PathBuf,
    output: PathBuf,
    state: PathBuf,
    report: PathBuf,
    workers: String,
    store: &'static str,
}

impl Job {
    fn start(&self) -> Child {
        program("access_log")
            .args(["run", "--from", &file_url(&self.input), "--to", &file_url(&self.output)])
            .args(["--checkpoint-interval", "20ms", "--workers", &self.workers, "--store", self.store])
            .arg("--state")
            .arg(&self.state)
            .arg("--report")
            .arg(&self.report)
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }
}

/// A small generator; the seed is printed so that a run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn kills_change_nothing(workers: &str, store: &'static str) {
    let (copies, wanted) = (number("STREAMS_KILL_COPIES", 12), number("STREAMS_KILLS", 6));
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("log");
    write_copies(&input, copies);
    let job = |name: &str| Job {
        input: input.clone(),
        output: dir.path().join(format!("{name}.jsonl")),
        state: dir.path().join(format!("{name}.state")),
        report: dir.path().join(format!("{name}.report")),
        workers: workers.to_owned(),
        store,
    };

    // Whatever the store, the output is that of a run with the default one.
    let undisturbed = Job { store: "redb", ..job("undisturbed") };
    let begin = Instant::now();
    assert!(undisturbed.start().wait().unwrap().success());
    let whole = begin.elapsed();

    let mut random = Random(u64::from(std::process::id()) << 32 | u64::from(copies));
    let seed = random.0;
    let killed = job("killed");
    let mut kills = 0;
    // A start that is killed makes progress of half this at least, so that the job is not through too early.
    let longest = (whole / wanted).max(Duration::from_millis(40));
    let mut starts = 0;
    while kills < wanted {
        starts += 1;
        assert!(starts < 50 * wanted, "the job ends before it can be killed");
        let mut child = killed.start();
        let pause = random.below(u64::try_from(longest.as_micros()).unwrap());
        std::thread::sleep(Duration::from_micros(pause));
        let running = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        if running {
            kills += 1;
        } else {
            // It had ended: begin again, so that every kill that counts hits a running job.
            std::fs::remove_dir_all(&killed.state).unwrap();
            std::fs::remove_file(&killed.output).unwrap();
            kills = 0;
        }
    }
    assert!(killed.start().wait().unwrap().success());

    let (expected, found) =
        (std::fs::read(&undisturbed.output).unwrap(), std::fs::read(&killed.output).unwrap());
    let rows = expected.iter().filter(|byte| **byte == b'\n').count();
    let (whole_report, report) = (report(&undisturbed.report), report(&killed.report));
    println!(
        "{{\"claim\":\"kills\",\"store\":\"{store}\",\"workers\":{workers},\"copies\":{copies},\"kills\":{kills},\"rows\":{rows},\
         \"late\":{},\"checkpoints\":{},\"identical\":{},\"seed\":{seed}}}",
        report["late"],
        report["checkpoints"],
        expected == found
    );
    assert!(expected == found, "the output differs from that of an undisturbed run");
    for field in ["records_in", "records_out", "late", "dead_letter"] {
        assert_eq!(report[field], whole_report[field], "{field}");
    }
    assert_eq!(report["late"], 0);
    assert_eq!(rows as u64, 6_237 * u64::from(copies));
}

#[test]
fn kills_change_nothing_with_one_machine() {
    kills_change_nothing("1", "redb");
}

#[test]
fn kills_change_nothing_with_two_workers() {
    kills_change_nothing("2", "redb");
}

#[cfg(feature = "rocksdb")]
#[test]
fn kills_change_nothing_with_rocksdb() {
    kills_change_nothing("1", "rocksdb");
    kills_change_nothing("2", "rocksdb");
}

#[test]
fn dates_are_shifted_over_months_and_years() {
    assert_eq!(shift("17/May/2015", 0), "17/May/2015");
    assert_eq!(shift("28/Feb/2016", 1), "29/Feb/2016");
    assert_eq!(shift("20/May/2015", 796), "24/Jul/2017");
}
