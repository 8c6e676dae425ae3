//! What a window has of one part of time.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use serde::de::DeserializeOwned;

use super::marks::Marks;
use super::tags::pane_tag;
use crate::context::Cx;
use crate::error::CodecError;
use crate::key::Key;
use crate::op::order;
use crate::state::OperatorId;

pub(super) type Rows<K, S> = HashMap<K, S>;

/// The rows are either in the table or in order.
#[derive(Debug)]
pub(super) struct Pane<K, S> {
    pub(super) rows: Rows<K, S>,
    /// In order of key since a window fired that is not the last one over the pane: the others want them so too, and
    /// almost never a record comes in between.
    pub(super) in_order: Vec<(K, S)>,
    /// Whether rows may have changed since the last checkpoint.
    pub(super) touched: bool,
    /// Which of them; none where all have, since there has been no checkpoint since the first.
    pub(super) changed: Option<Marks>,
    /// Whether the store has rows of it.
    pub(super) saved: bool,
}

impl<K: Key, S> Pane<K, S> {
    /// A new one, in the memory of an emptied table.
    pub(super) fn new(rows: Rows<K, S>) -> Self {
        Self { rows, in_order: Vec::new(), touched: false, changed: None, saved: false }
    }

    /// Takes a row in that is in the store, unless the key is here already.
    pub(super) fn put_aside(
        &mut self,
        key: K,
        state: impl FnOnce() -> Result<S, CodecError>,
    ) -> Result<(), CodecError> {
        self.disorder();
        self.saved = true;
        let changed = self.changed.get_or_insert_with(|| Marks::of(self.rows.keys()));
        if let Entry::Vacant(new) = self.rows.entry(key) {
            new.insert(state()?);
            changed.make_room(self.rows.len());
        }
        Ok(())
    }

    /// Gives the rows that may have changed since the last checkpoint; this is one.
    pub(super) fn save(&mut self, mut put: impl FnMut(&K, &S)) {
        let changed = self.changed.take();
        let in_order = self.in_order.iter().map(|(key, state)| (key, state));
        for (key, state) in self.rows.iter().chain(in_order) {
            if changed.as_ref().is_none_or(|changed| changed.has(key)) {
                put(key, state);
            }
        }
        self.touched = false;
        self.saved = true;
        self.changed = Some(Marks::new(self.rows.len() + self.in_order.len()));
    }

    /// Puts the rows in order.
    pub(super) fn order(&mut self) {
        if !self.rows.is_empty() {
            let mut rows = std::mem::take(&mut self.in_order);
            rows.extend(self.rows.drain());
            self.in_order.reserve(rows.len());
            order::by_key(rows, |row| self.in_order.push(row));
        }
    }

    /// Puts the rows back into the table, for a record that comes after all.
    pub(super) fn disorder(&mut self) {
        self.rows.extend(std::mem::take(&mut self.in_order));
    }
}

/// What is stored of a key in a pane, where it may not have been read yet.
pub(super) fn stored<K: Key, S: DeserializeOwned>(
    id: OperatorId,
    unread_ms: Option<i64>,
    pane_ms: i64,
    key: &K,
    cx: &mut Cx,
) -> Option<S> {
    match unread_ms {
        Some(unread_ms) if pane_ms >= unread_ms => cx.fetch(id, &pane_tag(pane_ms), key),
        _ => None,
    }
}
