//! A job under test: push records into its ports, move event time, read its outputs. No server, no file.
//!
//! What a step gives depends on nothing but the calls made before, so a test needs no waiting.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use crate::aggregate::short_name;
use crate::batch::{Batch, RawBatch};
use crate::effects::{Effects, OutputBatch, Reject};
use crate::error::{BuildError, StateError};
use crate::layout::Fused;
use crate::lookup::{Row, TABLE, Tables};
use crate::machine::Machine;
use crate::plan::{Job, Plan, Settings};
use crate::ports::{Input, Output, Ports, Sink, Source};
use crate::store::memory::MemoryStore;
use crate::store::{Delta, Store};
use crate::topology::Node;

/// One machine of a job, driven by hand.
///
/// Its methods panic, at the line that calls them, on a name of a port that the job does not have and on a record of
/// another type than the port's: a test that does this is wrong.
pub struct Harness<J> {
    machine: Box<dyn Machine>,
    rows: Rows,
    settings: Settings,
    store: MemoryStore,
    rejects: Vec<Reject>,
    late: u64,
    repeated: u64,
    /// The input ports that have ended.
    ended: Vec<usize>,
    /// Those that are idle.
    idle: Vec<usize>,
    now_ms: i64,
    tables: Tables,
    _job: std::marker::PhantomData<J>,
}

/// Compares the graph of a job with the one in a file, so that a change of it is seen when it is looked at: what is
/// kept under which name, where records are shuffled. With the variable `STREAMS_BLESS` in the environment the file
/// is written instead.
///
/// `path` is looked up in the folder of the package under test. The file names no lines of the source, which move.
///
/// # Panics
/// When the graph is another one, or the file cannot be read or written.
///
/// # Examples
/// ```no_run
/// use streams_core::{prelude::*, testing::assert_topology};
///
/// #[record] struct Flow { host: String }
///
/// #[stream_job]
/// fn counts(flows: Stream<Flow>) -> Stream<u64> {
///     flows.key_by(|f| f.host.clone()).running(forever()).aggregate(count())
/// }
///
/// assert_topology(counts, "tests/counts.topology");
/// ```
#[track_caller]
pub fn assert_topology<J: Job>(_job: J, path: impl AsRef<std::path::Path>) {
    let path = path.as_ref();
    let here = crate::topology::Topology { file: "", ..J::TOPOLOGY }.render(crate::topology::Rendering::Text);
    if std::env::var_os("STREAMS_BLESS").is_some() {
        std::fs::write(path, &here).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let there = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}; run with STREAMS_BLESS=1 to write it", path.display()));
    assert!(
        here == there,
        "the graph of `{}` is not the one in {}; run with STREAMS_BLESS=1 where that is meant\n--- there\n{there}\n--- here\n{here}",
        J::ABOUT.job,
        path.display()
    );
}

type Rows = Arc<Mutex<Vec<Option<Results>>>>;

/// What an output port has given and nobody has taken.
struct Results {
    /// A `Vec<(i64, T)>`.
    rows: Box<dyn Any + Send>,
    /// The name of `T`.
    of: &'static str,
}

impl<J: Job> std::fmt::Debug for Harness<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Harness").field("job", &J::TOPOLOGY.job).finish_non_exhaustive()
    }
}

impl<J: Job> Harness<J> {
    /// The job with the defaults of its settings.
    ///
    /// # Panics
    /// When a setting has no default; use [`Self::with_settings`].
    #[must_use]
    #[track_caller]
    pub fn new(job: J) -> Self {
        // A closure would panic at its own place and not at the caller's; so everywhere here.
        match Self::with_settings(job, &[]) {
            Ok(harness) => harness,
            Err(error) => panic!("{error}"),
        }
    }

    /// The job with some settings given as text, by name.
    ///
    /// # Errors
    /// When a setting is missing or no value of its type.
    pub fn with_settings(_job: J, settings: &[(&str, &str)]) -> Result<Self, BuildError> {
        for &(name, _) in settings {
            if !J::SETTINGS.iter().any(|spec| spec.name == name) {
                let known: Vec<&str> = J::SETTINGS.iter().map(|spec| spec.name).collect();
                let reason = format!("the job has no such setting; its settings are: {}", known.join(", "));
                return Err(BuildError::Setting { name: name.to_owned(), reason });
            }
        }
        let settings: Settings =
            settings.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        let rows: Rows = Arc::default();
        let mut machine = build::<J>(&rows, &settings)?;
        let tables = Tables::default();
        machine.tables(&tables);
        Ok(Self {
            machine,
            rows,
            settings,
            store: MemoryStore::new(),
            rejects: Vec::new(),
            late: 0,
            repeated: 0,
            ended: Vec::new(),
            idle: Vec::new(),
            now_ms: 0,
            tables,
            _job: std::marker::PhantomData,
        })
    }

    /// Gives one record to an input port.
    ///
    /// # Panics
    /// As [`Self::push_all`].
    #[track_caller]
    pub fn push<T: Input>(&mut self, port: &str, record: T) {
        self.push_all(port, vec![record]);
    }

