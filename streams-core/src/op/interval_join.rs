//! `join(other, within(..), ..)`: the pairs of records of one key whose event times are near each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Bound;

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use serde::{Deserialize, Serialize};

use crate::aggregate::type_name;
use crate::codec;
use crate::context::{Context, Cx};
use crate::effects::Origin;
use crate::error::CodecError;
use crate::inspect::Find;
use crate::join::{At, Pairing, Side};
use crate::key::{Key, Shuffled};
use crate::op::window_aggregate::tags::{ahead, clamp};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::{OperatorId, Saver};
use crate::store::prefix;
use crate::time::UNTIMED;

mod line;
mod show;

use line::{Kept, Line};
use show::{place, record};

/// Joins each left record at `t` with the right records of its key in `[t - before, t + after]`.
///
/// **Shape** `Stream<A, K>` and `Stream<B, K>` to `Stream<R, K>`. **State** each record that is not late, until
/// the watermark has passed the last time at which a partner may come: `t + after` for a left record,
/// `t + before` for a right one; the watermark; how many records have come. **Time** a pair is given out by the
/// record that comes second, in the order of (time, arrival) of its partners, and has the larger of both times.
/// A record that stays alone gives its row, where it gives one, when it is dropped, with the last time at which
/// a partner could have come, in the order of (that time, key, left before right, arrival), in front of the
/// watermark. A record behind the watermark is late, and counted: what it would belong with may be gone. `End`
/// drops everything.
#[derive(Debug)]
pub struct IntervalJoin<K, A, B, P> {
    id: OperatorId,
    pairing: P,
    before_ms: i64,
    after_ms: i64,
    keys: HashMap<K, Rows<A, B>>,
    /// Every row in memory, by when it is dropped.
    due: BinaryHeap<Reverse<Due<K>>>,
    /// No row is due, and none in the store has to be read for that, before the watermark is above this.
    next_due_ms: i64,
    watermark_ms: i64,
    late: u64,
    arrived: u64,
    /// Rows that are in the store and were dropped since the last checkpoint.
    dropped: Vec<Due<K>>,
    /// The end of the input dropped everything since the last checkpoint.
    emptied: bool,
    /// Not all rows are in memory.
    loading: bool,
    /// Rows that are due from here on may be in the store alone; in use while loading.
    unread_due_ms: i64,
}

#[derive(Debug)]
struct Rows<A, B> {
    left: Line<A>,
    right: Line<B>,
    /// Whether a row has changed since the last checkpoint.
    touched: bool,
    /// Whether all rows of the key are here.
    complete: bool,
}

/// Where a record stands among those of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Place(u8, u64, i64);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due<K> {
    at_ms: i64,
    key: K,
    place: Place,
}

const LEFT: u8 = 0;
const RIGHT: u8 = 1;

/// In front of the key of every record's row; behind it key and place.
const ROWS: &[u8] = b"r";
/// In front of when a record that may stay alone is due; behind it key and place. The row has no value.
const DUES: &[u8] = b"d";

fn due_tag(at_ms: i64) -> Vec<u8> {
    [DUES, &(at_ms ^ i64::MIN).to_be_bytes()].concat()
}

impl<K: Key, A: Shuffled, B: Shuffled, P> IntervalJoin<K, A, B, P> {
    pub(crate) fn new(id: &'static str, (before_ms, after_ms): (i64, i64), pairing: P) -> Self {
        Self {
            id: OperatorId::new(id),
            pairing,
            before_ms,
            after_ms,
            keys: HashMap::new(),
            due: BinaryHeap::new(),
            next_due_ms: i64::MAX,
            watermark_ms: UNTIMED,
            late: 0,
            arrived: 0,
            dropped: Vec::new(),
            emptied: false,
            loading: false,
            unread_due_ms: UNTIMED,
        }
    }
}

impl<K: Key, A: Shuffled, B: Shuffled, P: Pairing<K, (), A, B>> IntervalJoin<K, A, B, P> {
    /// Whether records of this side give a row when they stay alone.
    fn keeps(side: u8) -> bool {
        if side == LEFT { P::KEEPS_LEFT } else { P::KEEPS_RIGHT }
    }

