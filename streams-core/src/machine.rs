//! A split machine: a job (or a stage of it) as a plain state machine without I/O, clock or thread.
//!
//! What it does depends on nothing but the order of the calls: not on the sizes of batches, not on when
//! checkpoints are taken.

use std::any::Any;
use std::collections::BTreeSet;

use crate::batch::{Batch, Taken};
use crate::context::Context;
use crate::effects::{Effects, Gauges, Origin, Reach};
use crate::error::StateError;
use crate::inspect::Inquiry;
use crate::lookup::Tables;
use crate::ports::{Input as PortInput, Source};
use crate::push::{Push, System};
use crate::record::{NoKey, Rec};
use crate::state::{Attached, Loader, Page, Saver};
use crate::store::backing::{Backing, Row};
use crate::store::{Delta, Store};
use crate::time::UNTIMED;

/// A job that was built for one split. Entries are numbered: first the source ports in the order of the job's
/// parameters, then (in the exchanged layout) one per shuffle: exchange `x` is entry `n_sources + x`, and what
/// an exchange sends on goes to exchanges with smaller numbers only.
pub trait Machine: Send {
    /// How many entries are source ports.
    fn n_sources(&self) -> usize;

    /// How many entries are exchanges; 0 where the stages are fused.
    fn n_exchanges(&self) -> usize;

    /// Loads the state that lies under `prefix`. Called once, before anything else.
    ///
    /// # Errors
    /// When the state cannot be read or decoded; the machine is then not to be used.
    fn new_split(&mut self, store: &dyn Store, prefix: &[u8]) -> Result<(), StateError>;

    /// Takes a split whose rows are read from `backing` when they are needed, until [`Self::loaded`]; rows come
    /// in pages meanwhile. Called once, in place of [`Self::new_split`].
    ///
    /// # Errors
    /// As [`Self::new_split`].
    fn attach(&mut self, backing: Box<dyn Backing>, prefix: &[u8]) -> Result<(), StateError>;

    /// Takes rows of the backing that were read in the background, in key order and without gaps from page to
    /// page. A page may have been read before the last calls to the machine, but not before its last commit.
    ///
    /// # Errors
    /// When a row does not decode; the machine is then not to be used.
    fn page(&mut self, rows: &[Row], prefix: &[u8]) -> Result<(), StateError>;

    /// All rows have come in pages; the backing is dropped.
    fn loaded(&mut self);

    /// The first read from the backing that failed since the last call. The machine is then not to be used any
    /// more, and what it has given out since the last call means nothing.
    fn failure(&mut self) -> Option<StateError>;

    /// The encoded records of a shuffle that `feed` is given next, in whatever portions: the rows that they need and
    /// that are not here are read together. Another call forgets what was read, and so has to come in front of a
    /// checkpoint; without records it does nothing else.
    fn ahead(&mut self, entry: usize, records: &[&[u8]]);

