//! The world as a list of what can happen next, for the search through everything.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Action, Answer, Event, Landing, Op, SplitRow, World};
use crate::protocol::ids::Topic;
use crate::protocol::worker::CommitOutcome;
use crate::sim::blueprint::Blueprint;
use crate::sim::plan::{Fault, RunPlan};
use crate::sim::random::mix;
use crate::sim::report::{Trace, Violation};

/// What may still go wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// How many crashes.
    pub crashes: u8,
    /// How many takeovers from an owner that lives.
    pub takeovers: u8,
    /// How many messages whose sender does not learn what became of them.
    pub unknown: u8,
    /// Go through every order, also through those that are known to lead nowhere else.
    pub every_order: bool,
}

/// One thing that can happen next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// An action takes effect; a message perhaps with an unknown outcome.
    Perform(usize, Option<Fault>),
    /// An answer arrives.
    Answer(usize),
    /// A late message lands.
    Land(usize),
    /// An instance crashes; what it had handed over arrives or not.
    Crash(usize, bool),
    /// The other instance takes a split.
    Take(usize),
}

/// What has moved since the last time that anything could have happened.
#[derive(Debug, Default)]
pub(super) struct Moved {
    instances: BTreeSet<usize>,
    /// By split.
    rows: BTreeSet<usize>,
}

impl Moved {
    fn all(n_instances: usize, n_splits: usize) -> Self {
        Self { instances: (0..n_instances).collect(), rows: (0..n_splits).collect() }
    }
}

impl<'a> World<'a> {
    /// A world in which nothing is random.
    pub(crate) fn tiny(blueprint: &'a Blueprint, plan: &'a RunPlan, budget: Budget, trace: Trace) -> Self {
        let mut world = World::new(blueprint, plan, trace);
        world.budget = Some(budget);
        world.adopt_all();
        // The search begins when both splits run; how a split is taken is in it with every later owner.
        while let Some(choice) = world.start() {
            world.choose(choice);
        }
        world.moved = Moved::all(world.instances.len(), world.splits.len());
        world
    }

    /// The next step of a worker that does not run yet.
    fn start(&self) -> Option<Choice> {
        let starts = |worker: &u32| self.slots.get(worker).is_some_and(|slot| !slot.worker.is_running());
        let answer = self.answers.iter().position(|(worker, _)| starts(worker)).map(Choice::Answer);
        let op = || self.ops.iter().position(|op| starts(&op.worker)).map(|at| Choice::Perform(at, None));
        answer.or_else(op)
    }

    fn left(&self) -> Budget {
        self.budget.unwrap_or_default()
    }

