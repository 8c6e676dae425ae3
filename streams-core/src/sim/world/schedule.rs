//! What happens next, at random from what can happen.

use super::{Action, Answer, Event, Op, Slot, Stop, World};
use crate::protocol::ids::{Split, Stage};

impl World<'_> {
    /// Does the next thing.
    pub(super) fn act(&mut self) {
        let quiet = self.quiet_since.is_some();
        match self.random.below(100) {
            0..10 if self.produce() => {}
            10..16 => self.check_point(),
            16..26 => self.adopt(),
            26..29 if !self.landings.is_empty() => self.land(),
            29..60 if quiet && !self.landings.is_empty() => self.land(),
            _ => self.proceed(),
        }
    }

    /// Lets one action take effect, or one answer arrive.
    fn proceed(&mut self) {
        let n = self.ops.len() + self.answers.len();
        if n == 0 {
            return;
        }
        let start = self.random.below(n);
        for probe in 0..n {
            let at = (start + probe) % n;
            if at < self.ops.len() {
                if self.is_ready(at) {
                    let op = self.ops.swap_remove(at);
                    return self.perform(op);
                }
            } else if let Some((worker, _)) = self.answers.get(at - self.ops.len()) {
                let instance = self.slots.get(worker).map(|slot| slot.instance);
                if instance.is_none_or(|instance| !self.is_paused(instance)) {
                    let (worker, answer) = self.answers.swap_remove(at - self.ops.len());
                    return self.answer(worker, answer);
                }
            }
        }
    }

    /// Whether it makes sense to let this action take effect now: a poll waits for something to read.
    fn is_ready(&mut self, at: usize) -> bool {
        let Some(op) = self.ops.get(at) else { return false };
        if matches!(op.action, Action::Local(_)) && self.is_paused(op.instance) {
            return false;
        }
        // Loads are slow.
        if matches!(op.action, Action::Page { .. }) {
            return self.quiet_since.is_some() || self.random.below(self.plan.shape.page_pause) == 0;
        }
        let Action::Poll { offset } = op.action else { return true };
        let Some(slot) = self.slots.get(&op.worker) else { return true };
        let waits = !slot.worker.is_done();
        let queue = self.log.queue(self.place_of(op.split).place);
        let clock = self.blueprint.stages.get(usize::from(slot.worker.split().stage.0));
        let clock = clock.is_some_and(|stage| stage.clock);
        let looks = waits && (queue.closed || clock || self.plan.shape.idle_after_ms.is_some());
        queue.end() != offset || slot.worker.is_revoked() || (looks && self.random.below(4) == 0)
    }

    /// Puts the next record of the input into its queue.
    pub(super) fn produce(&mut self) -> bool {
        let Some(input) = self.plan.inputs.get(self.next_input) else { return false };
        let n_queues = self.source_queues.get(input.port).copied().unwrap_or(1).max(1);
        let split = Split { stage: Stage(input.port as u16), queue: (input.queue % n_queues) as u16 };
        let Some(&index) = self.index.get(&split) else { return false };
        let place = self.place_of(index).place;
        let body = input.json.clone().into_bytes();
        let offset = self.log.append(place, input.stored_ms, body, None);
        // Clocks go on beside the input, each at a distance of its own.
        for instance in &mut self.instances {
            instance.clock_ms = instance.clock_ms.max(input.stored_ms as u64);
        }
        self.produced.push((index, offset, self.next_input));
        self.next_input += 1;
        self.tally.records += 1;
        self.note(1, place as u64, || format!("record {offset} into {split:?}: {}", input.json));
        self.close();
        true
    }

    /// Behind the last record the sources are closed.
    pub(super) fn close(&mut self) {
        if self.next_input == self.plan.inputs.len() {
            let sources = self
                .splits
                .iter()
                .filter(|place| usize::from(place.split.stage.0) < self.blueprint.n_sources);
            for place in sources.map(|place| place.place).collect::<Vec<_>>() {
                self.log.queue_mut(place).closed = true;
            }
        }
    }

    fn check_point(&mut self) {
        let Some(worker) = self.any_worker() else { return };
        self.note(2, u64::from(worker), || format!("w{worker}: time for a checkpoint"));
        self.tell(worker, Event::CheckPoint);
    }

    /// Some worker whose instance runs.
    fn any_worker(&mut self) -> Option<u32> {
        let n = self.random.below(self.slots.len());
        let (worker, slot) = self.slots.iter().nth(n)?;
        (!self.is_paused(slot.instance)).then_some(*worker)
    }

    /// Starts a worker for a split that nobody works on.
    fn adopt(&mut self) {
        let n = self.random.below(self.splits.len());
        let works = |slot: &Slot| slot.split == n && !self.is_paused(slot.instance);
        if self.slots.values().any(works) {
            return;
        }
        let instance = self.random.below(self.instances.len());
        if !self.is_paused(instance) {
            self.take(n, instance);
        }
    }

    /// A worker has ended: was it allowed to?
    pub(super) fn stopped(&mut self, worker: u32, split: usize, why: &Stop) {
        let slot = self.slots.remove(&worker);
        // What it does to the local store is done before anybody else begins with the split.
        while let Some(at) =
            self.ops.iter().position(|op| op.worker == worker && matches!(op.action, Action::Local(_)))
        {
            let op = self.ops.swap_remove(at);
            self.perform(op);
            self.answers.retain(|(other, _)| *other != worker);
        }
        self.note(4, u64::from(worker), || format!("w{worker} stops: {why:?}"));
        let instance = slot.as_ref().map_or(0, |slot| slot.instance);
        let owns = slot.is_some_and(|slot| {
            slot.token.is_some() && self.rows.get(split).is_some_and(|row| row.token() == slot.token)
        });
        match why {
            // A failover may have given it back meanwhile.
            Stop::Fenced if owns && !self.failed_over => {
                self.fail("I17", format!("w{worker} gave its split up although nobody else has it"));
            }
            Stop::Fenced => {}
            Stop::Away(_) if self.was_away => {}
            Stop::Away(text) => self.fail("I17", format!("w{worker}: {text}, but it is there")),
            Stop::Released => {
                let commits = |op: &Op| op.worker == worker && matches!(op.action, Action::Commit { .. });
                let heard = |(other, answer): &(u32, Answer)| {
                    *other == worker && matches!(answer, Answer::Committed(_))
                };
                if self.ops.iter().any(commits) || self.answers.iter().any(heard) {
                    self.fail("I12", format!("w{worker} gave its split away while a commit was under way"));
                }
            }
            Stop::Gap(_) | Stop::Lost { .. } if self.lossy => self.noticed = true,
            // What a fenced owner has not read yet may be gone.
            Stop::Lost { .. } if !owns => {}
            Stop::Gap(gap) => self.fail("I2", format!("w{worker}: {gap}")),
            Stop::Lost { offset, min, max } => {
                self.fail("I3", format!("w{worker}: offset {offset} is not in {min}..={max} as it was"));
            }
            // Somebody with the code of the last owner has to take it.
            Stop::Unclean if self.upgraded => {}
            Stop::Unclean => self.fail("I15", format!("w{worker}: the split is not clean")),
            // The same instance knows it when it takes the split again.
            Stop::Panicked(culprit) => {
                self.tally.panics += 1;
                self.culprits.insert((instance, split), culprit.clone());
            }
            Stop::Flawed(culprit) => self.check_flawed(split, culprit),
            Stop::Broken(text) => self.fail("I4", format!("w{worker}: {text}")),
        }
    }
}
