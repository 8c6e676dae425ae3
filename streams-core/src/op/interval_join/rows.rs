//! The rows of an interval join in the store: `r` key place → the record, and for records that may stay alone `d` due
//! key place → nothing, by which those are found that are due.

use std::ops::Bound;

use super::line::{Kept, Line, Slot, Stored};
use super::slab::Slab;
use super::{Due, IntervalJoin, LEFT, Place, RIGHT, Rows, Seat};
use crate::aggregate::type_name;
use crate::codec;
use crate::context::Cx;
use crate::error::CodecError;
use crate::join::Pairing;
use crate::key::{Key, Shuffled};
use crate::op::window_aggregate::tags::pane_tag;
use crate::state::{OperatorId, Saver};
use crate::store::prefix;

/// In front of the key of every record's row; behind it key and place.
pub(super) const ROWS: &[u8] = b"r";
/// In front of when a record that may stay alone is due; behind it key and place. The row has no value.
const DUES: &[u8] = b"d";

fn due_tag(at_ms: i64) -> Vec<u8> {
    [DUES, &pane_tag(at_ms)].concat()
}

impl<K: Key, A: Shuffled, B: Shuffled, P: Pairing<K, (), A, B>> IntervalJoin<K, A, B, P> {
    /// Whether records of this side give a row when they stay alone.
    fn keeps(side: u8) -> bool {
        if side == LEFT { P::KEEPS_LEFT } else { P::KEEPS_RIGHT }
    }

    /// What the state is a state of; which rows can be found by when they are due depends on the kind of join.
    pub(super) fn signature(&self) -> String {
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

    /// Makes sure that the key is there with all of its rows.
    #[inline(never)]
    pub(super) fn complete(&mut self, key: &K, cx: &mut Cx) {
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
    pub(super) fn fetch(&mut self, from: &[u8], cx: &mut Cx) {
        let to = match prefix::range(from).1 {
            Bound::Excluded(to) | Bound::Included(to) => Some(to),
            Bound::Unbounded => None,
        };
        cx.fetch_range(self.id, from, to.as_deref(), &mut |key, value| self.put_aside(key, value));
    }

    /// Takes a stored row, unless what is here is newer.
    pub(super) fn put_aside(&mut self, key: &[u8], value: &[u8]) -> Result<(), CodecError> {
        let Some(rest) = key.strip_prefix(ROWS) else { return Ok(()) };
        let (key, place): (K, Place) = codec::key_from_slice(rest)?;
        if self.keys.get(&key).is_some_and(|rows| rows.complete) {
            return Ok(());
        }
        let Place(side, number, at) = place;
        let at_ms = self.due_ms(side, at);
        if at_ms < self.watermark_ms {
            // Its time is over; where a row had to be given out for it, that was done.
            self.dropped.push(Due { at_ms, key, place });
            return Ok(());
        }
        let rows = match self.keys.get_mut(&key) {
            Some(rows) => rows,
            None => self.keys.entry(key.clone()).or_insert_with(|| Rows::empty(false)),
        };
        let at = (at, number);
        let seat = match side {
            LEFT => put(at, key, value, &mut rows.left, &mut self.left)?,
            RIGHT => put(at, key, value, &mut rows.right, &mut self.right)?,
            _ => return Err(CodecError::Invalid { at: 0, what: "the side of a join".to_owned() }),
        };
        if let Some(seat) = seat {
            self.arm(at.0, Seat::new(side, seat));
        }
        Ok(())
    }

    /// Reads the rows that are due in front of `until_ms`, of records that may stay alone.
    pub(super) fn read_due(&mut self, until_ms: i64, cx: &mut Cx) {
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

    pub(super) fn save(&mut self, saver: &mut Saver<'_>) {
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
        save_side(saver, id, (LEFT, after, P::KEEPS_LEFT), &mut self.left);
        save_side(saver, id, (RIGHT, before, P::KEEPS_RIGHT), &mut self.right);
        saver.put_value(id, &self.signature(), &(self.watermark_ms, self.arrived));
    }
}

/// Takes in a record from the store, and gives where it lies; none where it is here.
fn put<K, V: Shuffled>(
    at: (i64, u64),
    key: K,
    value: &[u8],
    line: &mut Line,
    slab: &mut Slab<Slot<K, V>>,
) -> Result<Option<usize>, CodecError> {
    if line.has(at, slab) {
        return Ok(None);
    }
    let Kept(paired, val, _) = codec::from_slice(value)?;
    let seat = slab.put(Slot { at, key, kept: Kept(paired, val, Stored::SAVED) });
    line.add(seat, slab);
    Ok(Some(seat))
}

fn save_side<K: Key, V: Shuffled>(
    saver: &mut Saver<'_>,
    id: OperatorId,
    (side, span_ms, keeps): (u8, i64, bool),
    slab: &mut Slab<Slot<K, V>>,
) {
    for slot in slab.touched().filter(|slot| slot.kept.2.changed) {
        let ((at, number), key) = (slot.at, &slot.key);
        let place = Place(side, number, at);
        saver.put(id, ROWS, &(key, place), &slot.kept);
        if keeps && !slot.kept.2.saved {
            saver.put(id, &due_tag(at.saturating_add(span_ms)), &(key, place), &());
        }
        slot.kept.2 = Stored::SAVED;
    }
}