    /// What the state is a state of; which rows can be found by when they are due depends on the kind of join.
    fn signature(&self) -> String {
        let kind = match (P::KEEPS_LEFT, P::KEEPS_RIGHT) {
            (false, false) => "joining",
            (true, false) => "left joining",
            (false, true) => "right joining",
            (true, true) => "full joining",
        };
        let (left, right, key) = (type_name::<A>(), type_name::<B>(), type_name::<K>());
        let (before, after) = (self.before_ms, self.after_ms);
        format!("within {before} ms before and {after} ms after, {kind} {left} and {right} by {key}")
    }

    /// The last time at which a partner may come.
    fn due_ms(&self, Place(side, _, at): Place) -> i64 {
        at.saturating_add(if side == LEFT { self.after_ms } else { self.before_ms })
    }

    /// Pairs and keeps a record, or gives back one that is late.
    pub(super) fn take<C: Context, N>(
        &mut self,
        record: Rec<K, Side<A, B>>,
        next: &mut N,
        cx: &mut C,
    ) -> Option<Rec<K, Side<A, B>>>
    where
        N: Push<Rec<K, P::Out>, C>,
    {
        if record.ts < self.watermark_ms {
            self.late += 1;
            return Some(record);
        }
        let Rec { ts, key, val } = record;
        let (before, after) = (self.before_ms, self.after_ms);
        let number = self.arrived;
        self.arrived += 1;
        // A known key is not cloned, and each looked up once.
        let rows = match self.keys.entry_ref(&key) {
            EntryRef::Occupied(known) if known.get().complete => known.into_mut(),
            EntryRef::Vacant(new) if !self.loading => new.insert_with_key(key.clone(), Rows::empty(true)),
            _ => {
                self.complete(&key, cx.base());
                self.keys.get_mut(&key).expect("the key was put there by the line above")
            }
        };
        rows.touched = true;
        let pairing = &self.pairing;
        let place = At { key: &key, span: () };
        let mut give = |at: i64, val| next.push(Rec { ts: ts.max(at), key: key.clone(), val }, cx);
        let side = match val {
            Side::Left(left) => {
                let span = (ts.saturating_sub(before), ts.saturating_add(after));
                let paired = rows.right.meet(span, P::KEEPS_RIGHT, |at, right| {
                    give(at, pairing.both(place, &left, right));
                });
                rows.left.add((ts, number), Kept(paired && P::KEEPS_LEFT, left));
                LEFT
            }
            Side::Right(right) => {
                let span = (ts.saturating_sub(after), ts.saturating_add(before));
                let paired = rows.left.meet(span, P::KEEPS_LEFT, |at, left| {
                    give(at, pairing.both(place, left, &right));
                });
                rows.right.add((ts, number), Kept(paired && P::KEEPS_RIGHT, right));
                RIGHT
            }
        };
        let place = Place(side, number, ts);
        let at_ms = self.due_ms(place);
        self.next_due_ms = self.next_due_ms.min(at_ms);
        self.due.push(Reverse(Due { at_ms, key, place }));
        None
    }

    /// Makes sure that the key is there with all of its rows.
    #[inline(never)]
    fn complete(&mut self, key: &K, cx: &mut Cx) {
        let known = self.keys.get(key).map(|rows| rows.complete);
        if known == Some(true) {
            return;
        }
        if known.is_none() {
            self.keys.insert(key.clone(), Rows::empty(false));
        }
        if self.loading {
            let mut from = ROWS.to_vec();
            // A key that cannot be encoded has no rows, and fails at the next checkpoint.
            if codec::key_to_vec(key, &mut from).is_ok() {
                self.fetch(&from, cx);
            }
        }
        if let Some(rows) = self.keys.get_mut(key) {
            rows.complete = true;
        }
    }

    /// Reads the rows whose keys begin with `from`.
    fn fetch(&mut self, from: &[u8], cx: &mut Cx) {
        let to = match prefix::range(from).1 {
            Bound::Excluded(to) | Bound::Included(to) => Some(to),
            Bound::Unbounded => None,
        };
        cx.fetch_range(self.id, from, to.as_deref(), &mut |key, value| self.put_aside(key, value));
    }