    /// Everything that can happen next, but for orders that lead nowhere else (a partial-order reduction):
    ///
    /// - An action and its answer are one step: what a worker does with an answer is to ask for more, so a crash
    ///   between the two leaves what a crash behind both leaves. What a dead instance had handed over and
    ///   arrives has arrived before the crash.
    /// - A step that nobody else can notice, and that notices nothing that anybody else does, is the only choice.
    /// - A crash of an instance comes directly behind a step of that instance, a takeover of a split directly
    ///   behind a step on the split's row: all the steps between do the same before and after it.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        let budget = self.left();
        let private = self.private();
        let alone = private.is_some();
        let ops = self.ops.iter().enumerate();
        let mut choices = Vec::new();
        for (at, op) in ops.filter(|(at, _)| private.is_none_or(|only| only == *at)) {
            if !self.makes_sense(op) {
                continue;
            }
            choices.push(Choice::Perform(at, None));
            if budget.unknown > 0 && matches!(op.action, Action::Send { .. }) {
                let faults = [Fault::AckLost, Fault::SendLost, Fault::SendLate];
                choices.extend(faults.map(|fault| Choice::Perform(at, Some(fault))));
            }
        }
        if alone {
            return choices;
        }
        choices.extend((0..self.answers.len()).map(Choice::Answer));
        choices.extend((0..self.landings.len()).map(Choice::Land));
        if budget.crashes > 0 {
            for instance in 0..self.instances.len() {
                let works = self.slots.values().any(|slot| slot.instance == instance);
                if works && (budget.every_order || self.moved.instances.contains(&instance)) {
                    choices.push(Choice::Crash(instance, false));
                    choices.extend(budget.every_order.then_some(Choice::Crash(instance, true)));
                }
            }
        }
        if budget.takeovers > 0 {
            let splits = (0..self.splits.len()).filter(|s| budget.every_order || self.moved.rows.contains(s));
            choices.extend(splits.map(Choice::Take));
        }
        choices
    }

    /// Whether nothing is left but that something goes wrong.
    pub(crate) fn is_quiet(&self) -> bool {
        let waits = self.ops.iter().any(|op| self.makes_sense(op));
        !waits && self.answers.is_empty() && self.landings.is_empty()
    }

    /// An action that nobody else can notice and that notices nobody else.
    fn private(&self) -> Option<usize> {
        if self.left().every_order {
            return None;
        }
        self.ops.iter().position(|op| self.is_private(op) && self.makes_sense(op))
    }

    /// Whether an action reads or writes the row of its split; a record does when rows are still being loaded.
    fn touches_row(&self, op: &Op) -> bool {
        match op.action {
            Action::Raise { .. }
            | Action::Read { .. }
            | Action::Load { .. }
            | Action::Page { .. }
            | Action::Commit { .. }
            | Action::Observe => true,
            Action::Poll { .. } => self.slots.get(&op.worker).is_some_and(|slot| slot.worker.is_loading()),
            _ => false,
        }
    }

    fn is_private(&self, op: &Op) -> bool {
        let budget = self.left();
        let Some(slot) = self.slots.get(&op.worker) else { return false };
        let row = self.rows.get(op.split);
        let fenced = slot.token.is_some() && row.is_some_and(|row| row.token() != slot.token);
        let raises = |other: &Op| other.split == op.split && matches!(other.action, Action::Raise { .. });
        // Nobody can take the split from now on.
        let settled = budget.takeovers == 0
            && !self.ops.iter().any(raises)
            && !self.landings.iter().any(|landing| matches!(landing, Landing::Commit { .. }));
        let workers = self.slots.values().filter(|slot| slot.split == op.split).count();
        let lands = |target| {
            let to = |landing: &Landing| matches!(landing, Landing::Send { target: t, .. } if *t == target);
            self.landings.iter().any(to)
        };
        match &op.action {
            Action::Resolve { .. } => true,
            // Nothing comes into a source any more.
            Action::Poll { .. } => {
                let reads = self.touches_row(op);
                self.log.queue(self.place_of(op.split).place).closed && (!reads || (settled && !fenced))
            }
            // A worker that finds itself fenced stops, with all that it was about to send.
            Action::Read { .. } | Action::Load { .. } | Action::Page { .. } => settled && !fenced,
            // A token does not come back, and a fenced owner changes nothing.
            Action::Observe => fenced || settled,
            Action::Commit { .. } if fenced => true,
            Action::Commit { .. } => settled && workers == 1 && budget.crashes == 0,
            Action::Raise { .. } => {
                let others = self.ops.iter().filter(|other| raises(other)).count() > 1;
                budget.takeovers == 0 && workers == 1 && !others
            }
            Action::Tail { target, .. } => settled && workers == 1 && !lands(*target),
            Action::Send { target, .. } => {
                let read = matches!(target.topic, Topic::Of(_));
                settled && workers == 1 && budget.crashes == 0 && !lands(*target) && !read
            }
            Action::Rollback
            | Action::Local(_)
            | Action::Report { .. }
            | Action::Reject(_)
            | Action::Stop(_) => false,
        }
    }

    /// A poll makes sense when there is something to read, or to find out.
    fn makes_sense(&self, op: &Op) -> bool {
        let Action::Poll { offset } = op.action else { return true };
        let Some(slot) = self.slots.get(&op.worker) else { return false };
        let queue = self.log.queue(self.place_of(op.split).place);
        let looks = slot.worker.is_revoked() || (queue.closed && !slot.worker.has_ended());
        queue.end() != offset || looks
    }

    /// Lets one thing happen.
    pub(crate) fn choose(&mut self, choice: Choice) {
        self.step += 1;
        if self.private().is_none() {
            self.moved = Moved::default();
        }
        match choice {
            Choice::Perform(at, fault) => {
                if let Some(fault) = fault {
                    self.armed.push(fault);
                    self.spend(|budget| &mut budget.unknown);
                }
                if at < self.ops.len() {
                    let op = self.ops.remove(at);
                    self.moved.instances.extend(self.slots.get(&op.worker).map(|slot| slot.instance));
                    if self.touches_row(&op) {
                        self.moved.rows.insert(op.split);
                    }
                    self.complete(op);
                }
            }
            Choice::Answer(at) => {
                if at < self.answers.len() {
                    let (worker, answer) = self.answers.remove(at);
                    self.hear(worker, answer);
                }
            }
            Choice::Land(at) => self.land_at(at),
            Choice::Crash(instance, arrives) => {
                self.spend(|budget| &mut budget.crashes);
                self.crash_with(instance, |_| if arrives { 0 } else { 2 });
                self.moved = Moved::all(self.instances.len(), self.splits.len());
            }
            Choice::Take(split) => {
                self.spend(|budget| &mut budget.takeovers);
                let owner =
                    self.slots.values().find(|slot| slot.split == split).map_or(0, |slot| slot.instance);
                self.take(split, (owner + 1) % self.instances.len().max(1));
                self.moved = Moved::all(self.instances.len(), self.splits.len());
                // Until its token is raised nobody notices.
                let raise = self.ops.iter().position(|op| {
                    op.worker + 1 == self.next_worker && matches!(op.action, Action::Raise { .. })
                });
                if let Some(at) = raise.filter(|_| !self.left().every_order) {
                    let op = self.ops.remove(at);
                    self.complete(op);
                }
            }
        }
        self.adopt_all();
    }

    /// An action takes effect and its answer arrives, or waits where that is a step of its own.
    fn complete(&mut self, op: Op) {
        let worker = op.worker;
        let two_sides = matches!(op.action, Action::Send { .. } | Action::Commit { .. });
        self.perform(op);
        if two_sides && self.left().every_order {
            return;
        }
        if let Some((_, answer)) = self.answers.pop() {
            self.hear(worker, answer);
        }
    }

    fn spend(&mut self, which: impl Fn(&mut Budget) -> &mut u8) {
        if let Some(budget) = &mut self.budget {
            let left = which(budget);
            *left = left.saturating_sub(1);
        }
    }

    /// An answer arrives; whoever has read something takes a checkpoint.
    fn hear(&mut self, worker: u32, answer: Answer) {
        if let Some(slot) = self.slots.get_mut(&worker) {
            slot.history = mix(slot.history, answer_hash(&answer));
        }
        let has_read = matches!(answer, Answer::Polled { n: 1.., .. });
        self.answer(worker, answer);
        if has_read {
            self.tell(worker, Event::CheckPoint);
        }
    }

    /// A split without a worker gets one at once; when it does something is another matter.
    fn adopt_all(&mut self) {
        for split in 0..self.splits.len() {
            if !self.slots.values().any(|slot| slot.split == split) {
                self.take(split, split % self.instances.len().max(1));
            }
        }
    }

    /// The checks at the end of a run.
    pub(crate) fn conclude(&mut self) {
        if self.is_finished() {
            self.finish();
        } else {
            let open = self.open_splits().join(", ");
            self.fail("I17", format!("nothing can happen any more; open: {open}"));
        }
    }

    pub(crate) fn take_violation(&mut self) -> Option<Violation> {
        self.violation.take()
    }

    /// A number for what the log and the store hold.
    pub(crate) fn durable_hash(&self) -> u64 {
        let queues = self.log.queues.iter().map(|queue| queue.content);
        queues.chain(self.rows.iter().map(SplitRow::hash)).fold(0, mix)
    }

    /// A number for all that decides what can happen from here on.
    pub(crate) fn state_hash(&self) -> u64 {
        let budget = self.left();
        let spent =
            u64::from(budget.crashes) << 16 | u64::from(budget.takeovers) << 8 | u64::from(budget.unknown);
        let hash = mix(spent, self.durable_hash());
        // Workers have no order: their numbers depend on who came first.
        let mut workers = 0_u64;
        for (worker, slot) in &self.slots {
            let mut own = mix(slot.history, (slot.split as u64) << 8 | slot.instance as u64);
            own = self.ops.iter().filter(|op| op.worker == *worker).fold(own, |own, op| own ^ op.hash);
            let heard = self.answers.iter().filter(|(other, _)| other == worker);
            own = heard.fold(own, |own, (_, answer)| own ^ mix(answer_hash(answer), 3));
            workers = workers.wrapping_add(mix(own, 1));
        }
        for op in self.ops.iter().filter(|op| !self.slots.contains_key(&op.worker)) {
            workers = workers.wrapping_add(mix(op.hash, 2));
        }
        for landing in &self.landings {
            let text = match landing {
                Landing::Send { target, frame } => format!("{target:?}{frame:?}"),
                Landing::Commit { transaction, .. } => format!("{transaction:?}"),
            };
            workers = workers.wrapping_add(xxh3_64_with_seed(text.as_bytes(), 5));
        }
        mix(hash, workers)
    }
}

