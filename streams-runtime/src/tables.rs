//! Tables beside a job: read before the first record, read again beside the job, or asked row by row.
//!
//! One thread reads all tables of a run again when it is time. What has been read is there as a whole or not at all:
//! a table that cannot be read keeps its rows, and a row that is none is left out and told. When machines look again
//! is the drivers' business.

mod address;
mod columns;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "mysql")]
mod mysql;
mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use streams_core::lookup::{Filling, Row, Rows, TABLE};
use streams_core::topology::Topology;

use crate::cli::RunConfig;
use crate::deadletter::OnBad;
use crate::error::{Error, ErrorKind};
use crate::job::JobHandle;
use crate::run::note;
use crate::wording::{counted, grouped};

pub(crate) use address::Address;
use address::Place;

/// How many bad rows of a table are shown.
const SHOWN: usize = 10;

/// Reads tables again until it is dropped.
#[derive(Debug)]
pub(crate) struct Tables {
    _running: Option<Sender<()>>,
    /// Those whose rows never change: by address, a hash of their rows.
    #[cfg_attr(not(feature = "rocketmq"), expect(dead_code, reason = "a fleet alone asks"))]
    fixed: BTreeMap<String, u64>,
}

/// One table.
struct Table {
    /// The flag that names it.
    flag: String,
    /// The address as it was given.
    text: String,
    address: Address,
    from: From,
    rows: Vec<Arc<dyn Rows>>,
    /// Of what was read last, where that is one text or never changes.
    hash: Option<u64>,
    /// Whether it has had rows.
    is_filled: bool,
    /// What was told last, so that it is told once.
    told: String,
    due: Option<Instant>,
}

/// What reads it.
enum From {
    Text(Box<dyn FnMut() -> Result<Vec<u8>, String> + Send>),
    #[cfg(feature = "mysql")]
    Mysql(mysql::Mysql),
    /// Rows are fetched; there is nothing to read.
    #[cfg(any(feature = "http", feature = "mysql"))]
    Nowhere,
}

/// What a reading gave.
struct Read {
    /// How many rows there are now; none where nothing has changed.
    rows: Option<usize>,
    bad: Vec<String>,
    n_bad: usize,
}

impl Tables {
    /// Reads all tables of the job, whose machines have been made once.
    pub(crate) fn open(job: &JobHandle, config: &RunConfig) -> Result<Self, Error> {
        let mut tables = find(job, config)?;
        let (mut problems, mut bad) = (Vec::new(), Vec::new());
        for table in &mut tables {
            match table.read() {
                Ok(read) if config.on_bad == OnBad::Stop => bad.extend(read.bad),
                // Of two rows with one key the first counts, which may be another one the next time.
                Ok(read) if table.address.fixed && read.n_bad > 0 => problems.push(format!(
                    "--{}: a table that is `fixed` has no bad rows; correct {} or leave `fixed` out: {}",
                    table.flag,
                    table.address.shown(),
                    read.bad_rows()
                )),
                Ok(read) => {
                    table.told = read.bad_rows();
                    read.tell(table);
                }
                Err(why) => {
                    problems.push(format!("--{}: cannot read {}: {why}", table.flag, table.address.shown()))
                }
            }
            table.due = table.address.refresh.map(|refresh| Instant::now() + refresh);
        }
        if let Some(first) = bad.first() {
            let remedy = "correct it, or run with --on-bad dead-letter or skip, which leave such rows out";
            return Err(ErrorKind::BadRecord(format!("a bad row of a table: {first}\n{remedy}")).into());
        }
        if !problems.is_empty() {
            return Err(ErrorKind::Usage(problems).into());
        }
        let fixed = tables.iter().filter(|table| table.address.fixed);
        let fixed = fixed.filter_map(|table| Some((table.text.clone(), table.hash?))).collect();
        tables.retain(|table| table.due.is_some());
        if tables.is_empty() {
            return Ok(Self { _running: None, fixed });
        }
        let (running, stop) = channel();
        std::thread::spawn(move || read_again(&mut tables, &stop));
        Ok(Self { _running: Some(running), fixed })
    }

    /// Tables whose rows never change, with what tells their rows from others.
    #[cfg(feature = "rocketmq")]
    pub(crate) fn fixed(&self) -> &BTreeMap<String, u64> {
        &self.fixed
    }
}

