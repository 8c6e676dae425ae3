//! Workers are started, with the code and the tables of their instance.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Slot, SplitRow, Worker, World};

impl World<'_> {
    /// Starts a worker on an instance.
    pub(super) fn take(&mut self, split: usize, instance: usize) {
        let place = self.place_of(split);
        // An instance ends a worker before it begins with another one for the same split (rule 18).
        let own = |slot: &Slot| slot.split == split && slot.instance == instance;
        if self.plan.shape.copied && self.slots.values().any(own) {
            return;
        }
        let others = self.slots.values().filter(|slot| slot.split == split).count();
        if others > 0 {
            self.tally.zombies += 1;
            self.doubtful.insert(place.split);
        }
        if self.rows.get(split).is_some_and(|row| row.token().is_some()) {
            self.tally.takeovers += 1;
        }
        let worker = self.next_worker;
        self.next_worker += 1;
        self.note(3, (split as u64) << 8 | instance as u64, || {
            format!("instance {instance} takes {:?} as w{worker}", place.split)
        });
        let mut role = self.role(place.split, place.original);
        role.fingerprint = self.fingerprint(split, instance);
        role.culprit = self.culprits.get(&(instance, split)).cloned();
        let mut machine = self.blueprint.machine(place.split.stage, &self.plan.shape.shuffle_queues);
        let mut table_version = Arc::default();
        if let Some(instance) = self.instances.get(instance) {
            machine.tables(&instance.tables);
            table_version = Arc::clone(&instance.table_version);
            self.blueprint.fill(&instance.tables, table_version.load(Ordering::Relaxed));
            // Rows are there before the first record, also where nobody says that there may be new ones.
            machine.tables(&instance.tables);
        }
        let mut actions = std::mem::take(&mut self.actions);
        let mut own = Worker::new(role, machine, &mut actions);
        own.watch_tables(table_version);
        let slot =
            Slot { worker: own, instance, split, token: None, looks: (0, 0), raised_at: 0, history: 0 };
        self.slots.insert(worker, slot);
        self.enqueue(worker, split, instance, &mut actions);
        self.actions = actions;
    }

    /// The code that an instance takes a split with. When nothing goes wrong any more, whoever has the old code
    /// is started where it is needed.
    fn fingerprint(&self, split: usize, instance: usize) -> u64 {
        let last = self.rows.get(split).and_then(SplitRow::code);
        let own = 1 + u64::from(self.instances.get(instance).is_some_and(|instance| instance.is_new));
        match last {
            Some(last) if self.quiet_since.is_some() => last,
            _ => own,
        }
    }
}
