//! What must hold with every message that is stored and every commit that is done.

use super::{Action, Snapshot, Transaction, World};
use crate::protocol::frame::{Frame, Item};
use crate::protocol::ids::{Target, Token, Topic};
use crate::protocol::sender::SenderState;
use crate::protocol::worker::{Culprit, rows_of};
use crate::sim::reference::State;
use crate::store::local::CommitId;

impl World<'_> {
    /// A message is about to be stored: its numbers continue what is there, and it says what the reference says.
    pub(super) fn check_stored(&mut self, place: usize, target: Target, frame: &Frame) {
        let n = frame.items.len() as u64;
        let last = frame.first + n - 1;
        self.note(50, (place as u64) << 32 | last, || {
            let (first, mark) = (frame.first, frame.mark);
            format!("{:?} stores {first}..={last} in {target:?}, mark {mark:?}", frame.sender)
        });
        let Some(&sender) = self.index.get(&frame.sender) else { return };
        let stored = self.log.queue(place).stored.get(&frame.sender).copied().unwrap_or(0);
        if frame.first > stored + 1 {
            let (first, who) = (frame.first, frame.sender);
            return self.fail("I2", format!("{who:?} sent {first} to {target:?} behind {stored}"));
        }
        let Some(reference) = self.references.get_mut(sender) else { return };
        let input = self.splits.get(sender).map_or(0, |split| split.place);
        let who = frame.sender;
        if !reference.started {
            return self.fail("I6", format!("{who:?} sent before its start offset was committed"));
        }
        let (as_of, at_ms) = frame.mark.map_or((last, i64::MIN), |mark| (mark.as_of, mark.watermark_ms));
        if !reference.is_held() {
            let queue = self.log.queue(input);
            reference.advance_until(queue, target, last, i64::MIN);
            reference.advance_until(queue, target, as_of, at_ms);
        }
        let Some(out) = reference.out.get(&target) else {
            return self.fail("I3", format!("{who:?} sends to {target:?}, which it cannot reach"));
        };
        if (out.items.len() as u64) < last {
            let (name, known) = (if reference.is_held() { "I7" } else { "I3" }, out.items.len());
            return self.fail(name, format!("{who:?} sent {last} to {target:?}; only {known} are due"));
        }
        let expected = out.items.get(frame.first as usize - 1..last as usize).unwrap_or_default();
        if let Some(at) = expected.iter().zip(&frame.items).position(|(a, b)| a != b) {
            let number = frame.first + at as u64;
            let (found, due) = (show(frame.items.get(at)), show(expected.get(at)));
            let text = format!("number {number} of {who:?} in {target:?} is {found} instead of {due}");
            return self.fail("I1", text);
        }
        if let Some(mark) = frame.mark {
            let covered = out.watermarks.get(mark.as_of as usize).copied().unwrap_or(i64::MIN);
            if mark.watermark_ms > covered {
                let text = format!("{who:?} told {mark:?} to {target:?}; as of that number it is {covered}");
                return self.fail("I8", text);
            }
        }
        let queue = self.log.queue_mut(place);
        let twice = stored.min(last).saturating_sub(frame.first - 1);
        *queue.duplicates.entry(frame.sender).or_default() += twice;
        queue.stored.insert(frame.sender, stored.max(last));
    }

    /// Commits, and checks what is committed.
    pub(super) fn write(
        &mut self,
        worker: u32,
        split: usize,
        transaction: &Transaction,
        snapshot: &Snapshot,
        n: usize,
    ) {
        let who = self.place_of(split);
        let row = self.row(split);
        if row.token() != Some(transaction.token) || row.version != transaction.version {
            let text = format!(
                "w{worker} commits {:?} as {:?} behind version {}; the row has {:?} and version {}",
                who.split,
                transaction.token,
                transaction.version,
                row.token(),
                row.version
            );
            return self.fail("I5", text);
        }
        row.write(transaction, n);
        let since = self.slots.get(&worker).map_or(0, |slot| slot.raised_at);
        if transaction.clean
            && let Some(stray) = self.strays.get_mut(split)
        {
            stray.1 = since;
        }
        self.tally.commits += 1;
        let version = transaction.version + 1;
        self.note(51, (split as u64) << 32 | version, || {
            format!("w{worker} commits {:?} at offset {} as version {version}", who.split, snapshot.offset)
        });
        self.check_committed(worker, split, snapshot);
    }

    fn check_committed(&mut self, worker: u32, split: usize, snapshot: &Snapshot) {
        let place = self.place_of(split);
        let looks = self.slots.get(&worker).map(|slot| slot.looks);
        let queue = self.log.queue(place.place);
        let Some(reference) = self.references.get_mut(split) else { return };
        let who = place.split;
        if !reference.started {
            let latest = place.original && self.plan.shape.latest;
            if snapshot.counters.records_in > 0 {
                return self
                    .fail("I6", format!("{who:?} read records before its start offset was committed"));
            }
            if !latest && snapshot.offset > 0 {
                return self.fail("I3", format!("{who:?} begins at {} instead of 0", snapshot.offset));
            }
            reference.start(snapshot.offset);
        }
        reference.hear(&snapshot.readings);
        reference.advance_to(queue, snapshot.offset);
        for culprit in snapshot.rejected.iter().filter(|culprit| culprit.offset == snapshot.offset) {
            if !reference.reject(queue, culprit) {
                return self.fail("I3", format!("{who:?} rejects {culprit:?}, which does not panic"));
            }
        }
        if reference.gap.is_some_and(|gap| gap < snapshot.offset) {
            return self.fail("I3", format!("{who:?} read on behind a gap"));
        }
        if snapshot.idle && !reference.idle && reference.offset == snapshot.offset {
            if looks.is_some_and(|(there, looks)| there != snapshot.offset || looks < 2) {
                return self.fail("I8", format!("{who:?} is idle without two fresh looks at its end"));
            }
            reference.fall_idle();
        }
        let at_end = queue.closed && snapshot.offset == queue.end();
        if snapshot.ended && !reference.ended && reference.is_source() && at_end {
            reference.end();
        }
        let Some(expected) = reference.state(snapshot.offset, snapshot.idle, snapshot.ended) else {
            let (offset, idle, ended) = (snapshot.offset, snapshot.idle, snapshot.ended);
            let text =
                format!("{who:?} committed offset {offset}, idle {idle}, ended {ended}: it never is there");
            return self.fail("I4", text);
        };
        let Some(row) = self.rows.get(split) else { return };
        let mut found = State::of(snapshot, row.sum(), row.results);
        if self.blueprint.forgets {
            found.rows = expected.rows;
        }
        if found != *expected {
            let difference = found.difference(expected);
            let name = if difference.starts_with("counters") { "I11" } else { "I4" };
            return self.fail(name, format!("{who:?} at offset {}: {difference}", snapshot.offset));
        }
        let held = reference.is_held();
        for (target, state) in &snapshot.senders {
            if let Some(text) = self.lacks(who, *target, state, held) {
                return self.fail("I6", text);
            }
        }
    }

    /// A worker ended in front of a panic that is no record's fault: the split is clean, and the reference panics
    /// there too.
    pub(super) fn check_flawed(&mut self, split: usize, culprit: &Culprit) {
        self.flawed = true;
        let who = self.place_of(split).split;
        let row = self.rows.get(split);
        let snapshot = row.and_then(|row| Snapshot::decode(row.snapshot.as_deref()?).ok());
        let is_clean = snapshot.is_some_and(|snapshot| snapshot.clean && snapshot.offset == culprit.offset);
        let Some(reference) = self.references.get_mut(split) else { return };
        let place = self.splits.get(split).map_or(0, |split| split.place);
        reference.advance_to(self.log.queue(place), u64::MAX);
        if !is_clean || !reference.is_flawed_at(culprit.offset) {
            self.fail("I15", format!("{who:?} ended at {culprit:?}, clean: {is_clean}"));
        }
    }

    /// A worker asks for something: does it keep to its bounds?
    pub(super) fn check_bounds(&mut self, worker: u32, action: &Action) {
        let Some(slot) = self.slots.get(&worker) else { return };
        let (waiting, bytes) = (slot.worker.waiting(), slot.worker.waiting_bytes());
        let uncommitted = slot.worker.uncommitted();
        let shape = &self.plan.shape;
        let within = waiting < shape.most_waiting
            && bytes < shape.most_waiting_bytes
            && uncommitted < shape.most_uncommitted;
        if matches!(action, Action::Poll { .. }) && !within {
            let text = format!(
                "w{worker} reads on with {waiting} waiting in {bytes} bytes and {uncommitted} uncommitted"
            );
            self.fail("I18", text);
        }
    }

    /// A local copy is complete and stands on `id`: it is what the remote store had with that commit.
    pub(super) fn check_copy(&mut self, split: usize, instance: usize, id: Option<CommitId>) {
        let who = self.place_of(split).split;
        let (Some(id), Some(owner)) = (id, self.instances.get(instance)) else { return };
        let copy = owner.local.sum(&rows_of(who));
        let made = self.rows.get(split).and_then(|row| row.commit_of(id.version));
        let (Some((token, sum)), CommitId { epoch, nonce, .. }) = (made, id) else {
            return self
                .fail("I12", format!("instance {instance} has {who:?} at {id:?}, which is not committed"));
        };
        if token != (Token { epoch, nonce }) {
            return self
                .fail("I12", format!("instance {instance} has {who:?} at {id:?}; {token:?} made that"));
        }
        if sum != copy {
            self.fail(
                "I12",
                format!("instance {instance} has other rows of {who:?} at {id:?} than the store"),
            );
        }
    }

    /// Other code takes a split: what the last owner numbered is stored, and nothing of it is under way.
    pub(super) fn check_clean(&mut self, split: usize) {
        // What the log has lost is not found at the end of a queue either.
        if self.lossy {
            return;
        }
        let who = self.place_of(split).split;
        let snapshot = self.rows.get(split).and_then(|row| row.snapshot.as_deref().map(Snapshot::decode));
        let Some(Ok(snapshot)) = snapshot else { return };
        for (target, state) in &snapshot.senders {
            let place = self.log.place(*target);
            let stored = place.and_then(|place| self.log.queue(place).stored.get(&who).copied()).unwrap_or(0);
            if stored + 1 != state.next {
                let text =
                    format!("other code takes {who:?}, which has {stored} of {} in {target:?}", state.next);
                return self.fail("I15", text);
            }
        }
    }

    /// Says what a snapshot counts as sent although it is neither stored nor in the outbox.
    fn lacks(
        &self,
        who: crate::protocol::ids::Split,
        target: Target,
        state: &SenderState,
        held: bool,
    ) -> Option<String> {
        let place = self.log.place(target)?;
        let stored = self.log.queue(place).stored.get(&who).copied().unwrap_or(0);
        let SenderState { next, acked, outbox, .. } = state;
        if *acked > stored {
            return Some(format!("{who:?} counts {acked} as stored in {target:?}, which has {stored}"));
        }
        if acked + outbox.len() as u64 + 1 != *next {
            return Some(format!(
                "the outbox of {who:?} for {target:?} does not reach from {acked} to {next}"
            ));
        }
        let left = !held && !outbox.is_empty() && matches!(target.topic, Topic::Of(_) | Topic::Output(_));
        left.then(|| format!("{who:?} commits before {} items are stored in {target:?}", outbox.len()))
    }
}

fn show(item: Option<&Item>) -> String {
    match item {
        Some(Item::Data(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}
