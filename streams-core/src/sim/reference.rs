//! What a split must do: a fresh machine and a reader run over the content of its queue, message by message,
//! without senders, checkpoints, crashes or owners.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::log::Queue;
use super::store::{Rows, results_hash};
use crate::batch::{Batch, RawBatch};
use crate::bug;
use crate::effects::Effects;
use crate::lookup::Tables;
use crate::machine::Machine;
use crate::protocol::frame::{Frame, Item};
use crate::protocol::ids::{Stage, Target, Topic};
use crate::protocol::reader::{Accepted, Reader, ReaderState};
use crate::protocol::snapshot::Counters;
use crate::protocol::worker::{Committed, Culprit, Message, Reading, Role, rows_of};
use crate::store::{Delta, Store};
use crate::time::UNTIMED;

mod state;

pub(crate) use state::State;
use state::{numbers_hash, reader_hash};

/// The infinite sequence that a split sends to one queue, as far as it is known.
#[derive(Debug)]
pub(crate) struct Out {
    pub(crate) items: Vec<Item>,
    /// By number of items: the largest watermark that covers no more than these.
    pub(crate) watermarks: Vec<i64>,
}

impl Out {
    fn new() -> Self {
        Self { items: Vec::new(), watermarks: vec![UNTIMED] }
    }

    fn push(&mut self, item: Item) {
        self.items.push(item);
        let last = self.watermarks.last().copied().unwrap_or(UNTIMED);
        self.watermarks.push(last);
    }

    fn watermark(&mut self, at_ms: i64) {
        if let Some(last) = self.watermarks.last_mut() {
            *last = at_ms.max(*last);
        }
    }
}

/// Puts the rows of a version into tables.
pub(crate) type Fill = Box<dyn Fn(&Tables, u64)>;

/// The reference of one split.
pub(crate) struct Reference {
    role: Role,
    machine: Box<dyn Machine>,
    /// Makes another one.
    remake: Box<dyn Fn() -> Box<dyn Machine>>,
    reader: Reader,
    /// Whether the start offset is known.
    pub(crate) started: bool,
    first: Option<u64>,
    /// The next message.
    pub(crate) offset: u64,
    pub(crate) out: BTreeMap<Target, Out>,
    counters: Counters,
    /// Results that its commits write.
    pub(crate) results: Vec<Committed>,
    results_sum: u64,
    rows: Rows,
    pub(crate) idle: bool,
    pub(crate) ended: bool,
    /// State by offset, idleness and end.
    states: BTreeMap<(u64, bool, bool), State>,
    /// A message behind which something is missing: nobody may read it.
    pub(crate) gap: Option<u64>,
    /// The record that the machine works on, by its place in its message.
    running: Option<u32>,
    /// The machine panicked at the offset, on this record of the message, and nobody has committed yet what becomes
    /// of it.
    stuck: Option<Option<u32>>,
    /// Records that are rejected.
    rejected: BTreeSet<(u64, u32)>,
    /// What its machine is still to be told that its queue does not say, and at which offset.
    readings: VecDeque<(u64, Reading)>,
    /// What its machine looks up, which nobody else does.
    tables: Tables,
    fill: Fill,
    effects: Effects,
}

impl Reference {
    pub(crate) fn new(role: Role, remake: Box<dyn Fn() -> Box<dyn Machine>>, fill: Fill) -> Self {
        let tables = Tables::default();
        let mut machine = remake();
        machine.tables(&tables);
        if !role.tables {
            // Those that there are never change, so no owner says which rows it has.
            fill(&tables, 0);
            machine.tables(&tables);
        }
        let topics = role.targets.iter();
        let targets = topics.flat_map(|&(topic, n)| (0..n).map(move |queue| Target { topic, queue }));
        let out = targets.map(|target| (target, Out::new())).collect();
        let reader = Reader::new(role.incarnation, role.upstream.clone(), ReaderState::default());
        Self {
            role,
            machine,
            remake,
            reader,
            started: false,
            first: None,
            offset: 0,
            out,
            counters: Counters::default(),
            results: Vec::new(),
            results_sum: 0,
            rows: Rows::default(),
            idle: false,
            ended: false,
            states: BTreeMap::new(),
            gap: None,
            running: None,
            stuck: None,
            rejected: BTreeSet::new(),
            readings: VecDeque::new(),
            tables,
            fill,
            effects: Effects::default(),
        }
    }

    /// Whether its numbers are fixed by commits and not by its queue alone.
    pub(crate) fn is_held(&self) -> bool {
        self.role.held
    }

    pub(crate) fn is_source(&self) -> bool {
        self.role.upstream.is_empty()
    }

    /// Snapshot 0 was committed.
    pub(crate) fn start(&mut self, offset: u64) {
        self.started = true;
        self.first = Some(offset);
        self.offset = offset;
        bug::without(|| {
            // What the machine says of an empty store.
            let _ = self.machine.new_split(&Rows::default(), &rows_of(self.role.split));
            self.record();
        });
    }

