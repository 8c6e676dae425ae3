//! Faults strike.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Action, Event, Landing, Op, World};
use crate::lookup::Tables;
use crate::protocol::frame::Frame;
use crate::protocol::ids::{Incarnation, Split, Stage};
use crate::protocol::snapshot::Snapshot;
use crate::sim::local::LocalStore;
use crate::sim::plan::{Fault, Planned};

impl World<'_> {
    /// Lets the faults of this step happen.
    pub(super) fn strike(&mut self) {
        while let Some(planned) = self.plan.faults.get(self.next_fault).copied() {
            if planned.step > self.step {
                break;
            }
            self.next_fault += 1;
            self.note(60, u64::from(planned.step), || format!("fault: {:?}", planned.fault));
            self.hit(planned);
        }
    }

    fn hit(&mut self, planned: Planned) {
        let Planned { fault, pick, .. } = planned;
        let pick = (pick >> 8) as usize;
        let instance = pick % self.instances.len().max(1);
        let split = pick % self.splits.len().max(1);
        match fault {
            Fault::Crash => {
                // Half of the time one that is in the middle of a load.
                let loads = self.slots.values().find(|slot| slot.worker.is_loading());
                let loading = loads.map(|slot| slot.instance).filter(|_| pick.is_multiple_of(2));
                self.crash_with(loading.unwrap_or(instance), |world| world.random.below(3));
            }
            Fault::Pause(steps) => {
                let until = self.step + steps;
                if let Some(instance) = self.instances.get_mut(instance) {
                    instance.paused_until = until;
                }
            }
            Fault::Take => {
                let instance = (pick >> 16) % self.instances.len().max(1);
                if !self.is_paused(instance) {
                    self.take(split, instance);
                }
            }
            Fault::Revoke => {
                let worker = self.slots.keys().nth(pick % self.slots.len().max(1)).copied();
                if let Some(worker) = worker {
                    self.tell(worker, Event::Revoke);
                }
            }
            Fault::Jump(ms) => {
                if let Some(instance) = self.instances.get_mut(instance) {
                    instance.clock_ms += ms;
                }
            }
            Fault::DiskLost => {
                self.crash_with(instance, |world| world.random.below(3));
                if let Some(instance) = self.instances.get_mut(instance) {
                    instance.local = LocalStore::default();
                }
            }
            Fault::StoreAway(steps) => {
                self.was_away = true;
                self.store_away_until = self.step + steps;
            }
            Fault::LogAway(steps) => self.log_away_until = self.step + steps,
            Fault::FailOver => {
                if self.row(split).fail_over() {
                    self.failed_over = true;
                    // Nothing tells the next owner of the one whose token the store has forgotten.
                    self.doubtful.insert(self.place_of(split).split);
                }
            }
            Fault::Upgrade => {
                self.crash_with(instance, |world| world.random.below(3));
                self.upgraded = true;
                if let Some(instance) = self.instances.get_mut(instance) {
                    instance.is_new = true;
                }
            }
            Fault::Retention => self.retain(split),
            Fault::Grow => self.grow(pick),
            Fault::Stranger => self.stranger(split, pick),
            Fault::TailLost => self.lose(pick),
            Fault::Change => self.table_version += 1,
            Fault::Refresh => self.refresh(instance),
            Fault::AckLost
            | Fault::SendLost
            | Fault::SendLate
            | Fault::CommitAckLost
            | Fault::CommitLost
            | Fault::CommitLate
            | Fault::StatementFails => self.armed.push(fault),
        }
    }

    /// All that an instance had in memory is gone; what it had handed over may still arrive.
    /// `fate` draws what becomes of each: 0 it arrives before anybody looks, 1 much later, 2 never.
    pub(super) fn crash_with(&mut self, instance: usize, fate: impl Fn(&mut Self) -> usize) {
        let dead: Vec<u32> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.instance == instance)
            .map(|(worker, _)| *worker)
            .collect();
        if dead.is_empty() {
            return;
        }
        self.tally.crashes += 1;
        if let Some(instance) = self.instances.get_mut(instance) {
            // Tables are read in front of the first record.
            instance.tables = Tables::default();
            instance.table_version = Arc::new(AtomicU64::new(self.table_version));
        }
        for worker in &dead {
            self.slots.remove(worker);
            self.early.remove(worker);
        }
        self.answers.retain(|(worker, _)| !dead.contains(worker));
        self.culprits.retain(|(of, _), _| *of != instance);
        let ops = std::mem::take(&mut self.ops);
        for op in ops {
            if !dead.contains(&op.worker) {
                self.ops.push(op);
                continue;
            }
            match fate(self) {
                0 => self.arrive(op),
                1 => self.arrive_late(op),
                _ => {}
            }
        }
    }

    fn arrive(&mut self, op: Op) {
        use Action::{Commit, Local, Raise, Send};
        if matches!(op.action, Send { .. } | Commit { .. } | Raise { .. } | Local(_)) {
            let worker = op.worker;
            self.perform(op);
            self.answers.retain(|(other, _)| *other != worker);
        }
    }

    fn arrive_late(&mut self, op: Op) {
        let Op { worker, split, action, .. } = op;
        match action {
            Action::Send { target, frame } => {
                self.doubtful.insert(frame.sender);
                self.landings.push(Landing::Send { target, frame });
            }
            Action::Commit { token, version, snapshot, delta, results, clean } => {
                let encoded = snapshot.encode().unwrap_or_default();
                let transaction =
                    super::Transaction { token, version, snapshot: encoded, delta, results, clean };
                self.landings.push(Landing::Commit { worker, split, transaction, snapshot });
            }
            _ => {}
        }
    }

    /// Removes what the split's committed state has behind it.
    fn retain(&mut self, split: usize) {
        let committed = self.row(split).snapshot.as_deref().map(Snapshot::decode);
        if let Some(Ok(snapshot)) = committed {
            let place = self.place_of(split).place;
            let queue = self.log.queue_mut(place);
            queue.min = queue.min.max(snapshot.offset);
        }
    }

    /// An instance has read its tables again.
    fn refresh(&mut self, instance: usize) {
        let Some(instance) = self.instances.get(instance) else { return };
        instance.table_version.store(self.table_version, Ordering::Relaxed);
        self.blueprint.fill(&instance.tables, self.table_version);
    }

    fn grow(&mut self, pick: usize) {
        if self.next_input >= self.plan.inputs.len() {
            return;
        }
        let port = pick % self.blueprint.n_sources.max(1);
        let Some(n_queues) = self.source_queues.get_mut(port) else { return };
        let queue = *n_queues as u16;
        *n_queues += 1;
        self.grown = true;
        self.add_split(Split { stage: Stage(port as u16), queue }, false);
    }

    fn stranger(&mut self, split: usize, pick: usize) {
        let place = self.place_of(split);
        if usize::from(place.split.stage.0) < self.blueprint.n_sources {
            return;
        }
        let sender = Split { stage: Stage(0), queue: 0 };
        let siblings = [0, 1].into();
        let first = pick as u64 % 9 + 1;
        let items = vec![crate::protocol::frame::Item::Data(vec![0; 32])];
        let frame = Frame { incarnation: Incarnation(6), sender, siblings, first, items, mark: None };
        let body = frame.encode().unwrap_or_default();
        self.log.append(place.place, i64::from(self.step), body, Some(frame));
    }

    /// The newest message of a shuffle queue is lost, if nobody has read it.
    fn lose(&mut self, pick: usize) {
        let n = self.splits.len();
        for probe in 0..n {
            let split = (pick + probe) % n;
            let place = self.place_of(split);
            let Some(reference) = self.references.get(split) else { continue };
            let end = self.log.queue(place.place).end();
            let read_to = self.read_to.get(&place.place).copied().unwrap_or(0);
            if reference.is_source() || end == 0 || reference.offset >= end || read_to >= end {
                continue;
            }
            let queue = self.log.queue_mut(place.place);
            queue.messages.pop();
            queue.frames.pop();
            self.lossy = true;
            return self.note(61, split as u64, || format!("{:?} lost its newest message", place.split));
        }
    }

    /// Whether everything has been produced and everything that was to go wrong has gone wrong.
    pub(super) fn is_calm(&self) -> bool {
        self.next_fault >= self.plan.faults.len() && self.next_input >= self.plan.inputs.len()
    }

    /// From now on nothing goes wrong.
    pub(super) fn calm(&mut self) {
        self.note(62, 0, || "from here on nothing goes wrong".to_owned());
        self.quiet_since = Some(self.step);
        self.armed.clear();
        self.store_away_until = 0;
        self.log_away_until = 0;
        self.instances.iter_mut().for_each(|instance| instance.paused_until = 0);
    }
}
