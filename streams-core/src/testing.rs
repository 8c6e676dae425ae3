//! A job under test: push records into its ports, move event time, read its outputs. No server, no file.
//!
//! What a step gives depends on nothing but the calls made before, so a test needs no waiting.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use crate::batch::{Batch, RawBatch};
use crate::effects::{Effects, OutputBatch, Reject};
use crate::error::{BuildError, StateError};
use crate::layout::Fused;
use crate::machine::Machine;
use crate::plan::{Job, Plan, Settings};
use crate::ports::{Input, Output, Ports, Sink, Source};
use crate::store::memory::MemoryStore;
use crate::store::{Delta, Store};
use crate::topology::Node;

/// One machine of a job, driven by hand.
///
/// Its methods panic on a name of a port that the job does not have and on a record of another type than the
/// port's: a test that does this is wrong.
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
    _job: std::marker::PhantomData<J>,
}

type Rows = Arc<Mutex<Vec<Option<Box<dyn Any + Send>>>>>;

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
    pub fn new(job: J) -> Self {
        Self::with_settings(job, &[]).unwrap_or_else(|error| panic!("{error}"))
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
        let machine = build::<J>(&rows, &settings)?;
        Ok(Self {
            machine,
            rows,
            settings,
            store: MemoryStore::new(),
            rejects: Vec::new(),
            late: 0,
            repeated: 0,
            ended: Vec::new(),
            _job: std::marker::PhantomData,
        })
    }

    /// Gives one record to an input port.
    #[track_caller]
    pub fn push<T: Input>(&mut self, port: &str, record: T) {
        self.push_all(port, vec![record]);
    }

    /// Gives records to an input port, in order.
    #[track_caller]
    pub fn push_all<T: Input>(&mut self, port: &str, mut records: Vec<T>) {
        let entry = Self::entry(port);
        self.machine.feed(entry, Batch::Typed(&mut records));
        self.drain();
    }

    /// Gives one record as JSON, as a source would; what does not decode is found in [`Self::rejects`].
    ///
    /// # Panics
    /// When the text is longer than 4 GiB.
    #[track_caller]
    pub fn push_json(&mut self, port: &str, json: &str) {
        let entry = Self::entry(port);
        let batch = RawBatch::of(json.as_bytes(), 1, 0);
        self.machine.feed(entry, Batch::Raw { batch: &batch, from: 0, stop_on_reject: false });
        self.drain();
    }

    /// Says that event time at an input port has reached `at_ms`, whatever its records say: windows that end
    /// there or before fire. The bound of `out_of_order` does not count here.
    #[track_caller]
    pub fn advance(&mut self, port: &str, at_ms: i64) {
        self.machine.watermark(Self::entry(port), at_ms);
        self.drain();
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
        let Some(found) = rows.get_mut(index).and_then(Option::take) else { return Vec::new() };
        match found.downcast::<Vec<(i64, T)>>() {
            Ok(found) => *found,
            Err(_) => panic!("records of `{port}` are no `{}`", std::any::type_name::<T>()),
        }
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
        self.machine.new_split(&self.store, b"m")?;
        // That an input has ended is no state: its source finds the end again.
        for &entry in &self.ended {
            self.machine.end(entry);
        }
        Ok(())
    }

    fn end_entry(&mut self, entry: usize) {
        if !self.ended.contains(&entry) {
            self.ended.push(entry);
            self.machine.end(entry);
        }
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
    names.iter().position(|name| *name == port).unwrap_or_else(|| {
        panic!("the job has no {direction} port `{port}`; its {direction} ports are: {}", names.join(", "))
    })
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
        Kept { index, fresh: Vec::new(), rows: self.rows.clone() }
    }
}

struct Json;

impl<T: DeserializeOwned> Source<T> for Json {
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
        if rows.len() <= self.index {
            rows.resize_with(self.index + 1, || None);
        }
        if let Some(place) = rows.get_mut(self.index) {
            let kept = place.get_or_insert_with(|| Box::new(Vec::<(i64, T)>::new()));
            if let Some(kept) = kept.downcast_mut::<Vec<(i64, T)>>() {
                kept.append(&mut self.fresh);
            }
        }
    }
}
