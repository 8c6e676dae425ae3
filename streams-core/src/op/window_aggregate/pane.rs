//! What a window has of one part of time.

use hashbrown::HashMap;
use serde::de::DeserializeOwned;

use super::tags::pane_tag;
use crate::context::Cx;
use crate::key::Key;
use crate::op::order;
use crate::state::OperatorId;

pub(super) type Rows<K, S> = HashMap<K, Slot<S>>;

#[derive(Debug)]
pub(super) struct Slot<S> {
    pub(super) state: S,
    pub(super) changed: bool,
}

/// The rows are either in the table or in order.
#[derive(Debug)]
pub(super) struct Pane<K, S> {
    pub(super) rows: Rows<K, S>,
    /// In order of key since a window fired that is not the last one over the pane: the others want them so too, and
    /// almost never a record comes in between.
    pub(super) in_order: Vec<(K, Slot<S>)>,
    /// Whether rows may have changed since the last checkpoint.
    pub(super) touched: bool,
    /// Whether the store has rows of it.
    pub(super) saved: bool,
}

impl<K: Key, S> Pane<K, S> {
    pub(super) fn new(rows: Rows<K, S>, saved: bool) -> Self {
        Self { rows, in_order: Vec::new(), touched: false, saved }
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
