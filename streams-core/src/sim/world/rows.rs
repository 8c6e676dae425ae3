//! The rows of splits: read remotely, copied locally.

use super::{Answer, Event, Slot, World};
use crate::protocol::ids::Token;
use crate::protocol::worker::{Local, LocalDone, rows_of};
use crate::store::local::{Load, LocalCommits};

impl World<'_> {
    pub(super) fn load(&mut self, worker: u32, split: usize, token: Token) -> Answer {
        if let Some(early) = self.early.get(&worker) {
            return Answer::Loaded((**early).clone().fixed());
        }
        let reads = self.rows.get(split).and_then(|row| row.reads(token, &self.store_away));
        reads.map_or(Answer::Fenced, Answer::Loaded)
    }

    pub(super) fn page(&mut self, worker: u32, split: usize, token: Token, after: &[u8]) -> Answer {
        let n = self.plan.shape.page_rows;
        let found = match self.early.get(&worker) {
            Some(early) => Some(early.page(after, n)),
            None => self.rows.get(split).and_then(|row| row.page(token, after, n)),
        };
        found.map_or(Answer::Fenced, |(rows, more)| Answer::Paged(rows, more))
    }

    /// A step of an instance's local store.
    pub(super) fn local(&mut self, split: usize, instance: usize, step: Local) -> Answer {
        let prefix = rows_of(self.place_of(split).split);
        let Some(owner) = self.instances.get_mut(instance) else { return Answer::LocalDone };
        let local = &mut owner.local;
        let mut whole = false;
        let result = match step {
            Local::Marks => match local.marks(&prefix) {
                Ok(marks) => return Answer::Marks(marks),
                Err(error) => Err(error),
            },
            Local::Rows => return Answer::Copied,
            Local::Prepare { id, delta } => local.prepare(&prefix, id, &delta),
            Local::Promote { id } => {
                whole = true;
                local.promote(&prefix, id)
            }
            Local::Discard { id } => local.discard(&prefix, id),
            Local::Save { id, page, load } => {
                whole = load == Load::Complete;
                local.load(&prefix, id, &page, &load)
            }
            Local::Forget => local.forget(&prefix, &prefix),
        };
        let marks = local.marks(&prefix).unwrap_or_default();
        if let Err(error) = result {
            self.fail("I12", format!("instance {instance}: {error}"));
        } else if whole && marks.load == Load::Complete {
            self.check_copy(split, instance, marks.committed);
        }
        Answer::LocalDone
    }

    /// A worker reads its instance's copy.
    pub(super) fn copied(&mut self, worker: u32) {
        let Some(&Slot { instance, .. }) = self.slots.get(&worker) else { return };
        let Some(owner) = self.instances.get_mut(instance) else { return };
        let local = std::mem::take(&mut owner.local);
        self.tell(worker, Event::Local(LocalDone::Rows(&local)));
        if let Some(owner) = self.instances.get_mut(instance) {
            owner.local = local;
        }
    }
}