    /// Takes a stored row, unless what is here is newer.
    fn put_aside(&mut self, key: &[u8], value: &[u8]) -> Result<(), CodecError> {
        let Some(rest) = key.strip_prefix(ROWS) else { return Ok(()) };
        let (key, place): (K, Place) = codec::key_from_slice(rest)?;
        if self.keys.get(&key).is_some_and(|rows| rows.complete) {
            return Ok(());
        }
        let at_ms = self.due_ms(place);
        if at_ms < self.watermark_ms {
            // Its time is over; where a row had to be given out for it, that was done.
            self.dropped.push(Due { at_ms, key, place });
            return Ok(());
        }
        let rows = match self.keys.get_mut(&key) {
            Some(rows) => rows,
            None => self.keys.entry(key.clone()).or_insert_with(|| Rows::empty(false)),
        };
        let Place(side, number, at) = place;
        let new = match side {
            LEFT => rows.left.put((at, number), value)?,
            RIGHT => rows.right.put((at, number), value)?,
            _ => return Err(CodecError::Invalid { at: 0, what: "the side of a join".to_owned() }),
        };
        if new {
            self.next_due_ms = self.next_due_ms.min(at_ms);
            self.due.push(Reverse(Due { at_ms, key, place }));
        }
        Ok(())
    }

    /// Reads the rows that are due in front of `until_ms`, of records that may stay alone.
    fn read_due(&mut self, until_ms: i64, cx: &mut Cx) {
        let (from, to) = (due_tag(self.unread_due_ms), due_tag(until_ms));
        let mut keys: Vec<K> = Vec::new();
        cx.fetch_range(self.id, &from, Some(&to), &mut |key, _| {
            let rest = key.get(DUES.len() + 8..).unwrap_or_default();
            let (key, _): (K, Place) = codec::key_from_slice(rest)?;
            keys.push(key);
            Ok(())
        });
        for key in keys {
            self.complete(&key, cx);
        }
        self.unread_due_ms = until_ms;
    }

    /// Drops what is due in front of `until`; records that stayed alone give their rows.
    #[inline(never)]
    fn fire<C: Context, N>(&mut self, until: i128, next: &mut N, cx: &mut C)
    where
        N: Push<Rec<K, P::Out>, C>,
    {
        if self.loading && (P::KEEPS_LEFT || P::KEEPS_RIGHT) && until > i128::from(self.unread_due_ms) {
            let span = i128::from(self.before_ms) + i128::from(self.after_ms);
            self.read_due(clamp(until.saturating_add(ahead(span))), cx.base());
        }
        // What fails behind a firing is no fault of the record that happened to be running.
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        while self.due.peek().is_some_and(|Reverse(due)| i128::from(due.at_ms) < until) {
            let Some(Reverse(due)) = self.due.pop() else { break };
            let Some(rows) = self.keys.get_mut(&due.key) else { continue };
            let Place(side, number, at) = due.place;
            let place = At { key: &due.key, span: () };
            let (row, saved) = match side {
                LEFT => rows.left.leave((at, number), |left| self.pairing.left(place, left)),
                _ => rows.right.leave((at, number), |right| self.pairing.right(place, right)),
            };
            if rows.left.is_empty() && rows.right.is_empty() {
                self.keys.remove(&due.key);
            }
            if let Some(val) = row {
                next.push(Rec { ts: due.at_ms, key: due.key.clone(), val }, cx);
            }
            if saved {
                self.dropped.push(due);
            }
        }
        self.next_due_ms = self.next_due();
        cx.base().origin = origin;
    }

    fn next_due(&self) -> i64 {
        let here = self.due.peek().map_or(i64::MAX, |Reverse(due)| due.at_ms);
        if self.loading && (P::KEEPS_LEFT || P::KEEPS_RIGHT) { here.min(self.unread_due_ms) } else { here }
    }