    /// Whether a source port takes these typed records ([`Batch::Typed`]).
    ///
    /// # Errors
    /// The type that it takes.
    fn takes(&self, entry: usize, records: &dyn Any) -> Result<(), &'static str> {
        let _ = (entry, records);
        Ok(())
    }

    /// Runs a batch through the operators behind `entry`.
    fn feed(&mut self, entry: usize, batch: Batch<'_>) -> Taken;

    /// Event time at `entry` has reached `at_ms`.
    fn watermark(&mut self, entry: usize, at_ms: i64);

    /// The input at `entry` has ended: what waits for more fires.
    fn end(&mut self, entry: usize);

    /// Tells operators that look rows up where they are; called once, before anything else, where there are any.
    fn tables(&mut self, tables: &Tables);

    /// Rows of tables may be newer now: from here on the newest are looked up.
    fn refresh(&mut self);

    /// It is `now_ms`: what comes in from here on has this processing time, and windows of processing time that are
    /// over fire. Only operators behind `entry` act on it.
    fn clock(&mut self, entry: usize, now_ms: i64);

    /// Nothing has come in at `entry` for a while: unions wait for it no longer, until [`Self::active`]. Not part of
    /// the state.
    fn idle(&mut self, entry: usize);

    /// Records come in at `entry` again; said in front of the first. Behind an end it takes that back: a topic may
    /// have grown.
    fn active(&mut self, entry: usize);

    /// Moves what has gathered at the ends into `effects`.
    fn drain(&mut self, effects: &mut Effects);

    /// Adds to `delta` what changed since the last call, as rows under `prefix`.
    ///
    /// # Errors
    /// When a value does not encode; `delta` is then not to be committed.
    fn checkpoint(&mut self, delta: &mut Delta, prefix: &[u8]) -> Result<(), StateError>;

    /// The split was taken away: state is dropped.
    fn remove_split(&mut self);

    /// Lets the operator that an inquiry is about answer it, from the rows and not from what is in memory.
    fn inspect<'a>(&mut self, inquiry: Inquiry<'a>) -> Inquiry<'a>;

    /// What an operator would tell a person.
    fn observe(&mut self) -> Gauges;

    /// The ends that records of `entry` can reach without another shuffle.
    fn reach(&mut self, entry: usize) -> Reach;

    /// Makes this the machine of one stage: records come in through `entry` alone, and system messages reach
    /// the operators behind it alone. Called before anything else; gives the ends that the stage can reach.
    fn focus(&mut self, entry: usize) -> Reach;
}

/// For each exchange of the machine, the source ports whose records can come to it.
pub fn feeding(machine: &mut dyn Machine) -> Vec<BTreeSet<usize>> {
    let n_sources = machine.n_sources();
    let mut feeding = vec![BTreeSet::new(); machine.n_exchanges()];
    // Sources first, then exchanges from the one furthest upstream, so that what feeds one is known when its
    // own reach is asked for.
    let exchanges = (0..machine.n_exchanges()).rev().map(|exchange| n_sources + exchange);
    for entry in (0..n_sources).chain(exchanges) {
        let from = match entry.checked_sub(n_sources).and_then(|exchange| feeding.get(exchange)) {
            Some(sources) => sources.clone(),
            None => BTreeSet::from([entry]),
        };
        for exchange in machine.reach(entry).exchanges {
            if let Some(sources) = feeding.get_mut(exchange) {
                sources.extend(&from);
            }
        }
    }
    feeding
}

/// What a job's `build` gives.
pub type Built = Result<Box<dyn Machine>, crate::error::BuildError>;

/// One way into a machine.
pub(crate) trait Entry<C>: Send {
    /// Typed records come in through source ports alone, which know their type.
    fn takes(&self, _records: &dyn Any) -> Result<(), &'static str> {
        Ok(())
    }

    fn feed(&mut self, batch: Batch<'_>, cx: &mut C) -> Taken;
    /// Nothing behind a source keeps rows by keys that are known before its records are decoded.
    fn ahead(&mut self, _records: &[&[u8]], _cx: &mut C) {}
    fn watermark(&mut self, at_ms: i64, cx: &mut C);
    fn system(&mut self, message: &mut System<'_>, cx: &mut C);

    /// What comes in has come through another exchange before, so that each sender has an event time of its own.
    fn relay(&mut self) {}
}

/// A source port: decodes where bytes come in.
pub(crate) struct SourceEntry<T, S, N> {
    pub(crate) port: &'static str,
    pub(crate) source: S,
    pub(crate) node: N,
    pub(crate) _type: std::marker::PhantomData<fn() -> T>,
}

impl<T, S, N, C> Entry<C> for SourceEntry<T, S, N>
where
    T: PortInput,
    S: Source<T>,
    C: Context,
    N: Push<Rec<NoKey, T>, C> + Send,
{
    fn takes(&self, records: &dyn Any) -> Result<(), &'static str> {
        if records.is::<Vec<T>>() { Ok(()) } else { Err(std::any::type_name::<T>()) }
    }

    fn feed(&mut self, batch: Batch<'_>, cx: &mut C) -> Taken {
        match batch {
            Batch::Typed(records) if S::TAKES_VALUES => {
                let records =
                    records.downcast_mut::<Vec<T>>().expect("a port is fed with records of its own type");
                for val in records.drain(..) {
                    self.node.push(Rec { ts: UNTIMED, key: NoKey, val }, cx);
                }
            }
            Batch::Pulled(most) if S::MAKES => {
                let node = &mut self.node;
                let made = self.source.pull(most, |val| node.push(Rec { ts: UNTIMED, key: NoKey, val }, cx));
                if made < most {
                    return Taken::Dry;
                }
            }
            Batch::Raw { batch, from, stop_on_reject } if !S::MAKES => {
                for (index, record) in batch.records.iter().enumerate().skip(from) {
                    cx.base().origin = Origin::Batch(u32::try_from(index).unwrap_or(u32::MAX));
                    cx.base().stored_ms = record.stored_ms;
                    match self.source.decode(batch.slice(record)) {
                        Ok(val) => self.node.push(Rec { ts: UNTIMED, key: NoKey, val }, cx),
                        Err(error) => cx.base().reject(self.port, error, None),
                    }
                    if stop_on_reject && !cx.base().rejects.is_empty() {
                        cx.base().leave_batch();
                        return Taken::Until(index);
                    }
                }
                cx.base().leave_batch();
            }
            _ => unreachable!("a port is fed what its source takes"),
        }
        Taken::All
    }

    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.node.watermark(at_ms, cx);
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.node.system(message, cx);
    }
}