    /// Gives records to an input port, in order.
    ///
    /// # Panics
    /// When the job has no such port or its records have another type.
    #[track_caller]
    pub fn push_all<T: Input>(&mut self, port: &str, mut records: Vec<T>) {
        let entry = self.wake(port);
        if let Err(takes) = self.machine.takes(entry, &records) {
            let (takes, given) = told_apart(takes, std::any::type_name::<T>());
            panic!("the input port `{port}` takes records of `{takes}`, but was given `{given}`");
        }
        self.machine.feed(entry, Batch::Typed(&mut records));
        self.drain();
    }

    /// Gives one record as JSON, as a source would; what does not decode is found in [`Self::rejects`].
    ///
    /// # Panics
    /// When the text is longer than 4 GiB.
    #[track_caller]
    pub fn push_json(&mut self, port: &str, json: &str) {
        self.push_raw(port, &RawBatch::of(json.as_bytes(), 1, 0));
    }

    /// Gives one record as JSON, as a broker that stored it at `stored_ms` would.
    ///
    /// # Panics
    /// When the text is longer than 4 GiB.
    #[track_caller]
    pub fn push_stored(&mut self, port: &str, json: &str, stored_ms: i64) {
        self.push_raw(port, &RawBatch::stored(json.as_bytes(), 1, 0, stored_ms));
    }

    #[track_caller]
    fn push_raw(&mut self, port: &str, batch: &RawBatch) {
        let entry = self.wake(port);
        self.machine.feed(entry, Batch::Raw { batch, from: 0, stop_on_reject: false });
        self.drain();
    }

    /// Gives the table of this parameter these rows, in place of those that it had.
    ///
    /// # Panics
    /// When the job has no such parameter, when nothing looks rows of it up, and when a row is no row of the table or
    /// has the key of another.
    #[track_caller]
    pub fn table<V: Output>(&mut self, name: &str, rows: &[V]) {
        let spec = J::SETTINGS.iter().find(|spec| spec.name == name && spec.placeholder == TABLE);
        let Some(spec) = spec else {
            let tables = J::SETTINGS.iter().filter(|spec| spec.placeholder == TABLE);
            let tables: Vec<&str> = tables.map(|spec| spec.name).collect();
            panic!("the job has no table `{name}`; its tables are: {}", tables.join(", "));
        };
        let address = self.settings.get(name).map(String::as_str).or(spec.default).unwrap_or_default();
        let bound = self.tables.bound().into_iter().filter(|bound| &*bound.address == address);
        let mut n_bound = 0;
        for bound in bound {
            n_bound += 1;
            let mut filling = bound.rows.fill();
            for row in rows {
                let json = serde_json::to_vec(row).map_err(|error| error.to_string());
                if let Err(why) = json.and_then(|json| filling.add(&Row::Json(json))) {
                    panic!("a row of `{name}`: {why}");
                }
            }
            filling.finish();
        }
        assert!(n_bound > 0, "nothing looks rows of `{name}` up");
        self.machine.refresh();
    }

    /// Says what time it is, for a job in processing time; 0 before the first call.
    pub fn clock(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
        for entry in 0..self.machine.n_sources() {
            self.machine.clock(entry, now_ms);
        }
        self.drain();
    }

    /// Says that event time at an input port has reached `at_ms`, whatever its records say: windows that end
    /// there or before fire. The bound of `out_of_order` does not count here.
    #[track_caller]
    pub fn advance(&mut self, port: &str, at_ms: i64) {
        let entry = self.wake(port);
        self.machine.watermark(entry, at_ms);
        self.drain();
    }

    /// Says that nothing has come in through an input port for a while: it holds event time back no longer where it is
    /// united or joined with others, until it is given a record again.
    #[track_caller]
    pub fn idle(&mut self, port: &str) {
        let entry = Self::entry(port);
        if !self.idle.contains(&entry) {
            self.idle.push(entry);
            self.machine.idle(entry);
            self.drain();
        }
    }

    /// Ends all inputs that have not ended before: every open window fires.
    pub fn end(&mut self) {
        for entry in 0..self.machine.n_sources() {
            self.end_entry(entry);
        }
        self.drain();
    }

    /// Ends one input port: it holds nothing back any more where it is united with others.
    #[track_caller]
    pub fn end_port(&mut self, port: &str) {
        self.end_entry(Self::entry(port));
        self.drain();
    }

    /// Takes the results that an output port has given since the last call.
    #[track_caller]
    pub fn take<T: Output>(&mut self, port: &str) -> Vec<T> {
        self.take_timed(port).into_iter().map(|(_, value)| value).collect()
    }

