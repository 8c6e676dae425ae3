//! One row of state per key: read when it is needed, kept in memory, written when it has changed, forgotten when
//! event time has passed it. What a row holds is the operator's business.

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bug::{Bug, planted};
use crate::codec;
use crate::context::Cx;
use crate::error::CodecError;
use crate::inspect::{Find, Place};
use crate::key::Key;
use crate::push::System;
use crate::state::{OperatorId, Page, Saver};
use crate::time::UNTIMED;

/// The rows of an operator and how far event time has come for it.
#[derive(Debug)]
pub(super) struct KeyedRows<K, V> {
    pub(super) id: OperatorId,
    pub(super) watermark_ms: i64,
    rows: HashMap<K, Row<V>>,
    /// When keys are looked through for ones to forget. When that is changes no result.
    sweep_ms: i64,
    dropped: Vec<K>,
    /// Not all rows are in memory. Those of keys that were dropped meanwhile may come again with a page that was
    /// read before; their time is over, so they say nothing and are dropped again.
    loading: bool,
}

/// The row of a key.
#[derive(Debug)]
pub(super) struct Row<V> {
    pub(super) value: V,
    /// To be written at the next checkpoint.
    pub(super) changed: bool,
    saved: bool,
}

/// Whether event time has passed `last_ms` by the `ttl`. Counted back from the watermark, because the sum of
/// the other two may lie behind the end of time, which no watermark reaches.
#[inline(always)]
pub(super) fn is_forgotten(last_ms: i64, ttl_ms: i64, watermark_ms: i64) -> bool {
    watermark_ms.checked_sub(ttl_ms).is_some_and(|oldest_ms| last_ms <= oldest_ms)
}

/// What a row's key says.
fn place<K: Key>(row: &[u8]) -> Result<Option<Place<K>>, CodecError> {
    codec::key_from_slice(row.get(ROWS.len()..).unwrap_or_default()).map(|key| Some(Place::only(key)))
}

/// In front of the key of every row.
const ROWS: &[u8] = b"r";

impl<K: Key, V: Serialize + DeserializeOwned> KeyedRows<K, V> {
    pub(super) fn new(id: &'static str) -> Self {
        Self {
            id: OperatorId::new(id),
            watermark_ms: UNTIMED,
            rows: HashMap::new(),
            sweep_ms: UNTIMED,
            dropped: Vec::new(),
            loading: false,
        }
    }

    /// The row of a key; a fresh one where there is none, here or in the store.
    #[inline(always)]
    pub(super) fn at(&mut self, key: &K, cx: &mut Cx, fresh: impl FnOnce() -> V) -> &mut Row<V> {
        // A known key is not cloned.
        match self.rows.entry_ref(key) {
            EntryRef::Occupied(known) => known.into_mut(),
            EntryRef::Vacant(new) => {
                let stored = match self.loading {
                    true => cx.fetch(self.id, ROWS, key),
                    false => None,
                };
                let saved = stored.is_some();
                let row = Row { value: stored.unwrap_or_else(fresh), changed: false, saved };
                new.insert_with_key(key.clone(), row)
            }
        }
    }

    /// Event time has reached `at_ms`; now and then the rows that are over are dropped, at the latest a `ttl`
    /// after that.
    #[inline(always)]
    pub(super) fn advance(&mut self, at_ms: i64, ttl_ms: Option<i64>, is_over: impl Fn(&V) -> bool) {
        self.watermark_ms = at_ms;
        if let Some(ttl_ms) = ttl_ms
            && at_ms >= self.sweep_ms
        {
            self.sweep(ttl_ms, is_over);
        }
    }

    fn sweep(&mut self, ttl_ms: i64, is_over: impl Fn(&V) -> bool) {
        let dropped = &mut self.dropped;
        self.rows.retain(|key, row| {
            let keep = !is_over(&row.value);
            if !keep && row.saved {
                dropped.push(key.clone());
            }
            keep
        });
        self.sweep_ms = self.watermark_ms.saturating_add(ttl_ms.max(1));
    }

    /// Loads, saves and drops; `signature` says what the rows are a state of.
    pub(super) fn hear(&mut self, message: &mut System<'_>, signature: impl FnOnce() -> String) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let rows = &mut self.rows;
                let all = loader.rows(self.id, &mut |key, value| {
                    let key = key.get(ROWS.len()..).unwrap_or_default();
                    let value = codec::from_slice(value)?;
                    rows.insert(codec::key_from_slice(key)?, Row { value, changed: false, saved: true });
                    Ok(())
                });
                self.loading = !all;
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => {
                self.loading = false;
                // Rows that came in pages may be ones that a sweep would have dropped.
                self.sweep_ms = UNTIMED;
            }
            System::CheckPoint(saver) => self.save(saver, &signature()),
            System::RemoveSplit => self.rows.clear(),
            System::Ahead(ahead) if self.loading => {
                let missing = ahead.keys::<K>().iter().filter(|(key, _)| !self.rows.contains_key(key));
                missing.for_each(|(key, _)| ahead.want(self.id, ROWS, key));
            }
            System::Inspect(inquiry) => inquiry.ask::<K, V>(self.id, Find::Under(ROWS), &place),
            _ => {}
        }
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        if !self.loading {
            return;
        }
        let rows = &mut self.rows;
        page.rows(self.id, &mut |key, value| {
            let key: K = codec::key_from_slice(key.get(ROWS.len()..).unwrap_or_default())?;
            if !rows.contains_key(&key) || planted(Bug::PageOverwrites) {
                rows.insert(key, Row { value: codec::from_slice(value)?, changed: false, saved: true });
            }
            Ok(())
        });
    }

    fn save(&mut self, saver: &mut Saver<'_>, signature: &str) {
        for key in self.dropped.drain(..) {
            saver.delete(self.id, ROWS, &key);
        }
        for (key, row) in self.rows.iter_mut().filter(|(_, row)| row.changed) {
            row.changed = false;
            row.saved = true;
            saver.put(self.id, ROWS, key, &row.value);
        }
        saver.put_value(self.id, signature, &self.watermark_ms);
    }
}