/// The machine that [`crate::plan::Wiring`] puts together.
pub(crate) struct Assembled<C> {
    pub(crate) n_sources: usize,
    /// The only entry that is used, where the machine is that of one stage.
    pub(crate) focus: Option<usize>,
    pub(crate) entries: Vec<Box<dyn Entry<C>>>,
    pub(crate) cx: C,
}

impl<C: Context> Assembled<C> {
    /// Tells the exchanges to which others send.
    pub(crate) fn relayed(mut self) -> Self {
        for from in self.n_sources..self.entries.len() {
            for exchange in self.reach(from).exchanges {
                if let Some(entry) = self.entries.get_mut(self.n_sources + exchange) {
                    entry.relay();
                }
            }
        }
        self
    }

    fn entry(&mut self, entry: usize) -> (&mut dyn Entry<C>, &mut C) {
        let found = self.entries.get_mut(entry).expect("drivers use the entries that the machine has");
        (found.as_mut(), &mut self.cx)
    }

    fn tell_all(&mut self, message: &mut System<'_>) {
        if let Some(focus) = self.focus {
            let (entry, cx) = self.entry(focus);
            return entry.system(message, cx);
        }
        // Front to back: sources, then exchanges from the one furthest upstream.
        let (sources, exchanges) = self.entries.split_at_mut(self.n_sources);
        for entry in sources.iter_mut().chain(exchanges.iter_mut().rev()) {
            entry.system(message, &mut self.cx);
        }
    }
}

impl<C: Context> Machine for Assembled<C> {
    fn n_sources(&self) -> usize {
        self.n_sources
    }

    fn n_exchanges(&self) -> usize {
        self.entries.len() - self.n_sources
    }

    fn new_split(&mut self, store: &dyn Store, prefix: &[u8]) -> Result<(), StateError> {
        let mut message = System::NewSplit(Loader::new(store, prefix));
        self.tell_all(&mut message);
        match message {
            System::NewSplit(loader) => loader.finish(),
            _ => Ok(()),
        }
    }

    fn attach(&mut self, backing: Box<dyn Backing>, prefix: &[u8]) -> Result<(), StateError> {
        let attached = Attached::new(backing, prefix);
        let mut message = System::NewSplit(Loader::attached(&attached));
        self.tell_all(&mut message);
        let result = match message {
            System::NewSplit(loader) => loader.finish(),
            _ => Ok(()),
        };
        self.cx.base().attached = Some(attached);
        result
    }

