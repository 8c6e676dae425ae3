//! When nothing happens any more: is everything there, once?

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Slot, Snapshot, SplitRow, World};
use crate::batch::{Batch, RawBatch};
use crate::bug;
use crate::effects::Effects;
use crate::lookup::Tables;
use crate::protocol::frame::{self, Item};
use crate::protocol::ids::Topic;

impl World<'_> {
    /// Whether a split has committed all that there will be, and what its last commit has yet to send is sent.
    fn is_done(&self, split: usize) -> bool {
        let end = self.log.queue(self.place_of(split).place).end();
        let Some(last) = self.committed(split) else { return false };
        let sent = last.senders.iter().all(|(_, sender)| sender.outbox.is_empty());
        // One that has lost the split may be done with what it knows of.
        let token = self.rows.get(split).and_then(SplitRow::token);
        let owns = |slot: &Slot| slot.split == split && slot.token == token;
        let owner_is_done = || self.slots.values().any(|slot| owns(slot) && slot.worker.is_done());
        last.ended && last.offset == end && (sent || owner_is_done())
    }

    fn committed(&self, split: usize) -> Option<Snapshot> {
        let row = self.rows.get(split)?;
        Snapshot::decode(row.snapshot.as_deref()?).ok()
    }

    /// Whether every split has said and committed all that it ever will.
    pub(super) fn is_finished(&self) -> bool {
        self.landings.is_empty() && (0..self.splits.len()).all(|split| self.is_done(split))
    }

    /// The splits that are not done, for people.
    pub(super) fn open_splits(&self) -> Vec<String> {
        let open = self.splits.iter().enumerate().filter(|(split, _)| !self.is_done(*split));
        open.map(|(split, place)| {
            let committed = self.committed(split).map(|snapshot| (snapshot.offset, snapshot.ended));
            let end = self.log.queue(place.place).end();
            let workers = self.slots.values().filter(|slot| slot.split == split).count();
            format!("{:?} (committed {committed:?} of {end}, {workers} workers)", place.split)
        })
        .collect()
    }

    /// The last checks.
    pub(super) fn finish(&mut self) {
        for split in 0..self.splits.len() {
            let place = self.place_of(split);
            let queue = self.log.queue(place.place);
            let Some(reference) = self.references.get_mut(split) else { continue };
            reference.advance_to(queue, queue.end());
            let mut missing = None;
            for (target, out) in &reference.out {
                let Some(to) = self.log.place(*target) else { continue };
                let stored = self.log.queue(to).stored.get(&place.split).copied().unwrap_or(0);
                if stored != out.items.len() as u64 {
                    missing = Some(format!(
                        "{:?} has {} items for {target:?} and stored {stored}",
                        place.split,
                        out.items.len()
                    ));
                }
            }
            if let Some(text) = missing {
                return self.fail("I16", text);
            }
        }
        let twice: Vec<_> = self.log.outputs().flat_map(|(_, queue)| queue.duplicates.clone()).collect();
        if let Some((who, n)) = twice.iter().find(|(who, n)| *n > 0 && !self.doubtful.contains(who)) {
            let text = format!("{n} results of {who:?} stand twice in an output topic, for no reason");
            return self.fail("I16", text);
        }
        self.tally.duplicates += twice.iter().map(|(_, n)| n).sum::<u64>();
        self.tally.duplicates += self.references.iter().map(|r| r.counters().duplicates).sum::<u64>();
        self.check_counters();
        self.check_whole();
    }

    /// What one stage gives out is what the next ones take in.
    fn check_counters(&mut self) {
        for stage in 0..self.blueprint.stages.len() {
            let of_stage = |split: &usize| usize::from(self.place_of(*split).split.stage.0) == stage;
            let own: Vec<usize> = (0..self.splits.len()).filter(of_stage).collect();
            let taken: u64 =
                own.iter().filter_map(|split| self.committed(*split)).map(|s| s.counters.records_in).sum();
            let given: u64 = if stage < self.blueprint.n_sources {
                let read =
                    |(split, offset): (usize, u64)| self.start_of(split).is_some_and(|start| offset >= start);
                let of = self.produced.iter().filter(|(split, ..)| own.contains(split));
                of.filter(|(split, offset, _)| read((*split, *offset))).count() as u64
            } else {
                let outs = self.references.iter().flat_map(|reference| &reference.out);
                let here = outs
                    .filter(|(target, _)| matches!(target.topic, Topic::Of(s) if usize::from(s.0) == stage));
                let data = |item: &&Item| matches!(item, Item::Data(_));
                here.map(|(_, out)| out.items.iter().filter(data).count() as u64).sum()
            };
            if taken != given {
                return self.fail("I11", format!("stage {stage} took {taken} records of {given}"));
            }
        }
    }

    /// A hash over what the sources send.
    pub(crate) fn source_streams(&self) -> u64 {
        let mut hash = 0;
        let places = self.splits.iter().zip(&self.references);
        let sources = places.filter(|(place, _)| usize::from(place.split.stage.0) < self.blueprint.n_sources);
        for out in sources.flat_map(|(_, reference)| reference.out.values()) {
            for item in &out.items {
                let bytes = match item {
                    Item::Data(bytes) => bytes.as_slice(),
                    Item::Idle => b"idle",
                    Item::Active => b"active",
                    Item::End => b"end",
                };
                hash = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, hash);
            }
        }
        hash
    }

    fn start_of(&self, split: usize) -> Option<u64> {
        self.references.get(split).and_then(|reference| reference.first_offset())
    }

    /// The whole input through one machine, in the order of production: where it finds nothing late, the fleet
    /// finds nothing late either, and gives the same results.
    fn check_whole(&mut self) {
        let looks_up = self.blueprint.stages.iter().any(|stage| self.blueprint.looks_up(stage));
        if self.grown || looks_up || self.plan.shape.idle_after_ms.is_some() {
            return;
        }
        let mut effects = Effects::default();
        let whole = catch_unwind(AssertUnwindSafe(|| {
            bug::without(|| {
                let mut machine = self.blueprint.whole();
                let tables = Tables::default();
                machine.tables(&tables);
                self.blueprint.fill(&tables, 0);
                machine.tables(&tables);
                for &(split, offset, input) in &self.produced {
                    let Some(input) = self.plan.inputs.get(input) else { continue };
                    if self.start_of(split).is_none_or(|start| offset < start) {
                        continue;
                    }
                    let batch = RawBatch::stored(input.json.as_bytes(), 0, 0, input.stored_ms);
                    machine.feed(input.port, Batch::Raw { batch: &batch, from: 0, stop_on_reject: false });
                }
                for port in 0..self.blueprint.n_sources {
                    machine.end(port);
                }
                machine.drain(&mut effects);
            })
        }));
        // A job that panics has nothing to compare with.
        if whole.is_err() || effects.late > 0 {
            return;
        }
        let late: u64 = self.references.iter().map(|reference| reference.counters().late).sum();
        if late > 0 {
            return self.fail("I9", format!("{late} records are late; in one machine none is"));
        }
        if !self.blueprint.order_free {
            return;
        }
        self.tally.compared += 1;
        for topic in self.blueprint.outputs() {
            let Topic::Output(output) = topic else { continue };
            let mut counts: BTreeMap<&[u8], i64> = BTreeMap::new();
            let bytes = effects.outputs.get(usize::from(output)).map_or(&[][..], |batch| &batch.bytes);
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                *counts.entry(line).or_default() += 1;
            }
            let outs = self.references.iter().flat_map(|reference| &reference.out);
            for item in outs.filter(|(target, _)| target.topic == topic).flat_map(|(_, out)| &out.items) {
                if let Item::Data(data) = item {
                    let begin = frame::result(data).map_or(0, |(begin, _)| begin);
                    *counts.entry(data.get(begin..).unwrap_or_default()).or_default() -= 1;
                }
            }
            let written = self.references.iter().flat_map(|reference| &reference.results);
            for result in written.filter(|result| result.output == output) {
                *counts.entry(&result.record).or_default() -= 1;
            }
            if let Some((line, n)) = counts.iter().find(|(_, n)| **n != 0) {
                let line = String::from_utf8_lossy(line).into_owned();
                let text = format!("output {output}: one machine has {n} more of {line}");
                return self.fail("I9", text);
            }
        }
    }
}