/// The tables that something looks up, by their addresses.
fn find(job: &JobHandle, config: &RunConfig) -> Result<Vec<Table>, Error> {
    let mut tables: Vec<Table> = Vec::new();
    let bound = job.tables.bound();
    for (flag, text) in addresses(job.topology, &config.settings) {
        let rows: Vec<_> =
            bound.iter().filter(|bound| *bound.address == *text).map(|bound| &bound.rows).collect();
        if rows.is_empty() || tables.iter().any(|table| rows.iter().all(|rows| table.has(rows))) {
            continue;
        }
        let wrong = |why| Error::usage(format!("--{flag}: {why}"));
        let address = Address::parse(text).map_err(wrong)?;
        let rows: Vec<_> = rows.into_iter().cloned().collect();
        let from = connect(&address, &rows).map_err(wrong)?;
        tables.push(Table {
            flag,
            text: text.to_owned(),
            address,
            from,
            rows,
            hash: None,
            is_filled: false,
            told: String::new(),
            due: None,
        });
    }
    Ok(tables)
}

/// The flag and the address of each table that is a parameter of the job.
pub(crate) fn addresses<'a>(
    topology: &'a Topology,
    settings: &'a streams_core::plan::Settings,
) -> impl Iterator<Item = (String, &'a str)> {
    topology.settings.iter().filter(|spec| spec.placeholder == TABLE).filter_map(|spec| {
        let text = settings.get(spec.name).map(String::as_str).or(spec.default)?;
        Some((crate::cli::flag(spec.name), text))
    })
}