    fn page(&mut self, rows: &[Row], prefix: &[u8]) -> Result<(), StateError> {
        let mut message = System::Page(Page::new(rows, prefix));
        self.tell_all(&mut message);
        match message {
            System::Page(page) => page.finish(),
            _ => Ok(()),
        }
    }

    fn loaded(&mut self) {
        self.tell_all(&mut System::Loaded);
        self.cx.base().attached = None;
    }

    fn failure(&mut self) -> Option<StateError> {
        self.cx.base().failure.take()
    }

    fn ahead(&mut self, entry: usize, records: &[&[u8]]) {
        let (entry, cx) = self.entry(entry);
        if cx.base().attached.is_some() {
            entry.ahead(records, cx);
        }
    }

    fn takes(&self, entry: usize, records: &dyn Any) -> Result<(), &'static str> {
        self.entries.get(entry).map_or(Ok(()), |entry| entry.takes(records))
    }

    fn feed(&mut self, entry: usize, batch: Batch<'_>) -> Taken {
        let (entry, cx) = self.entry(entry);
        entry.feed(batch, cx)
    }

    fn watermark(&mut self, entry: usize, at_ms: i64) {
        let (entry, cx) = self.entry(entry);
        entry.watermark(at_ms, cx);
    }

    fn end(&mut self, entry: usize) {
        let (entry, cx) = self.entry(entry);
        entry.system(&mut System::End, cx);
    }

    fn tables(&mut self, tables: &Tables) {
        self.tell_all(&mut System::Tables(tables));
    }

    fn refresh(&mut self) {
        self.tell_all(&mut System::Refresh);
    }

    fn clock(&mut self, entry: usize, now_ms: i64) {
        let (entry, cx) = self.entry(entry);
        cx.base().now_ms = now_ms;
        entry.system(&mut System::Clock, cx);
    }

    fn idle(&mut self, entry: usize) {
        let (entry, cx) = self.entry(entry);
        entry.system(&mut System::Idle, cx);
    }

    fn active(&mut self, entry: usize) {
        let (entry, cx) = self.entry(entry);
        entry.system(&mut System::Active, cx);
    }

    fn drain(&mut self, effects: &mut Effects) {
        let mut message = System::Drain(std::mem::take(effects));
        self.tell_all(&mut message);
        if let System::Drain(filled) = message {
            *effects = filled;
        }
        effects.rejects.append(&mut self.cx.base().rejects);
    }

    fn checkpoint(&mut self, delta: &mut Delta, prefix: &[u8]) -> Result<(), StateError> {
        let mut message = System::CheckPoint(Saver::new(delta, prefix));
        self.tell_all(&mut message);
        match message {
            System::CheckPoint(saver) => saver.finish(),
            _ => Ok(()),
        }
    }

    fn remove_split(&mut self) {
        self.tell_all(&mut System::RemoveSplit);
    }

    fn focus(&mut self, focus: usize) -> Reach {
        for (_, entry) in self.entries.iter_mut().enumerate().filter(|(index, _)| *index != focus) {
            entry.system(&mut System::Absent, &mut self.cx);
        }
        self.focus = Some(focus);
        self.reach(focus)
    }

    fn reach(&mut self, entry: usize) -> Reach {
        let mut message = System::Reach(Reach::default());
        let (entry, cx) = self.entry(entry);
        entry.system(&mut message, cx);
        match message {
            System::Reach(reach) => reach,
            _ => Reach::default(),
        }
    }

    fn inspect<'a>(&mut self, inquiry: Inquiry<'a>) -> Inquiry<'a> {
        let mut message = System::Inspect(inquiry);
        self.tell_all(&mut message);
        match message {
            System::Inspect(inquiry) => inquiry,
            _ => unreachable!("a message stays what it is"),
        }
    }

    fn observe(&mut self) -> Gauges {
        let mut message = System::Observe(Gauges::default());
        self.tell_all(&mut message);
        match message {
            System::Observe(gauges) => gauges,
            _ => Gauges::default(),
        }
    }
}
