//! The rows of an aggregate with updates: loading, saving, reading them when they are needed.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use serde::de::DeserializeOwned;

use super::{BEFORE_TIME, Kept, Pane, Slot, UpdatingAggregate};
use crate::aggregate::{Aggregates, type_name};
use crate::bug::{Bug, planted};
use crate::codec;
use crate::context::Cx;
use crate::error::CodecError;
use crate::inspect::Find;
use crate::key::Key;
use crate::op::window_aggregate::spans::Spans;
use crate::op::window_aggregate::tags::{clamp, in_pane, pane_of, pane_tag};
use crate::push::System;
use crate::state::{Page, Saver};

impl<K: Key, T, A: Aggregates<T>, F> UpdatingAggregate<K, T, A, F> {
    /// What the state is a state of. Another lateness and other early results go on with it.
    fn signature(&self) -> String {
        let discarding = if self.updates.discarding { " since the last" } else { "" };
        let (spans, by) = (self.spans, type_name::<K>());
        format!("{spans} with updates{discarding} of ({}) by {by}", A::signature())
    }

    /// Reads the rows of the panes that begin in front of `until` and are not here yet; what is here is newer.
    pub(super) fn read_until(&mut self, until: i128, cx: &mut Cx) {
        let Some(from_ms) = self.unread_ms else { return };
        let all = until > i128::from(i64::MAX);
        if until <= i128::from(from_ms) {
            return;
        }
        let to = pane_tag(clamp(until));
        let (panes, spans) = (&mut self.panes, self.spans);
        cx.fetch_range(self.id, &pane_tag(from_ms), (!all).then_some(&to), &mut |key, value| {
            put_aside(panes, spans, key, value)
        });
        self.unread_ms = (!all).then(|| clamp(until));
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        let Some(mut unread_ms) = self.unread_ms else { return };
        let (spans, lateness, now) = (self.spans, self.lateness(), i128::from(self.watermark_ms));
        let (panes, dropped) = (&mut self.panes, &mut self.dropped);
        page.rows(self.id, &mut |key, value| {
            let (start, _) = pane_of(key)?;
            if spans.last_end(start) + lateness <= now {
                // Its time was over before it came.
                if dropped.last() != Some(&start) {
                    dropped.push(start);
                }
            } else if start >= unread_ms || planted(Bug::PageOverwrites) {
                // The rows of older panes are all here. A page begins where the one before ended, so that no row
                // in front of this one is to come.
                put_aside(panes, spans, key, value)?;
                unread_ms = unread_ms.max(start);
            }
            Ok(())
        });
        self.unread_ms = Some(unread_ms);
        self.next_ms = self.next(i128::from(self.watermark_ms));
    }

    /// Everything but the end of the input.
    pub(super) fn hear(&mut self, message: &mut System<'_>) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &self.signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let (panes, spans) = (&mut self.panes, self.spans);
                let all = loader.rows(self.id, &mut |key, value| put_aside(panes, spans, key, value));
                self.unread_ms = (!all).then_some(i64::MIN);
                self.next_ms = self.next(i128::from(self.watermark_ms));
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => {
                self.unread_ms = None;
                self.next_ms = self.next(i128::from(self.watermark_ms));
            }
            System::CheckPoint(saver) => self.save(saver),
            System::RemoveSplit => {
                self.panes.clear();
                self.next_ms = i64::MAX;
            }
            System::Drain(effects) => effects.late += std::mem::take(&mut self.late),
            System::Ahead(ahead) => {
                let Some(unread_ms) = self.unread_ms else { return };
                for (key, ts) in ahead.keys::<K>() {
                    let start = self.spans.pane(*ts);
                    let is_here = self.panes.get(&start).is_some_and(|pane| pane.rows.contains_key(key));
                    if start >= unread_ms && !is_here {
                        ahead.want(self.id, &pane_tag(start), key);
                    }
                }
            }
            System::Inspect(inquiry) => {
                inquiry.ask::<K, Kept<A::State>>(self.id, Find::Anywhere, &in_pane);
            }
            System::End
            | System::Observe(_)
            | System::Tables(_)
            | System::Refresh
            | System::Clock
            | System::Idle
            | System::Active
            | System::Absent
            | System::Reach(_) => {}
            System::Combined(_) => unreachable!("rows come to the aggregate that combines them"),
        }
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        for start in self.dropped.drain(..) {
            saver.delete_all(self.id, &pane_tag(start));
        }
        for (&start, pane) in self.panes.iter_mut().filter(|(_, pane)| pane.touched) {
            pane.touched = false;
            pane.saved = true;
            let tag = pane_tag(start);
            for (key, slot) in pane.rows.iter_mut().filter(|(_, slot)| slot.changed) {
                slot.changed = false;
                saver.put(self.id, &tag, key, &slot.kept);
            }
        }
        saver.put_value(self.id, &self.signature(), &self.watermark_ms);
    }
}

/// Puts a stored row into its pane, unless the key is there already.
fn put_aside<K: Key, S: DeserializeOwned>(
    panes: &mut BTreeMap<i64, Pane<K, S>>,
    spans: Spans,
    key: &[u8],
    value: &[u8],
) -> Result<(), CodecError> {
    let (start, key) = pane_of(key)?;
    let pane = panes.entry(start).or_insert_with(|| Pane {
        rows: HashMap::new(),
        touched: false,
        saved: true,
        fresh: false,
        first_end: spans.next_end(start, BEFORE_TIME),
    });
    pane.saved = true;
    if let Entry::Vacant(new) = pane.rows.entry(codec::key_from_slice(key)?) {
        let kept: Kept<S> = codec::from_slice(value)?;
        pane.fresh |= kept.fresh;
        new.insert(Slot { kept, changed: false });
    }
    Ok(())
}