    #[inline(never)]
    fn hear<C: Context, N>(&mut self, message: &mut System<'_>, next: &mut N, cx: &mut C)
    where
        N: Push<Rec<K, P::Out>, C>,
    {
        match message {
            System::NewSplit(loader) => {
                if let Some((watermark_ms, arrived)) = loader.value(self.id, &self.signature()) {
                    (self.watermark_ms, self.arrived) = (watermark_ms, arrived);
                }
                let id = self.id;
                self.loading = !loader.rows(id, &mut |key, value| self.put_aside(key, value));
                self.unread_due_ms = self.watermark_ms;
                if !self.loading {
                    self.keys.values_mut().for_each(|rows| rows.complete = true);
                }
                self.next_due_ms = self.next_due();
            }
            System::Page(page) if self.loading => {
                page.rows(self.id, &mut |key, value| self.put_aside(key, value));
            }
            System::Loaded => {
                self.loading = false;
                self.keys.values_mut().for_each(|rows| rows.complete = true);
            }
            System::CheckPoint(saver) => self.save(saver),
            System::End => {
                // Only records that may stay alone have to be there for that.
                if P::KEEPS_LEFT || P::KEEPS_RIGHT {
                    if self.loading {
                        self.fetch(ROWS, cx.base());
                    }
                    self.loading = false;
                    self.fire(i128::MAX, next, cx);
                }
                self.loading = false;
                self.clear();
                self.dropped.clear();
                self.emptied = true;
            }
            System::RemoveSplit => self.clear(),
            System::Drain(effects) => effects.late += std::mem::take(&mut self.late),
            System::Inspect(inquiry) => {
                inquiry.ask_with(self.id, Find::Under(ROWS), &place::<K>, &record::<K, A, B>);
            }
            _ => {}
        }
    }

    /// Forgets every record.
    fn clear(&mut self) {
        self.keys.clear();
        self.due.clear();
        self.next_due_ms = i64::MAX;
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        let id = self.id;
        if std::mem::take(&mut self.emptied) {
            saver.delete_all(id, ROWS);
            saver.delete_all(id, DUES);
        }
        for Due { at_ms, key, place } in self.dropped.drain(..) {
            saver.delete(id, ROWS, &(&key, place));
            if Self::keeps(place.0) {
                saver.delete(id, &due_tag(at_ms), &(&key, place));
            }
        }
        let (before, after) = (self.before_ms, self.after_ms);
        for (key, rows) in self.keys.iter_mut().filter(|(_, rows)| rows.touched) {
            rows.touched = false;
            save_line(saver, id, key, (LEFT, after, P::KEEPS_LEFT), &mut rows.left);
            save_line(saver, id, key, (RIGHT, before, P::KEEPS_RIGHT), &mut rows.right);
        }
        saver.put_value(id, &self.signature(), &(self.watermark_ms, self.arrived));
    }
}

impl<A, B> Rows<A, B> {
    fn empty(complete: bool) -> Self {
        Self { left: Line::new(), right: Line::new(), touched: false, complete }
    }
}

fn save_line<K: Key, V: Shuffled>(
    saver: &mut Saver<'_>,
    id: OperatorId,
    key: &K,
    (side, span_ms, keeps): (u8, i64, bool),
    line: &mut Line<V>,
) {
    for slot in line.changed() {
        let (at, number) = slot.at;
        let place = Place(side, number, at);
        saver.put(id, ROWS, &(key, place), &slot.kept);
        if keeps && !slot.saved {
            saver.put(id, &due_tag(at.saturating_add(span_ms)), &(key, place), &());
        }
        (slot.changed, slot.saved) = (false, true);
    }
}

impl<K: Key, A: Shuffled, B: Shuffled, P> Operator<Rec<K, Side<A, B>>> for IntervalJoin<K, A, B, P>
where
    P: Pairing<K, (), A, B>,
{
    type Out = Rec<K, P::Out>;

    #[inline]
    fn push<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        record: Rec<K, Side<A, B>>,
        next: &mut N,
        cx: &mut C,
    ) {
        drop(self.take(record, next, cx));
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        if at_ms > self.next_due_ms {
            self.fire(i128::from(at_ms), next, cx);
        }
        self.watermark_ms = at_ms;
        next.watermark(at_ms, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        self.hear(message, next, cx);
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}