    /// The state at this place, if the reference has been there.
    pub(crate) fn state(&self, offset: u64, idle: bool, ended: bool) -> Option<&State> {
        self.states.get(&(offset, idle, ended))
    }

    /// A commit has fixed what was said since the one before.
    pub(crate) fn hear(&mut self, readings: &[(u64, Reading)]) {
        self.readings.extend(readings);
    }

    /// Goes on to `offset`.
    pub(crate) fn advance_to(&mut self, queue: &Queue, offset: u64) {
        while self.offset < offset.min(queue.end()) && !self.is_stuck() {
            self.tell_readings();
            self.advance(queue);
        }
        if self.tell_readings() {
            bug::without(|| self.record());
        }
    }

    /// Tells the machine what was said in front of the next message; whether there was anything to tell.
    fn tell_readings(&mut self) -> bool {
        let mut told = false;
        while let Some((_, reading)) = self.readings.pop_front_if(|(at, _)| *at <= self.offset) {
            bug::without(|| match reading {
                Reading::Clock(now_ms) => {
                    self.machine.clock(self.entry(), now_ms);
                    self.gather();
                }
                Reading::Tables(version) => {
                    (self.fill)(&self.tables, version);
                    self.machine.refresh();
                }
            });
            told = true;
        }
        told
    }

    /// Goes on until `target` has `n` items and a watermark of at least `at_ms` behind them, or the queue ends.
    pub(crate) fn advance_until(&mut self, queue: &Queue, target: Target, n: u64, at_ms: i64) {
        loop {
            let reached = self.out.get(&target).is_none_or(|out| {
                let watermark = out.watermarks.get(n as usize).copied();
                out.items.len() as u64 >= n
                    && watermark.is_some_and(|has| has >= at_ms || out.items.len() as u64 > n)
            });
            if reached || self.is_stuck() {
                return;
            }
            if self.offset < queue.end() {
                self.advance(queue);
            } else if self.is_source() && queue.closed && !self.ended {
                self.end();
            } else {
                return;
            }
        }
    }

    fn is_stuck(&self) -> bool {
        self.gap.is_some() || self.stuck.is_some()
    }

    /// A commit said that a record is rejected: whether the machine panics on it.
    pub(crate) fn reject(&mut self, queue: &Queue, culprit: &Culprit) -> bool {
        let Some(nth) = culprit.nth else { return false };
        if self.rejected.contains(&(culprit.offset, nth)) {
            return true;
        }
        if culprit.offset == self.offset && !self.is_stuck() {
            self.advance(queue);
        }
        let panics = culprit.offset == self.offset && self.stuck == Some(Some(nth));
        if panics {
            self.stuck = None;
            self.rejected.insert((self.offset, nth));
        }
        panics
    }

    /// Whether the machine panics there with no record at fault.
    pub(crate) fn is_flawed_at(&self, offset: u64) -> bool {
        self.offset == offset && self.stuck == Some(None)
    }

    /// A commit said that the source is idle at this place.
    pub(crate) fn fall_idle(&mut self) {
        self.idle = true;
        self.tell(&Item::Idle);
        self.record();
    }

    /// The source's queue has ended here.
    pub(crate) fn end(&mut self) {
        bug::without(|| {
            self.finish();
            self.record();
        });
    }

    fn finish(&mut self) {
        self.machine.end(self.entry());
        self.gather();
        self.tell(&Item::End);
        self.ended = true;
    }

    fn entry(&self) -> usize {
        usize::from(self.role.split.stage.0)
    }

    fn advance(&mut self, queue: &Queue) {
        bug::without(|| {
            let at = self.offset as usize;
            let Some(message) = queue.messages.get(at) else { return };
            let before = (self.reader.state(), self.reader.duplicates, self.counters, self.idle, self.ended);
            let lens: Vec<usize> = self.out.values().map(|out| out.items.len()).collect();
            let took = catch_unwind(AssertUnwindSafe(|| match queue.frames.get(at) {
                Some(Some(frame)) => self.take_frame(frame),
                _ => self.take_raw(message),
            }));
            if took.is_err() {
                // As it was in front of the message.
                self.stuck = Some(self.running.take());
                self.machine = (self.remake)();
                self.machine.tables(&self.tables);
                let _ = self.machine.new_split(&self.rows, &rows_of(self.role.split));
                let (state, duplicates, counters, idle, ended) = before;
                self.reader = Reader::new(self.role.incarnation, self.role.upstream.clone(), state);
                self.reader.duplicates = duplicates;
                (self.counters, self.idle, self.ended) = (counters, idle, ended);
                self.effects = Effects::default();
                for (out, len) in self.out.values_mut().zip(lens) {
                    out.items.truncate(len);
                    out.watermarks.truncate(len + 1);
                }
            }
            if !self.is_stuck() {
                self.offset += 1;
                self.record();
            }
        });
    }