/// A number for an action: what it says follows from what its worker has heard, but for which one it is.
pub(super) fn action_hash(action: &Action, split: usize) -> u64 {
    let (kind, more) = match action {
        Action::Raise { .. } => (1, 0),
        Action::Read { .. } => (2, 0),
        Action::Resolve { .. } => (3, 0),
        Action::Load { .. } => (4, 0),
        Action::Page { after, .. } => (13, xxh3_64_with_seed(after, 0)),
        // The search is through instances without a store of their own.
        Action::Local(_) => (14, 0),
        Action::Poll { offset } => (5, *offset),
        Action::Send { target, frame } => {
            let bytes = frame.encode().unwrap_or_default();
            (
                6,
                xxh3_64_with_seed(&bytes, u64::from(target.queue))
                    ^ u64::from(matches!(target.topic, Topic::Of(_))),
            )
        }
        Action::Tail { from, .. } => (7, *from),
        Action::Commit { token, version, snapshot, .. } => {
            (8, mix(token.nonce ^ token.epoch, *version) ^ mix(snapshot.offset, 8))
        }
        Action::Rollback => (9, 0),
        Action::Observe => (10, 0),
        Action::Report { .. } => (11, 0),
        Action::Reject(_) => (15, 0),
        Action::Stop(_) => (12, 0),
    };
    mix(mix(kind, more), split as u64)
}

