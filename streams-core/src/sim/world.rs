//! The simulated world: instances with their workers, the log, the store, and what is under way between them.
//!
//! Each step does one thing that can happen next: an action takes effect at its server, an answer arrives, a
//! record is produced, a fault strikes. A crash may therefore fall between any effect and its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::blueprint::Blueprint;
use super::local::LocalStore;
use super::log::Log;
use super::plan::{EPOCH_MS, Fault, RunPlan};
use super::random::{Random, mix};
use super::reference::Reference;
use super::report::{Tally, Trace, Violation};
use super::store::{Rows, SplitRow, Transaction};
use crate::lookup::Tables;
use crate::protocol::frame::Frame;
use crate::protocol::ids::{Incarnation, Split, Stage, Target, Token, Topic};
use crate::protocol::snapshot::Snapshot;
use crate::protocol::worker::{Action, CommitOutcome, Culprit, Event, Failed, Role, RowsIn, Stop, Worker};
use crate::store::backing::{Backing, Row};
use crate::store::local::Marks;

mod check;
pub(crate) mod choices;
mod faults;
mod finish;
mod perform;
mod rows;
mod schedule;
mod start;

/// The life of the job.
pub(crate) const INCARNATION: Incarnation = Incarnation(7);

/// One split and where its queue is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitPlace {
    pub(crate) split: Split,
    pub(crate) place: usize,
    pub(crate) original: bool,
}

#[derive(Debug, Default)]
struct Instance {
    clock_ms: u64,
    /// Its disk.
    local: LocalStore,
    /// It stands still until this step.
    paused_until: u32,
    /// It runs newer code.
    is_new: bool,
    /// The tables that its workers look rows up in, and which rows these have.
    tables: Tables,
    table_version: Arc<AtomicU64>,
}

impl Instance {
    fn new() -> Self {
        Self { clock_ms: EPOCH_MS as u64, ..Self::default() }
    }
}

/// A worker and what the world knows of it.
struct Slot {
    worker: Worker,
    instance: usize,
    split: usize,
    token: Option<Token>,
    /// Fresh looks in a row that found the end of the queue, there.
    looks: (u64, u32),
    /// When its token was raised.
    raised_at: u32,
    /// A hash over all that it has heard.
    history: u64,
}

/// An action under way.
struct Op {
    worker: u32,
    split: usize,
    instance: usize,
    action: Action,
    /// Only where a bug is planted: the rows as they were when the split was about to be taken.
    early: Option<Box<Rows>>,
    /// Only in the search through everything.
    hash: u64,
}

/// What a worker will hear.
enum Answer {
    Raised(Token),
    Refused,
    Row(Option<(Token, u64, Vec<u8>)>),
    Resolved(u64),
    Loaded(Box<dyn Backing>),
    Paged(Vec<Row>, bool),
    Fenced,
    Marks(Marks),
    /// The instance's rows, to be read.
    Copied,
    LocalDone,
    Polled {
        from: u64,
        n: usize,
        min: u64,
        max: u64,
        before: Option<u64>,
        closed: bool,
        fresh: bool,
    },
    Sent {
        target: Target,
        offset: Option<u64>,
    },
    Tailed {
        target: Target,
        last: u64,
    },
    Committed(CommitOutcome),
    Observed {
        token: Token,
        version: u64,
    },
    Failed(Failed),
}

/// What takes effect later, although its sender has given up or died.
enum Landing {
    Send { target: Target, frame: Frame },
    Commit { worker: u32, split: usize, transaction: Transaction, snapshot: Box<Snapshot> },
}