    fn take_raw(&mut self, message: &Message) {
        if std::mem::take(&mut self.idle) {
            self.tell(&Item::Active);
        }
        let batch = RawBatch::stored(&message.body, 0, self.offset, message.stored_ms);
        self.counters.records_in += 1;
        if self.passes_over(0) {
            return;
        }
        self.running = Some(0);
        self.machine.feed(self.entry(), Batch::Raw { batch: &batch, from: 0, stop_on_reject: false });
        self.running = None;
        self.gather();
    }

    fn passes_over(&mut self, nth: u32) -> bool {
        let is_rejected = self.rejected.contains(&(self.offset, nth));
        self.counters.dead_letter += u64::from(is_rejected);
        is_rejected
    }

    fn take_frame(&mut self, frame: &Frame) {
        let mut accepted = Vec::new();
        if self.reader.read(frame, &mut accepted).is_err() {
            self.gap = Some(self.offset);
            return;
        }
        let entry = self.entry();
        let mut records = 0;
        for step in accepted {
            match step {
                Accepted::Watermark(at_ms) => self.machine.watermark(entry, at_ms),
                Accepted::Record(bytes) => {
                    self.counters.records_in += 1;
                    records += 1;
                    if !self.passes_over(records - 1) {
                        self.running = Some(records - 1);
                        self.machine.feed(entry, Batch::Encoded(&[(UNTIMED, bytes)]));
                        self.running = None;
                    }
                }
                Accepted::AllIdle => {
                    self.gather();
                    self.tell(&Item::Idle);
                }
                Accepted::Awake => {
                    self.gather();
                    self.tell(&Item::Active);
                    if std::mem::take(&mut self.ended) {
                        self.machine.active(entry);
                    }
                }
                Accepted::AllEnded => self.finish(),
            }
        }
        self.gather();
    }

    fn tell(&mut self, item: &Item) {
        for (_, out) in self.out.iter_mut().filter(|(target, _)| matches!(target.topic, Topic::Of(_))) {
            out.push(item.clone());
        }
    }

    fn gather(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        self.machine.drain(&mut effects);
        self.counters.late += std::mem::take(&mut effects.late);
        self.counters.repeated += std::mem::take(&mut effects.repeated);
        self.counters.dead_letter += effects.rejects.drain(..).count() as u64;
        let n_sources = self.machine.n_sources();
        for (exchange, runs) in effects.runs.iter_mut().enumerate() {
            let topic = Topic::Of(Stage((n_sources + exchange) as u16));
            for (queue, run) in runs.iter_mut().enumerate() {
                let Some(out) = self.out.get_mut(&Target { topic, queue: queue as u16 }) else { continue };
                for record in run.records() {
                    self.counters.shuffled += 1;
                    out.push(Item::Data(record.to_vec()));
                }
                out.watermark(run.watermark_ms);
                run.bytes.clear();
            }
        }
        for (output, batch) in effects.outputs.iter_mut().enumerate() {
            let output = output as u16;
            if self.role.in_commit.contains(&output) {
                for (address, bytes) in batch.addressed() {
                    let record = bytes.get(address.key_len..).unwrap_or_default().to_vec();
                    let result = Committed { output, record };
                    self.results_sum = results_hash(self.results_sum, &result);
                    self.results.push(result);
                    self.counters.records_out += 1;
                }
                batch.clear();
                continue;
            }
            let topic = Topic::Output(output);
            let found = self.role.targets.iter().find(|(other, _)| *other == topic);
            let n_queues = found.map_or(1, |(_, n)| *n);
            for (address, bytes) in batch.addressed() {
                // Rule 2: by the hash's share of the range, in the list that the job began with.
                let queue = match address.hash {
                    Some(hash) => (u128::from(hash) * u128::from(n_queues) / (1 << 64)) as u16,
                    None => self.role.split.queue % n_queues,
                };
                if let Some(out) = self.out.get_mut(&Target { topic, queue }) {
                    self.counters.records_out += 1;
                    out.push(Item::result(address.key_len, bytes));
                }
            }
            batch.clear();
        }
        self.effects = effects;
    }

    /// Keeps the state at this place.
    fn record(&mut self) {
        let mut delta = Delta::new();
        let _ = self.machine.checkpoint(&mut delta, &rows_of(self.role.split));
        let _ = self.rows.commit(&delta);
        let numbers = self.out.iter().map(|(target, out)| (*target, out.items.len() as u64 + 1));
        let state = State {
            rows: self.rows.sum,
            reader: reader_hash(&self.reader.state()),
            numbers: numbers_hash(numbers),
            results: self.results_sum,
            counters: Counters { duplicates: self.reader.duplicates, ..self.counters },
        };
        self.states.insert((self.offset, self.idle, self.ended), state);
    }

    /// What it has counted up to here.
    pub(crate) fn counters(&self) -> Counters {
        Counters { duplicates: self.reader.duplicates, ..self.counters }
    }

    /// Where the split began, once that is committed.
    pub(crate) fn first_offset(&self) -> Option<u64> {
        self.first
    }
}
