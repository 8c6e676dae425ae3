//! The rows of windows without bounds: `r` key → the row, and with a `ttl` `e` due key → nothing, by which the keys
//! are found that are to be forgotten.

use hashbrown::hash_map::Entry;
use serde::de::DeserializeOwned;

use super::{GlobalAggregate, Kept, Row, due};
use crate::aggregate::{Aggregates, type_name};
use crate::codec;
use crate::context::Cx;
use crate::error::CodecError;
use crate::inspect::{Find, Place};
use crate::key::Key;
use crate::op::window_aggregate::tags::{ahead, clamp, pane_of, pane_tag};
use crate::push::System;
use crate::state::{Page, Saver};

const ROW: u8 = b'r';
const DUE: u8 = b'e';

impl<K: Key, T, A: Aggregates<T>, F> GlobalAggregate<K, T, A, F> {
    /// What the state is a state of. Another `ttl` and other results in between go on with it.
    fn signature(&self) -> String {
        let windows = match self.triggers.full {
            Some(n) => format!("windows of {n} records"),
            None => "global windows".to_owned(),
        };
        let discarding = if self.triggers.discarding { " since the last result" } else { "" };
        format!("{windows}{discarding} of ({}) by {}", A::signature(), type_name::<K>())
    }

    /// Begins a window of a key that has none in memory, though perhaps one in the store.
    // The key by value: where it is lent, LLVM keeps every record in memory for it.
    #[inline(never)]
    pub(super) fn begin(&mut self, key: K, at_ms: i64, cx: &mut Cx) {
        self.read(&key, cx);
        let last_ms = at_ms.max(self.watermark_ms);
        let due_ms = due(self.triggers.ttl_ms, last_ms);
        let mut arm = |at_ms, key| {
            self.timers.push(at_ms, key);
            self.next_ms = self.next_ms.min(at_ms);
        };
        match self.rows.entry(key) {
            Entry::Occupied(mut known) if known.get().kept.n == 0 => {
                known.get_mut().kept.last_ms = last_ms;
                // The window before this one may have been heard of later.
                let armed = known.get().armed;
                if let Some(at_ms) = due_ms.filter(|at_ms| armed.is_none_or(|armed_ms| *at_ms < armed_ms)) {
                    known.get_mut().armed = due_ms;
                    arm(at_ms, known.key().clone());
                }
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(new) => {
                due_ms.into_iter().for_each(|at_ms| arm(at_ms, new.key().clone()));
                new.insert(Row::new(self.aggregates.init(), last_ms, due_ms));
            }
        }
    }

    /// Reads the row of a key that is not in memory, if there is one.
    fn read(&mut self, key: &K, cx: &mut Cx) {
        if self.unread_ms.is_none() || self.rows.contains_key(key) {
            return;
        }
        let stored: Option<Kept<A::State>> = cx.fetch(self.id, &[ROW], key);
        if let Some(kept) = stored {
            self.take_up(key.clone(), kept);
        }
    }

    /// Takes a stored row that is not in memory; one whose time is over is dropped.
    fn take_up(&mut self, key: K, kept: Kept<A::State>) {
        if due(self.triggers.ttl_ms, kept.last_ms).is_some_and(|due_ms| due_ms <= self.watermark_ms) {
            self.dropped.push((key, kept.due_ms));
            return;
        }
        self.fresh |= kept.fresh > 0;
        let saved = Some(kept.due_ms);
        let armed = self.arm(&key, kept.last_ms);
        self.rows.insert(key, Row { kept, changed: false, saved, armed });
    }

    /// Reads the keys that are due up to `until` and not here yet.
    pub(super) fn read_until(&mut self, until: i128, cx: &mut Cx) {
        let (Some(at_ms), Some(ttl_ms)) = (self.unread_ms, self.triggers.ttl_ms) else { return };
        if until <= i128::from(at_ms) {
            return;
        }
        let until_ms = clamp(until + ahead(i128::from(ttl_ms)));
        let from = [&[DUE][..], &pane_tag(at_ms)].concat();
        let to = match until_ms.checked_add(1) {
            Some(behind_ms) => [&[DUE][..], &pane_tag(behind_ms)].concat(),
            None => vec![DUE + 1],
        };
        let mut keys: Vec<K> = Vec::new();
        cx.fetch_range(self.id, &from, Some(&to), &mut |row, _| {
            let (_, key) = pane_of(row.get(1..).unwrap_or_default())?;
            keys.push(codec::key_from_slice(key)?);
            Ok(())
        });
        for key in keys {
            self.read(&key, cx);
        }
        self.unread_ms = Some(until_ms);
    }

    /// Reads everything that is not here yet.
    pub(super) fn read_all(&mut self, cx: &mut Cx) {
        if self.unread_ms.is_none() {
            return;
        }
        let mut found = Vec::new();
        cx.fetch_range(self.id, &[ROW], Some(&[ROW + 1]), &mut |row, value| {
            found.extend(stored(row, value)?);
            Ok(())
        });
        self.take_up_all(found);
        self.unread_ms = None;
    }

    fn take_up_all(&mut self, found: Vec<(K, Kept<A::State>)>) {
        for (key, kept) in found {
            if !self.rows.contains_key(&key) {
                self.take_up(key, kept);
            }
        }
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        if self.unread_ms.is_none() {
            return;
        }
        let mut found = Vec::new();
        page.rows(self.id, &mut |row, value| {
            found.extend(stored(row, value)?);
            Ok(())
        });
        self.take_up_all(found);
        self.next_ms = self.next(self.now());
    }

    /// Everything but the end of the input.
    pub(super) fn hear(&mut self, message: &mut System<'_>) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &self.signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let mut found = Vec::new();
                let all = loader.rows(self.id, &mut |row, value| {
                    found.extend(stored(row, value)?);
                    Ok(())
                });
                self.unread_ms = (!all).then_some(i64::MIN);
                self.take_up_all(found);
                self.next_ms = self.next(self.now());
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => {
                self.unread_ms = None;
                self.next_ms = self.next(self.now());
            }
            System::CheckPoint(saver) => self.save(saver),
            System::RemoveSplit => {
                self.rows.clear();
                self.timers.clear();
                self.next_ms = i64::MAX;
            }
            System::Ahead(ahead) if self.unread_ms.is_some() => {
                let missing = ahead.keys::<K>().iter().filter(|(key, _)| !self.rows.contains_key(key));
                missing.for_each(|(key, _)| ahead.want(self.id, &[ROW], key));
            }
            System::Inspect(inquiry) => {
                inquiry.ask::<K, Kept<A::State>>(self.id, Find::Under(&[ROW]), &|row| {
                    codec::key_from_slice(row.get(1..).unwrap_or_default()).map(|key| Some(Place::only(key)))
                });
            }
            _ => {}
        }
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        let (id, ttl_ms) = (self.id, self.triggers.ttl_ms);
        for (key, due_ms) in self.dropped.drain(..) {
            saver.delete(id, &[ROW], &key);
            saver.delete_at(id, &|row| due_row(&key, due_ms, row));
        }
        for (key, row) in self.rows.iter_mut().filter(|(_, row)| row.changed) {
            let due_ms = due(ttl_ms, row.kept.last_ms).unwrap_or(i64::MAX);
            let is_empty = row.kept.n == 0;
            if let Some(old_ms) = row.saved.filter(|old_ms| is_empty || *old_ms != due_ms) {
                saver.delete_at(id, &|row| due_row(key, old_ms, row));
            }
            row.changed = false;
            if is_empty {
                saver.delete(id, &[ROW], key);
                row.saved = None;
                continue;
            }
            if ttl_ms.is_some() && row.saved != Some(due_ms) {
                saver.put_at(id, &|row| due_row(key, due_ms, row), &());
            }
            row.kept.due_ms = due_ms;
            saver.put(id, &[ROW], key, &row.kept);
            row.saved = Some(due_ms);
        }
        if self.unread_ms.is_none() {
            self.rows.retain(|_, row| row.kept.n > 0);
        }
        saver.put_value(id, &self.signature(), &self.watermark_ms);
    }
}

fn due_row<K: Key>(key: &K, due_ms: i64, row: &mut Vec<u8>) -> Result<(), CodecError> {
    row.push(DUE);
    row.extend_from_slice(&pane_tag(due_ms));
    codec::key_to_vec(key, row)
}

/// What a row holds; `None` where it only says when a key is due.
fn stored<K: Key, S: DeserializeOwned>(row: &[u8], value: &[u8]) -> Result<Option<(K, Kept<S>)>, CodecError> {
    let Some((&ROW, key)) = row.split_first() else { return Ok(None) };
    Ok(Some((codec::key_from_slice(key)?, codec::from_slice(value)?)))
}