    /// Like [`Self::take`], each with its event time in ms.
    ///
    /// # Panics
    /// When the job has no such port or its records have another type.
    #[track_caller]
    pub fn take_timed<T: Output>(&mut self, port: &str) -> Vec<(i64, T)> {
        let index = position(J::TOPOLOGY.sinks(), "output", port);
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let found = rows.get_mut(index).and_then(Option::as_mut).expect("every output port has its results");
        if let Some(rows) = found.rows.downcast_mut::<Vec<(i64, T)>>() {
            return std::mem::take(rows);
        }
        let (gives, asked) = told_apart(found.of, std::any::type_name::<T>());
        panic!("the output port `{port}` gives records of `{gives}`, but was asked for `{asked}`");
    }

    /// How many records `distinct_within` held back.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// How many records came too late for every window.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The records that failed so far.
    #[must_use]
    pub fn rejects(&self) -> &[Reject] {
        &self.rejects
    }

    /// Takes a checkpoint, throws the machine away and goes on with a new one that loads it, as after a crash
    /// right behind the checkpoint.
    ///
    /// # Errors
    /// When state cannot be encoded or decoded.
    ///
    /// # Panics
    /// Never for a job that was built once: its settings have been read before.
    pub fn restart(&mut self) -> Result<(), StateError> {
        let mut delta = Delta::new();
        self.machine.checkpoint(&mut delta, b"m")?;
        self.store.commit(&delta)?;
        self.machine = build::<J>(&self.rows, &self.settings).expect("the same settings were read before");
        self.machine.tables(&self.tables);
        self.machine.new_split(&self.store, b"m")?;
        // That an input has ended is no state: its source finds the end again.
        for &entry in &self.ended {
            self.machine.end(entry);
        }
        for &entry in &self.idle {
            self.machine.idle(entry);
        }
        for entry in 0..self.machine.n_sources() {
            self.machine.clock(entry, self.now_ms);
        }
        Ok(())
    }

    fn end_entry(&mut self, entry: usize) {
        if !self.ended.contains(&entry) {
            self.ended.push(entry);
            self.machine.end(entry);
        }
    }

    /// The entry of a port that has something to say.
    #[track_caller]
    fn wake(&mut self, port: &str) -> usize {
        let entry = Self::entry(port);
        if let Some(at) = self.idle.iter().position(|idle| *idle == entry) {
            self.idle.swap_remove(at);
            self.machine.active(entry);
        }
        entry
    }

    #[track_caller]
    fn entry(port: &str) -> usize {
        position(J::TOPOLOGY.sources(), "input", port)
    }

    fn drain(&mut self) {
        let mut effects = Effects::default();
        self.machine.drain(&mut effects);
        self.late += effects.late;
        self.repeated += effects.repeated;
        self.rejects.append(&mut effects.rejects);
    }
}

/// Where the port stands among `nodes`.
#[track_caller]
fn position(nodes: impl Iterator<Item = &'static Node>, direction: &str, port: &str) -> usize {
    let names: Vec<&str> = nodes.map(|node| node.name).collect();
    match names.iter().position(|name| *name == port) {
        Some(at) => at,
        None => panic!(
            "the job has no {direction} port `{port}`; its {direction} ports are: {}",
            names.join(", ")
        ),
    }
}

/// The names of two types, with their paths only where they would be the same without.
fn told_apart(one: &str, other: &str) -> (String, String) {
    match (short_name(one), short_name(other)) {
        (short, same) if short == same => (one.to_owned(), other.to_owned()),
        short => short,
    }
}

fn build<J: Job>(rows: &Rows, settings: &Settings) -> crate::machine::Built {
    J::build(Plan::new::<J>(Fused, Collect { rows: rows.clone() }, settings.clone()))
}

/// Ports that keep results as they are and read JSON.
struct Collect {
    rows: Rows,
}

impl Ports for Collect {
    type Source<T: Input> = Json;
    type Sink<T: Output> = Kept<T>;

    fn source<T: Input>(&mut self, _index: usize, _name: &'static str) -> Json {
        Json
    }

    fn sink<T: Output>(&mut self, index: usize, _name: &'static str) -> Kept<T> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() <= index {
            rows.resize_with(index + 1, || None);
        }
        // What a machine before a restart has given stays.
        if let Some(place) = rows.get_mut(index) {
            place.get_or_insert_with(|| Results {
                rows: Box::new(Vec::<(i64, T)>::new()),
                of: std::any::type_name::<T>(),
            });
        }
        Kept { index, fresh: Vec::new(), rows: self.rows.clone() }
    }
}

struct Json;

impl<T: DeserializeOwned> Source<T> for Json {
    const TAKES_VALUES: bool = true;

    fn decode(&mut self, bytes: &[u8]) -> Result<T, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

struct Kept<T> {
    index: usize,
    fresh: Vec<(i64, T)>,
    rows: Rows,
}

impl<T: Send + 'static> Sink<T> for Kept<T> {
    fn accept(&mut self, ts: i64, value: T) {
        self.fresh.push((ts, value));
    }

    fn drain(&mut self, _out: &mut OutputBatch) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = rows.get_mut(self.index).and_then(Option::as_mut);
        if let Some(kept) = kept.and_then(|kept| kept.rows.downcast_mut::<Vec<(i64, T)>>()) {
            kept.append(&mut self.fresh);
        }
    }
}