fn answer_hash(answer: &Answer) -> u64 {
    let (kind, more) = match answer {
        Answer::Raised(token) => (1, mix(token.epoch, token.nonce)),
        Answer::Refused => (2, 0),
        Answer::Row(None) => (3, 0),
        Answer::Row(Some((_, version, bytes))) => (4, xxh3_64_with_seed(bytes, *version)),
        Answer::Resolved(offset) => (5, *offset),
        Answer::Loaded(_) => (6, 0),
        Answer::Paged(rows, more) => {
            let text = format!("{rows:?}{more}");
            (14, xxh3_64_with_seed(text.as_bytes(), 0))
        }
        Answer::Fenced => (15, 0),
        Answer::Marks(_) | Answer::Copied | Answer::LocalDone => (16, 0),
        Answer::Polled { from, n, max, .. } => (7, mix(*from, *n as u64) ^ mix(*max, 9)),
        Answer::Sent { target, offset } => {
            let text = format!("{target:?}{offset:?}");
            (8, xxh3_64_with_seed(text.as_bytes(), 0))
        }
        Answer::Tailed { last, .. } => (9, *last),
        Answer::Committed(CommitOutcome::Done) => (10, 0),
        Answer::Committed(_) => (11, 0),
        Answer::Observed { token, version } => (12, mix(token.nonce ^ token.epoch, *version)),
        Answer::Failed(_) => (13, 0),
    };
    mix(kind, more)
}
