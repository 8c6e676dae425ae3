//! `join_table(changes, ..)`: each record with the row that a table has for its key at the moment.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::keyed_rows::is_forgotten;
use crate::aggregate::type_name;
use crate::codec;
use crate::context::{Context, Cx};
use crate::inspect::{Find, Place};
use crate::join::{At, Pairing, Side};
use crate::key::{Key, Shuffled};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::{OperatorId, Page, Saver};
use crate::time::UNTIMED;

/// Joins each left record with the row of its key in the table that the right records have made so far:
/// `Some(row)` sets the row of its key, `None` removes it.
///
/// **Shape** `Stream<A, K>` and `Stream<Option<B>, K>` to `Stream<R, K>`. **State** the row of each key and the
/// event time of its last change, dropped when the row is removed, or when the watermark reaches that time plus
/// the `ttl`. **Time** what a record finds is decided by the order in which records and changes come in, not by
/// their event times; a result has the event time of its record; watermarks pass unchanged.
#[derive(Debug)]
pub struct TableJoin<K, B, P> {
    id: OperatorId,
    pairing: P,
    ttl_ms: Option<i64>,
    rows: HashMap<K, Row<B>>,
    watermark_ms: i64,
    /// When rows are looked through for ones to forget. When that is changes no result.
    sweep_ms: i64,
    /// Keys with a row in the store that was dropped since the last checkpoint.
    dropped: Vec<K>,
    /// Not all rows are in memory. A row that comes with a page loses to what is here, be it nothing.
    loading: bool,
}

#[derive(Debug)]
struct Row<B> {
    /// `None` where it is known that the table has no row, which has to be remembered while loading.
    kept: Option<Kept<B>>,
    changed: bool,
    saved: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept<B> {
    row: B,
    last_ms: i64,
}

/// In front of the key of every row.
const ROWS: &[u8] = b"r";

impl<K: Key, B: Shuffled, P> TableJoin<K, B, P> {
    pub(crate) fn new(id: &'static str, ttl_ms: Option<i64>, pairing: P) -> Self {
        Self {
            id: OperatorId::new(id),
            pairing,
            ttl_ms,
            rows: HashMap::new(),
            watermark_ms: UNTIMED,
            sweep_ms: UNTIMED,
            dropped: Vec::new(),
            loading: false,
        }
    }

    /// What the state is a state of. Another `ttl`, or another kind of join, goes on with it.
    fn signature(&self) -> String {
        format!("a table of {} by {}", type_name::<B>(), type_name::<K>())
    }

    fn change(&mut self, key: K, row: Option<B>, at_ms: i64) {
        let saved = self.rows.get(&key).map_or(self.loading, |row| row.saved);
        match row {
            Some(row) => {
                let kept = Some(Kept { row, last_ms: at_ms });
                self.rows.insert(key, Row { kept, changed: true, saved });
            }
            None if saved || self.loading => {
                self.rows.insert(key, Row { kept: None, changed: true, saved });
            }
            None => drop(self.rows.remove(&key)),
        }
    }

    /// Reads the row of a key that may not be here yet.
    fn look_up(&mut self, key: &K, cx: &mut Cx) {
        if self.loading && !self.rows.contains_key(key) {
            let kept: Option<Kept<B>> = cx.fetch(self.id, ROWS, key);
            let saved = kept.is_some();
            self.rows.insert(key.clone(), Row { kept, changed: false, saved });
        }
    }

    /// The row of a key, unless it is forgotten.
    fn row(&self, key: &K) -> Option<&B> {
        let kept = self.rows.get(key)?.kept.as_ref()?;
        let forgotten =
            self.ttl_ms.is_some_and(|ttl_ms| is_forgotten(kept.last_ms, ttl_ms, self.watermark_ms));
        (!forgotten).then_some(&kept.row)
    }

    fn sweep(&mut self, ttl_ms: i64) {
        let (watermark_ms, dropped) = (self.watermark_ms, &mut self.dropped);
        self.rows.retain(|key, row| {
            let Some(kept) = &row.kept else { return true };
            let keep = !is_forgotten(kept.last_ms, ttl_ms, watermark_ms);
            if !keep && row.saved {
                dropped.push(key.clone());
            }
            keep
        });
        self.sweep_ms = watermark_ms.saturating_add(ttl_ms.max(1));
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        if !self.loading {
            return;
        }
        let rows = &mut self.rows;
        page.rows(self.id, &mut |key, value| {
            let key: K = codec::key_from_slice(key.get(ROWS.len()..).unwrap_or_default())?;
            if !rows.contains_key(&key) {
                let kept = Some(codec::from_slice(value)?);
                rows.insert(key, Row { kept, changed: false, saved: true });
            }
            Ok(())
        });
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        for key in self.dropped.drain(..) {
            saver.delete(self.id, ROWS, &key);
        }
        for (key, row) in self.rows.iter_mut().filter(|(_, row)| row.changed) {
            row.changed = false;
            match &row.kept {
                Some(kept) => saver.put(self.id, ROWS, key, kept),
                None => saver.delete(self.id, ROWS, key),
            }
            row.saved = row.kept.is_some();
        }
        if !self.loading {
            self.rows.retain(|_, row| row.kept.is_some());
        }
        saver.put_value(self.id, &self.signature(), &self.watermark_ms);
    }
}

impl<K: Key, A, B: Shuffled, P> Operator<Rec<K, Side<A, Option<B>>>> for TableJoin<K, B, P>
where
    P: Pairing<K, (), A, B>,
{
    type Out = Rec<K, P::Out>;

    #[inline]
    fn push<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        record: Rec<K, Side<A, Option<B>>>,
        next: &mut N,
        cx: &mut C,
    ) {
        let Rec { ts, key, val } = record;
        match val {
            Side::Right(change) => self.change(key, change, ts),
            Side::Left(left) => {
                self.look_up(&key, cx.base());
                let at = At { key: &key, span: () };
                let row = match self.row(&key) {
                    Some(row) => Some(self.pairing.both(at, &left, row)),
                    None => self.pairing.left(at, &left),
                };
                if let Some(val) = row {
                    next.push(Rec { ts, key, val }, cx);
                }
            }
        }
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        self.watermark_ms = at_ms;
        // While loading, a row that was dropped here could come back with a page.
        if let Some(ttl_ms) = self.ttl_ms
            && at_ms >= self.sweep_ms
            && !self.loading
        {
            self.sweep(ttl_ms);
        }
        next.watermark(at_ms, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &self.signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let rows = &mut self.rows;
                let all = loader.rows(self.id, &mut |key, value| {
                    let key = key.get(ROWS.len()..).unwrap_or_default();
                    let kept = Some(codec::from_slice(value)?);
                    rows.insert(codec::key_from_slice(key)?, Row { kept, changed: false, saved: true });
                    Ok(())
                });
                self.loading = !all;
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => {
                self.loading = false;
                self.rows.retain(|_, row| row.kept.is_some() || row.changed);
                self.sweep_ms = UNTIMED;
            }
            System::CheckPoint(saver) => self.save(saver),
            System::RemoveSplit => self.rows.clear(),
            System::Ahead(ahead) if self.loading => {
                let missing = ahead.keys::<K>().iter().filter(|(key, _)| !self.rows.contains_key(key));
                missing.for_each(|(key, _)| ahead.want(self.id, ROWS, key));
            }
            System::Inspect(inquiry) => inquiry.ask::<K, Kept<B>>(self.id, Find::Under(ROWS), &|row| {
                codec::key_from_slice(row.get(ROWS.len()..).unwrap_or_default())
                    .map(|key| Some(Place::only(key)))
            }),
            _ => {}
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}