/// Everything.
pub(crate) struct World<'a> {
    blueprint: &'a Blueprint,
    plan: &'a RunPlan,
    random: Random,
    pub(crate) log: Log,
    rows: Vec<SplitRow>,
    splits: Vec<SplitPlace>,
    index: BTreeMap<Split, usize>,
    pub(crate) references: Vec<Reference>,
    /// How many queues each source port has now.
    source_queues: Vec<usize>,
    instances: Vec<Instance>,
    slots: BTreeMap<u32, Slot>,
    next_worker: u32,
    ops: Vec<Op>,
    answers: Vec<(u32, Answer)>,
    landings: Vec<Landing>,
    actions: Vec<Action>,
    /// Rows that were read before the token was raised, where that bug is planted.
    early: BTreeMap<u32, Box<Rows>>,
    /// What the broker's own tools believe, by split.
    reported: Vec<u64>,
    /// When somebody last sent for a split that he does not own, and since when its clean owner had it.
    strays: Vec<(u32, u32)>,
    /// By source queue place: the numbers of its records in the order of production.
    produced: Vec<(usize, u64, usize)>,
    next_input: usize,
    next_fault: usize,
    /// Faults that wait for their next victim.
    armed: Vec<Fault>,
    store_away_until: u32,
    /// The store has been away.
    was_away: bool,
    /// As the rows' readers see it.
    store_away: Arc<AtomicBool>,
    log_away_until: u32,
    /// Splits whose outputs may lie twice in their topic, for a reason: a message had an unknown fate, or there was a
    /// second owner. One doubtful split excuses no other.
    doubtful: BTreeSet<Split>,
    /// The log lost a message: the job has to stop, and cannot finish.
    pub(crate) lossy: bool,
    /// A worker noticed that.
    noticed: bool,
    /// A worker ended because the job panics with no record at fault.
    pub(crate) flawed: bool,
    /// Where the job panicked, by what an instance knows of a split.
    culprits: BTreeMap<(usize, usize), Culprit>,
    /// A token was undone.
    failed_over: bool,
    /// Some instances run other code than others.
    upgraded: bool,
    grown: bool,
    /// Which rows whoever reads the tables now finds.
    table_version: u64,
    quiet_since: Option<u32>,
    /// By place: how far anybody has read.
    read_to: BTreeMap<usize, u64>,
    pub(crate) step: u32,
    pub(crate) tally: Tally,
    pub(crate) trace: Trace,
    violation: Option<Violation>,
    /// Only in the search through everything: what may still go wrong.
    budget: Option<choices::Budget>,
    moved: choices::Moved,
}

/// How many steps a fleet may take to finish when nothing goes wrong any more.
const QUIET_STEPS: u32 = 60_000;

impl<'a> World<'a> {
    pub(crate) fn new(blueprint: &'a Blueprint, plan: &'a RunPlan, trace: Trace) -> Self {
        let mut world = Self {
            blueprint,
            plan,
            random: Random::new(plan.schedule),
            log: Log::default(),
            rows: Vec::new(),
            splits: Vec::new(),
            index: BTreeMap::new(),
            references: Vec::new(),
            source_queues: plan.shape.source_queues.clone(),
            instances: (0..plan.shape.n_instances).map(|_| Instance::new()).collect(),
            slots: BTreeMap::new(),
            next_worker: 0,
            ops: Vec::new(),
            answers: Vec::new(),
            landings: Vec::new(),
            actions: Vec::new(),
            early: BTreeMap::new(),
            reported: Vec::new(),
            strays: Vec::new(),
            produced: Vec::new(),
            next_input: 0,
            next_fault: 0,
            armed: Vec::new(),
            store_away_until: 0,
            was_away: false,
            store_away: Arc::default(),
            log_away_until: 0,
            doubtful: BTreeSet::new(),
            lossy: false,
            noticed: false,
            flawed: false,
            culprits: BTreeMap::new(),
            failed_over: false,
            upgraded: false,
            grown: false,
            table_version: 0,
            quiet_since: None,
            read_to: BTreeMap::new(),
            step: 0,
            tally: Tally::default(),
            trace,
            violation: None,
            budget: None,
            moved: choices::Moved::default(),
        };
        for stage in 0..blueprint.stages.len() {
            for queue in 0..world.n_queues(Stage(stage as u16)) {
                world.add_split(Split { stage: Stage(stage as u16), queue: queue as u16 }, true);
            }
        }
        for topic in blueprint.outputs() {
            for queue in 0..plan.shape.output_queues {
                world.log.add(Target { topic, queue: queue as u16 });
            }
        }
        for _ in 0..plan.shape.n_before {
            world.produce();
        }
        world.close();
        world
    }

    fn n_queues(&self, stage: Stage) -> usize {
        let stage = usize::from(stage.0);
        match stage.checked_sub(self.blueprint.n_sources) {
            None => self.source_queues.get(stage).copied().unwrap_or(1),
            Some(exchange) => self.plan.shape.shuffle_queues.get(exchange).copied().unwrap_or(1),
        }
    }

    fn add_split(&mut self, split: Split, original: bool) {
        let place = self.log.add(Target { topic: Topic::Of(split.stage), queue: split.queue });
        let source = usize::from(split.stage.0) < self.blueprint.n_sources;
        self.index.insert(split, self.splits.len());
        self.splits.push(SplitPlace { split, place, original: original && source });
        self.rows.push(SplitRow::default());
        self.reported.push(0);
        self.strays.push((0, 0));
        let mut role = self.role(split, original && source);
        role.held |= source && role.idle_after_ms.is_some() || role.clock || role.tables; // As a worker.
        let (blueprint, n_queues) = (self.blueprint.clone(), self.plan.shape.shuffle_queues.clone());
        let machine = move || blueprint.machine(split.stage, &n_queues);
        let own = self.blueprint.clone();
        let fill = move |tables: &Tables, version| own.fill(tables, version);
        self.references.push(Reference::new(role, Box::new(machine), Box::new(fill)));
    }

