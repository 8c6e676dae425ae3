//! `join(other, within(..), ..)`: the pairs of records of one key whose event times are near each other.

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::effects::Origin;
use crate::inspect::Find;
use crate::join::{At, Pairing, Side};
use crate::key::{Key, Shuffled};
use crate::op::timers::Timers;
use crate::op::window_aggregate::tags::{ahead, clamp};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

mod line;
mod rows;
mod show;
mod slab;

use line::{Kept, Line, Slot, Stored};
use rows::ROWS;
use show::{place, record};
use slab::Slab;

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
    keys: HashMap<K, Rows>,
    // Each row is kept apart from its key's: one that comes moves no other, and takes no memory of its own.
    left: Slab<Slot<K, A>>,
    right: Slab<Slot<K, B>>,
    /// Every row in memory, by when it is dropped.
    due: Timers<Seat>,
    /// The rows that are dropped now; empty in between.
    leaving: Vec<(i64, Seat)>,
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

/// The rows of a key.
#[derive(Debug)]
struct Rows {
    left: Line,
    right: Line,
    /// Whether all of them are here.
    complete: bool,
}

/// A row in memory: its side, and where it lies among those of that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seat(usize);

impl Seat {
    fn new(side: u8, at: usize) -> Self {
        Self(at << 1 | usize::from(side))
    }

    fn side(self) -> u8 {
        (self.0 & 1) as u8
    }

    fn at(self) -> usize {
        self.0 >> 1
    }
}

/// Where a record stands among those of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Place(u8, u64, i64);

/// A row that is dropped.
#[derive(Debug)]
struct Due<K> {
    at_ms: i64,
    key: K,
    place: Place,
}

/// Memory for more rows that are dropped at once is given back.
const MOST_LEAVING: usize = 1 << 12;

const LEFT: u8 = 0;
const RIGHT: u8 = 1;

impl<K: Key, A: Shuffled, B: Shuffled, P> IntervalJoin<K, A, B, P> {
    pub(crate) fn new(id: &'static str, (before_ms, after_ms): (i64, i64), pairing: P) -> Self {
        Self {
            id: OperatorId::new(id),
            pairing,
            before_ms,
            after_ms,
            keys: HashMap::new(),
            left: Slab::new(),
            right: Slab::new(),
            due: Timers::new(before_ms.saturating_add(after_ms)),
            leaving: Vec::new(),
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
    /// The last time at which a partner may come for a record of this side and time.
    fn due_ms(&self, side: u8, at: i64) -> i64 {
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
        let pairing = &self.pairing;
        let place = At { key: &key, span: () };
        let mut give = |at: i64, val| next.push(Rec { ts: ts.max(at), key: key.clone(), val }, cx);
        let at = (ts, number);
        let seat = match val {
            Side::Left(val) => {
                let span = (ts.saturating_sub(before), ts.saturating_add(after));
                let paired = rows.right.meet(span, P::KEEPS_RIGHT, &mut self.right, |at, right| {
                    give(at, pairing.both(place, &val, right));
                });
                let kept = Kept(paired && P::KEEPS_LEFT, val, Stored::NEW);
                let seat = self.left.put(Slot { at, key, kept });
                rows.left.add(seat, &self.left);
                Seat::new(LEFT, seat)
            }
            Side::Right(val) => {
                let span = (ts.saturating_sub(after), ts.saturating_add(before));
                let paired = rows.left.meet(span, P::KEEPS_LEFT, &mut self.left, |at, left| {
                    give(at, pairing.both(place, left, &val));
                });
                let kept = Kept(paired && P::KEEPS_RIGHT, val, Stored::NEW);
                let seat = self.right.put(Slot { at, key, kept });
                rows.right.add(seat, &self.right);
                Seat::new(RIGHT, seat)
            }
        };
        self.arm(ts, seat);
        None
    }

    /// Puts down when a row is dropped.
    #[inline]
    fn arm(&mut self, ts: i64, seat: Seat) {
        let at_ms = self.due_ms(seat.side(), ts);
        self.next_due_ms = self.next_due_ms.min(at_ms);
        self.due.push(at_ms, seat);
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
        let mut due = std::mem::take(&mut self.leaving);
        while self.due.first(|at_ms, _| Some(at_ms)).is_some_and(|at_ms| i128::from(at_ms) < until) {
            due.extend(self.due.pop());
        }
        if P::KEEPS_LEFT || P::KEEPS_RIGHT {
            self.order(&mut due);
        }
        for (at_ms, seat) in due.drain(..) {
            let pairing = &self.pairing;
            let keys = &mut self.keys;
            let left = match seat.side() {
                LEFT => leave(seat, &mut self.left, keys, |key, val| pairing.left(At { key, span: () }, val)),
                _ => leave(seat, &mut self.right, keys, |key, val| pairing.right(At { key, span: () }, val)),
            };
            let Some((key, row, saved)) = left else { continue };
            if let Some(val) = row {
                next.push(Rec { ts: at_ms, key: key.clone(), val }, cx);
            }
            if let Some((at, number)) = saved {
                self.dropped.push(Due { at_ms, key, place: Place(seat.side(), number, at) });
            }
        }
        due.shrink_to(MOST_LEAVING);
        self.leaving = due;
        self.next_due_ms = self.next_due();
        cx.base().origin = origin;
    }

    /// Puts rows that are due in the order of (time, key, side, arrival).
    fn order(&self, due: &mut [(i64, Seat)]) {
        let place = |seat: Seat| match seat.side() {
            LEFT => self.left.get(seat.at()).map(|slot| (&slot.key, LEFT, slot.at.1)),
            _ => self.right.get(seat.at()).map(|slot| (&slot.key, RIGHT, slot.at.1)),
        };
        due.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| place(one.1).cmp(&place(other.1)))
        });
    }

    fn next_due(&mut self) -> i64 {
        let here = self.due.first(|at_ms, _| Some(at_ms)).unwrap_or(i64::MAX);
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
        self.left.clear();
        self.right.clear();
        self.due.clear();
        self.next_due_ms = i64::MAX;
    }
}

impl Rows {
    fn empty(complete: bool) -> Self {
        Self { left: Line::Empty, right: Line::Empty, complete }
    }

    fn line(&mut self, side: u8) -> &mut Line {
        if side == LEFT { &mut self.left } else { &mut self.right }
    }
}

/// What becomes of a row that is dropped: its key, the row that it gives when it stayed alone, and where the store has
/// it, its time and number.
type Left<K, R> = (K, Option<R>, Option<(i64, u64)>);

/// Takes a row out, and with the last one its key.
fn leave<K: Key, V, R>(
    seat: Seat,
    slab: &mut Slab<Slot<K, V>>,
    keys: &mut HashMap<K, Rows>,
    alone: impl FnOnce(&K, &V) -> Option<R>,
) -> Option<Left<K, R>> {
    let key = &slab.get(seat.at())?.key;
    if let Some(rows) = keys.get_mut(key) {
        rows.line(seat.side()).remove(seat.at(), slab);
        if rows.left.is_empty() && rows.right.is_empty() {
            keys.remove(key);
        }
    }
    let Slot { at, key, kept: Kept(paired, val, stored) } = slab.take(seat.at())?;
    let row = if paired { None } else { alone(&key, &val) };
    Some((key, row, stored.saved.then_some(at)))
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