#[cfg_attr(
    not(any(feature = "http", feature = "mysql")),
    expect(unused_variables, reason = "files alone are read as a whole")
)]
fn connect(address: &Address, rows: &[Arc<dyn Rows>]) -> Result<From, String> {
    Ok(match &address.place {
        Place::File(path) => {
            let path = path.clone();
            From::Text(Box::new(move || std::fs::read(&path).map_err(|error| error.to_string())))
        }
        #[cfg(feature = "http")]
        Place::Http(url) if address.fetches_each() => {
            fetching(&Arc::new(http::Http::new(url)), rows, address.keep)
        }
        #[cfg(feature = "http")]
        Place::Http(url) => {
            let http = http::Http::new(url);
            From::Text(Box::new(move || http.all()))
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(text) if address.fetches_each() => {
            fetching(&Arc::new(mysql::Mysql::new(text)?), rows, address.keep)
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(text) => From::Mysql(mysql::Mysql::new(text)?),
        // An address of what this program was built without is refused where it is read.
        #[cfg(not(feature = "http"))]
        Place::Http(_) => return Err(format!("{} needs the feature `http`", address.shown())),
        #[cfg(not(feature = "mysql"))]
        Place::Mysql(_) => return Err(format!("{} needs the feature `mysql`", address.shown())),
    })
}

#[cfg(any(feature = "http", feature = "mysql"))]
fn fetching<F: streams_core::lookup::Fetch + 'static>(
    fetch: &Arc<F>,
    rows: &[Arc<dyn Rows>],
    keep: usize,
) -> From {
    for rows in rows {
        rows.fetch_each(Arc::clone(fetch) as Arc<dyn streams_core::lookup::Fetch>, keep);
    }
    From::Nowhere
}

/// Asks again for a while: a server that is started anew costs no job.
#[cfg(any(feature = "http", feature = "mysql"))]
fn patient<T>(mut ask: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    /// Less than it takes until an instance that does not answer counts as hanging.
    const PATIENCE: Duration = Duration::from_secs(6);
    let began = Instant::now();
    let mut pause = Duration::from_millis(20);
    loop {
        match ask() {
            Err(_) if began.elapsed() + pause < PATIENCE => std::thread::sleep(pause),
            other => return other,
        }
        pause *= 2;
    }
}

fn read_again(tables: &mut [Table], stop: &Receiver<()>) {
    loop {
        let due = tables.iter().filter_map(|table| table.due).min();
        let wait = due.map_or(Duration::MAX, |due| due.saturating_duration_since(Instant::now()));
        if stop.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let now = Instant::now();
        for table in tables.iter_mut().filter(|table| table.due.is_some_and(|due| due <= now)) {
            table.again();
            table.due = table.address.refresh.map(|refresh| Instant::now() + refresh);
        }
    }
}

impl Table {
    fn has(&self, rows: &Arc<dyn Rows>) -> bool {
        self.rows.iter().any(|other| Arc::ptr_eq(other, rows))
    }

    /// Reads it, or forgets what was fetched; what came of it is told where it is news.
    fn again(&mut self) {
        let name = self.address.shown();
        let text = match self.read() {
            Ok(Read { rows: None, .. }) => return,
            Ok(read) => {
                let told = read.bad_rows();
                if told != self.told && !told.is_empty() {
                    read.tell(self);
                } else if self.told.starts_with(STAYS) {
                    note(&format!("--{}: {name} can be read again", self.flag));
                }
                told
            }
            Err(why) => {
                let text = format!("{STAYS}: {why}");
                if text != self.told {
                    note(&format!("--{}: cannot read {name} again, so {text}", self.flag));
                }
                text
            }
        };
        self.told = text;
    }

    fn read(&mut self) -> Result<Read, String> {
        let mut fillings: Vec<Box<dyn Filling>> =
            self.rows.iter().map(|rows| Arc::clone(rows).fill()).collect();
        let mut read = Read { rows: None, bad: Vec::new(), n_bad: 0 };
        let name = self.address.shown();
        let mut n_rows = 0;
        let mut lacking = None;
        let mut take = |place: &str, row: Result<Row, String>| {
            n_rows += 1;
            let add = |row: Row| {
                // What one look-up cannot use another one may.
                let added = fillings.iter_mut().map(|filling| guarded(&mut **filling, &row));
                let added = added.fold(Ok(()), Result::and);
                if added.is_err() && lacking.is_none() {
                    lacking = fillings.iter().find_map(|filling| columns::lacking(&**filling, &row));
                }
                added
            };
            if let Err(why) = row.and_then(add) {
                read.n_bad += 1;
                if read.bad.len() < SHOWN {
                    read.bad.push(format!("{name} {place}: {why}"));
                }
            }
        };
        let hash = match &mut self.from {
            From::Text(text) => {
                let text = text()?;
                let hash = Some(xxhash_rust::xxh3::xxh3_64(&text));
                if hash == self.hash {
                    return Ok(read);
                }
                rows::each(&text, self.address.format, &mut |line, row| {
                    take(&format!("line {}", grouped(line)), row);
                })?;
                hash
            }
            #[cfg(feature = "mysql")]
            From::Mysql(mysql) => {
                // A server gives rows in an order of its own.
                let mut sum = 0_u64;
                for (number, row) in (1..).zip(mysql.all()?) {
                    sum = sum.wrapping_add(xxhash_rust::xxh3::xxh3_64(format!("{row:?}").as_bytes()));
                    take(&format!("row {}", grouped(number)), row);
                }
                self.address.fixed.then_some(sum)
            }
            #[cfg(any(feature = "http", feature = "mysql"))]
            From::Nowhere => {
                self.rows.iter().for_each(|rows| rows.forget());
                return Ok(read);
            }
        };
        // What is wrong with the columns is not repeated for each row.
        if let Some(why) = lacking.filter(|_| n_rows == read.n_bad) {
            return Err(why);
        }
        // A file that is being written, or a page that says what is wrong with the server.
        if self.is_filled && n_rows == read.n_bad {
            let bad = if read.n_bad > 0 { " that can be read" } else { "" };
            return Err(format!("it has no row{bad} any more"));
        }
        read.rows = fillings.into_iter().map(Filling::finish).max();
        (self.hash, self.is_filled) = (hash, true);
        Ok(read)
    }
}

/// The closure that gives a row's key is the user's, and may panic.
fn guarded(filling: &mut dyn Filling, row: &Row) -> Result<(), String> {
    let added = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| filling.add(row)));
    added.unwrap_or_else(|_| Err("the closure that gives its key panicked".to_owned()))
}

/// What is said of a table that cannot be read again.
const STAYS: &str = "its rows stay as they are";

impl Read {
    /// The bad rows, as one text.
    fn bad_rows(&self) -> String {
        self.bad.join("\n")
    }

    /// Tells of bad rows.
    fn tell(&self, table: &Table) {
        if self.n_bad == 0 {
            return;
        }
        let flag = &table.flag;
        for bad in &self.bad {
            note(&format!("--{flag}: a bad row: {bad}; it is left out"));
        }
        let rows = counted(self.rows.unwrap_or(0) as u64, "row");
        let bad = counted(self.n_bad as u64, "bad row");
        note(&format!("--{flag}: {} has {rows} and {bad}; correct them", table.address.shown()));
    }
}