    fn role(&self, split: Split, original: bool) -> Role {
        let stage = self.blueprint.stages.get(usize::from(split.stage.0));
        let stage = stage.expect("splits are made for the stages of the job");
        let n_queues = |topic: &Topic| match topic {
            Topic::Of(stage) => self.n_queues(*stage),
            Topic::Output(_) => self.plan.shape.output_queues,
        };
        Role {
            split,
            incarnation: INCARNATION,
            upstream: stage.upstream.clone(),
            targets: stage
                .topics
                .iter()
                .filter(|topic| !(self.plan.shape.in_commit && matches!(topic, Topic::Output(_))))
                .map(|topic| (*topic, n_queues(topic) as u16))
                .collect(),
            in_commit: stage
                .topics
                .iter()
                .filter_map(|topic| match topic {
                    Topic::Output(output) if self.plan.shape.in_commit => Some(*output),
                    _ => None,
                })
                .collect(),
            held: self.plan.shape.held,
            original,
            siblings: (0..self.n_queues(split.stage) as u16).collect(),
            fingerprint: 1,
            idle_after_ms: stage.upstream.is_empty().then_some(self.plan.shape.idle_after_ms).flatten(),
            clock: stage.clock,
            tables: self.blueprint.looks_up(stage),
            settle_ms: 2_000,
            rows_in: if self.plan.shape.copied { RowsIn::RemoteAndCopy } else { RowsIn::Remote },
            most_waiting: self.plan.shape.most_waiting,
            most_waiting_bytes: self.plan.shape.most_waiting_bytes,
            most_uncommitted: self.plan.shape.most_uncommitted,
            most_behind: self.plan.shape.most_behind,
            most_bytes: usize::MAX,
            culprit: None,
        }
    }

    fn place_of(&self, split: usize) -> SplitPlace {
        *self.splits.get(split).expect("splits are numbered as they are made")
    }

    fn row(&mut self, split: usize) -> &mut SplitRow {
        self.rows.get_mut(split).expect("each split has a row")
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self) -> Option<Violation> {
        while self.violation.is_none() && !self.noticed && !self.flawed {
            self.step += 1;
            self.tally.steps += 1;
            self.strike();
            self.store_away.store(self.step < self.store_away_until, Ordering::Relaxed);
            self.act();
            if self.quiet_since.is_none() && self.is_calm() {
                self.calm();
            }
            if let Some(since) = self.quiet_since {
                if self.step.is_multiple_of(8) && self.is_finished() {
                    break;
                }
                if self.step - since > QUIET_STEPS {
                    if !self.lossy {
                        let open: Vec<String> = self.open_splits();
                        self.fail("I17", format!("no quiescence; open: {}", open.join(", ")));
                    }
                    break;
                }
            }
        }
        if self.violation.is_none() && !self.lossy && !self.flawed {
            self.finish();
        }
        self.violation.take()
    }

    fn fail(&mut self, invariant: &'static str, text: String) {
        let step = self.step;
        self.violation.get_or_insert(Violation { invariant, text, step });
    }

    fn note(&mut self, kind: u64, a: u64, text: impl FnOnce() -> String) {
        let step = self.step;
        self.trace.note(mix(kind, a), step, text);
    }

    fn is_paused(&self, instance: usize) -> bool {
        self.instances.get(instance).is_some_and(|instance| instance.paused_until > self.step)
    }

    /// Tells a worker something and takes what it wants.
    fn tell(&mut self, worker: u32, event: Event<'_>) {
        let mut actions = std::mem::take(&mut self.actions);
        let tick = self.tick();
        if let Some(slot) = self.slots.get_mut(&worker) {
            let (split, own) = (slot.split, slot.instance);
            if let Some(instance) = self.instances.get_mut(slot.instance) {
                instance.clock_ms += tick;
                slot.worker.step(event, instance.clock_ms, &mut actions);
            }
            self.enqueue(worker, split, own, &mut actions);
        }
        self.actions = actions;
    }

    /// How long something takes.
    fn tick(&mut self) -> u64 {
        if self.budget.is_some() { 1 } else { 1 + self.random.below(4) as u64 }
    }

    fn enqueue(&mut self, worker: u32, split: usize, instance: usize, actions: &mut Vec<Action>) {
        for action in actions.drain(..) {
            match action {
                Action::Stop(why) => self.stopped(worker, split, &why),
                Action::Report { offset } => {
                    if let Some(reported) = self.reported.get_mut(split) {
                        *reported = offset.max(*reported);
                    }
                }
                // Whoever reads the message again tells it again; the counters are what is checked.
                Action::Reject(_) => {}
                action => {
                    let early = self.early_rows(split, &action);
                    let hash = self.budget.map_or(0, |_| choices::action_hash(&action, split));
                    self.check_bounds(worker, &action);
                    self.ops.push(Op { worker, split, instance, action, early, hash });
                }
            }
        }
    }
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("seed", &self.plan.seed)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}
