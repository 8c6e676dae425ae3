//! `join(other, tumbling(..), ..)`: the pairs of records of one key that lie in one window of event time.
//!
//! A record is kept once, in the pane that holds it, however many windows overlap there (see
//! [`super::window_aggregate`]); a window that fires goes over its panes.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use serde::de::DeserializeOwned;

use super::window_aggregate::spans::{Cut, Spans};
use super::window_aggregate::tags::{clamp, pane_of, pane_tag};
use crate::aggregate::type_name;
use crate::codec;
use crate::context::{Context, Cx};
use crate::effects::Origin;
use crate::error::CodecError;
use crate::inspect::Find;
use crate::join::{At, Pairing, Side};
use crate::key::{Key, Shuffled};
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::{OperatorId, Page, Saver};
use crate::time::{Fired, UNTIMED, Window};

mod blocks;
mod pane;
mod show;

use pane::{Linked, NOWHERE, Newest, Pane, link, of_key};
use show::{place, record};

/// Joins the records of each key in each window.
///
/// **Shape** `Stream<A, K>` and `Stream<B, K>` to `Stream<R, K>`. **State** every record that is not late, once,
/// dropped when the last window over its pane has fired; the watermark; how many records have come.
/// **Time** a window fires when the watermark, the smaller of both sides', reaches its end (exclusive): rows in
/// the order of (end, key), then of the arrival of the left record, then of the right one; each with event time
/// end − 1 ms, in front of the watermark that fired them. A record without partner gives its row, where it gives
/// one, in each of its windows in which it is alone. A record of either side is late, and counted, when the last
/// window it belongs to has fired. `End` fires every window that has records.
#[derive(Debug)]
pub struct WindowJoin<K, A, B, P> {
    id: OperatorId,
    pairing: P,
    spans: Spans,
    // The pane of the last record, which is not in `panes`: almost every record belongs to it, so one comparison
    // stands for the search of the pane.
    hot_start_ms: i64,
    hot_len_ms: u64,
    hot: Pane<K, A, B>,
    panes: BTreeMap<i64, Pane<K, A, B>>,
    next_fire_ms: i64,
    watermark_ms: i64,
    late: u64,
    /// The number of the next record that is kept.
    arrived: u64,
    /// Records with smaller numbers were there at the last checkpoint.
    saved: u64,
    /// Records from here on have come to this machine itself.
    own_from: u64,
    /// Panes with rows in the store that were dropped since the last checkpoint.
    dropped: Vec<i64>,
    /// Rows from this pane and number on may be in the store and not in memory; `None` when all are here.
    unread: Option<(i64, u64)>,
}

const LEFT: u8 = 0;
const RIGHT: u8 = 1;

impl<K: Key, A: Shuffled, B: Shuffled, P> WindowJoin<K, A, B, P> {
    pub(crate) fn new(id: &'static str, cut: Cut, pairing: P) -> Self {
        Self {
            id: OperatorId::new(id),
            pairing,
            spans: Spans::new(cut),
            hot_start_ms: 0,
            hot_len_ms: 0,
            hot: Pane::new(),
            panes: BTreeMap::new(),
            next_fire_ms: i64::MAX,
            watermark_ms: UNTIMED,
            late: 0,
            arrived: 0,
            saved: 0,
            own_from: 0,
            dropped: Vec::new(),
            unread: None,
        }
    }

    /// What the state is a state of. What becomes of records that stay alone is not part of it.
    fn signature(&self) -> String {
        let (left, right, key) = (type_name::<A>(), type_name::<B>(), type_name::<K>());
        format!("{} joining {left} and {right} by {key}", self.spans)
    }

    /// Keeps a record, or gives back one that is late.
    #[inline]
    pub(super) fn take(&mut self, record: Rec<K, Side<A, B>>) -> Option<Rec<K, Side<A, B>>> {
        // One unsigned comparison tests both ends.
        if record.ts.wrapping_sub(self.hot_start_ms) as u64 >= self.hot_len_ms && !self.turn(record.ts) {
            return Some(record);
        }
        self.hot.put(record.key, self.arrived, record.val);
        self.arrived += 1;
        None
    }

    /// Makes the pane of `ts` the hot one; `false` when its last window has fired.
    #[inline(never)]
    fn turn(&mut self, ts: i64) -> bool {
        let start = self.spans.pane(ts);
        if self.spans.last_end(start) <= i128::from(self.watermark_ms) {
            self.late += 1;
            return false;
        }
        self.cool();
        self.hot = self.panes.remove(&start).unwrap_or_else(Pane::new);
        (self.hot_start_ms, self.hot_len_ms) = (start, self.spans.pane_len(start));
        let fires = self.spans.next_end(start, i128::from(self.watermark_ms));
        self.next_fire_ms = self.next_fire_ms.min(clamp(fires));
        true
    }

    /// Puts the hot pane back to the others.
    fn cool(&mut self) {
        if self.hot_len_ms > 0 {
            self.hot_len_ms = 0;
            self.panes.insert(self.hot_start_ms, std::mem::replace(&mut self.hot, Pane::new()));
        }
    }

    /// Fires every window that ends at or before `until`.
    #[inline(never)]
    fn fire<C: Context, N>(&mut self, until: i128, next: &mut N, cx: &mut C)
    where
        P: Pairing<K, Window, A, B>,
        N: Push<Rec<K, P::Out>, C>,
    {
        self.cool();
        self.read_until(until, cx.base());
        // What fails behind a firing is no fault of the record that happened to be running.
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        let mut fired = i128::from(self.watermark_ms);
        while let Some((&first, _)) = self.panes.first_key_value() {
            let end = self.spans.next_end(first, fired);
            if end > until {
                break;
            }
            self.emit(end, next, cx);
            self.drop_until(end);
            fired = end;
        }
        self.next_fire_ms = self.next_fire(fired.max(until.min(i128::from(i64::MAX))));
        cx.base().origin = origin;
    }

    /// When the first window ends that ends after `fired` and has records, as far as that is known.
    fn next_fire(&self, fired: i128) -> i64 {
        let first = self.panes.first_key_value();
        let here = first.map_or(i64::MAX, |(&pane, _)| clamp(self.spans.next_end(pane, fired)));
        let Some((unread_ms, _)) = self.unread else { return here };
        // A window that ends later and holds an older pane than this one holds this one too.
        let pane = self.spans.pane(unread_ms.max(clamp(fired)));
        here.min(clamp(self.spans.next_end(pane, fired)))
    }

    /// Gives out the rows of the window that ends at `end`.
    fn emit<C: Context, N>(&self, end: i128, next: &mut N, cx: &mut C)
    where
        P: Pairing<K, Window, A, B>,
        N: Push<Rec<K, P::Out>, C>,
    {
        let ts = clamp(end - 1);
        let span = Window { start: clamp(end - self.spans.size()), end: clamp(end), fired: Fired::Final };
        let panes =
            self.panes.iter().take_while(|(start, _)| i128::from(**start) < end).map(|(_, pane)| pane);
        let mut keys: HashMap<&K, Newest> = HashMap::new();
        let (mut lefts, mut rights): (Linked<'_, K, A>, Linked<'_, K, B>) = (Vec::new(), Vec::new());
        for kept in panes.clone().flat_map(|pane| pane.left.iter()) {
            link(&mut lefts, &mut keys.entry(&kept.key).or_insert(Newest::NONE).left, kept);
        }
        for kept in panes.flat_map(|pane| pane.right.iter()) {
            let newest = match P::KEEPS_RIGHT {
                true => Some(keys.entry(&kept.key).or_insert(Newest::NONE)),
                // One that gives nothing alone needs no place.
                false => keys.get_mut(&kept.key),
            };
            if let Some(newest) = newest {
                link(&mut rights, &mut newest.right, kept);
            }
        }
        let gives = |newest: &Newest| P::KEEPS_LEFT || newest.right != NOWHERE;
        let mut keys: Vec<(&K, Newest)> = keys.into_iter().filter(|(_, newest)| gives(newest)).collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (key, newest) in keys {
            of_key(&lefts, newest.left, &mut left);
            of_key(&rights, newest.right, &mut right);
            let at = At { key, span };
            let mut give = |val| next.push(Rec { ts, key: key.clone(), val }, cx);
            if right.is_empty() {
                left.iter().filter_map(|left| self.pairing.left(at, &left.val)).for_each(&mut give);
            }
            if left.is_empty() {
                right.iter().filter_map(|right| self.pairing.right(at, &right.val)).for_each(&mut give);
            }
            for left in &left {
                right.iter().map(|right| self.pairing.both(at, &left.val, &right.val)).for_each(&mut give);
            }
        }
    }

    /// Drops the panes for which the window that ends at `end` was the last one.
    fn drop_until(&mut self, end: i128) {
        while let Some(oldest) = self.panes.first_entry() {
            if self.spans.last_end(*oldest.key()) > end {
                break;
            }
            let (start, pane) = oldest.remove_entry();
            if pane.saved {
                self.dropped.push(start);
            }
        }
    }

    /// Reads the rows of the panes that begin in front of `until` and are not here yet.
    fn read_until(&mut self, until: i128, cx: &mut Cx) {
        let Some((from_ms, number)) = self.unread else { return };
        let all = until > i128::from(i64::MAX);
        if until <= i128::from(from_ms) {
            return;
        }
        let from = [pane_tag(from_ms), number.to_be_bytes()].concat();
        let to = pane_tag(clamp(until));
        let (panes, own_from) = (&mut self.panes, self.own_from);
        cx.fetch_range(self.id, &from, (!all).then_some(&to), &mut |key, value| {
            put_aside(panes, own_from, key, value)
        });
        self.unread = (!all).then(|| (clamp(until), 0));
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        let Some(mut unread) = self.unread else { return };
        self.cool();
        let (panes, own_from) = (&mut self.panes, self.own_from);
        page.rows(self.id, &mut |key, value| {
            let row = Row::of(key)?;
            // The rows in front are all here, or have fired.
            if (row.pane, row.number) >= unread {
                put_aside(panes, own_from, key, value)?;
                // A page begins where the one before ended, so that no row in front of this one is to come.
                unread = (row.pane, row.number.saturating_add(1));
            }
            Ok(())
        });
        self.unread = Some(unread);
    }

    #[inline(never)]
    fn hear<C: Context, N>(&mut self, message: &mut System<'_>, next: &mut N, cx: &mut C)
    where
        P: Pairing<K, Window, A, B>,
        N: Push<Rec<K, P::Out>, C>,
    {
        match message {
            System::NewSplit(loader) => {
                if let Some((watermark_ms, arrived)) = loader.value(self.id, &self.signature()) {
                    (self.watermark_ms, self.arrived) = (watermark_ms, arrived);
                }
                (self.saved, self.own_from) = (self.arrived, self.arrived);
                let (panes, own_from) = (&mut self.panes, self.own_from);
                let all = loader.rows(self.id, &mut |key, value| put_aside(panes, own_from, key, value));
                self.unread = (!all).then_some((i64::MIN, 0));
                self.next_fire_ms = self.next_fire(i128::from(self.watermark_ms));
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => self.unread = None,
            System::CheckPoint(saver) => self.save(saver),
            System::End => self.fire(i128::MAX, next, cx),
            System::RemoveSplit => {
                self.cool();
                self.panes.clear();
                self.next_fire_ms = i64::MAX;
            }
            System::Drain(effects) => effects.late += std::mem::take(&mut self.late),
            System::Inspect(inquiry) => {
                inquiry.ask_with(self.id, Find::Anywhere, &place::<K>, &record::<A, B>);
            }
            System::Observe(_)
            | System::Tables(_)
            | System::Refresh
            | System::Clock
            | System::Idle
            | System::Active
            | System::Absent
            | System::Ahead(_)
            | System::Reach(_) => {}
            System::Combined(_) => unreachable!("rows come to the aggregate that combines them"),
        }
    }

    fn save(&mut self, saver: &mut Saver<'_>) {
        self.cool();
        let (id, saved) = (self.id, self.saved);
        for start in self.dropped.drain(..) {
            saver.delete_all(id, &pane_tag(start));
        }
        for (&start, pane) in &mut self.panes {
            let Some((left, right)) = pane.new_from() else { continue };
            pane.saved = true;
            // Some of them came from the store.
            for kept in pane.left.from(left).filter(|kept| kept.number >= saved) {
                saver.put(id, &tag(start, kept.number, LEFT), &kept.key, &kept.val);
            }
            for kept in pane.right.from(right).filter(|kept| kept.number >= saved) {
                saver.put(id, &tag(start, kept.number, RIGHT), &kept.key, &kept.val);
            }
        }
        self.saved = self.arrived;
        saver.put_value(id, &self.signature(), &(self.watermark_ms, self.arrived));
    }
}

/// In front of the key in a row's key: pane and number, which sort like numbers, and side.
fn tag(pane: i64, number: u64, side: u8) -> [u8; 17] {
    let mut tag = [side; 17];
    let (start, rest) = tag.split_at_mut(8);
    start.copy_from_slice(&pane_tag(pane));
    rest.iter_mut().zip(number.to_be_bytes()).for_each(|(place, byte)| *place = byte);
    tag
}

/// What [`tag`] says, and the key behind it.
struct Row<'a> {
    pane: i64,
    number: u64,
    side: u8,
    key: &'a [u8],
}

impl<'a> Row<'a> {
    fn of(key: &'a [u8]) -> Result<Self, CodecError> {
        let short = || CodecError::Truncated { at: key.len(), what: "the place of a record" };
        let (pane, rest) = pane_of(key)?;
        let (number, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
        let (side, key) = rest.split_first().ok_or_else(short)?;
        Ok(Row { pane, number: u64::from_be_bytes(*number), side: *side, key })
    }
}

/// Puts a stored row into its pane, unless it is one that came to this machine itself.
fn put_aside<K: Key, A: DeserializeOwned, B: DeserializeOwned>(
    panes: &mut BTreeMap<i64, Pane<K, A, B>>,
    own_from: u64,
    key: &[u8],
    value: &[u8],
) -> Result<(), CodecError> {
    let row = Row::of(key)?;
    if row.number >= own_from {
        return Ok(());
    }
    let pane = panes.entry(row.pane).or_insert_with(Pane::new);
    pane.saved = true;
    let val = match row.side {
        LEFT => Side::Left(codec::from_slice(value)?),
        RIGHT => Side::Right(codec::from_slice(value)?),
        _ => return Err(CodecError::Invalid { at: 16, what: "the side of a join".to_owned() }),
    };
    pane.put(codec::key_from_slice(row.key)?, row.number, val);
    Ok(())
}

impl<K: Key, A: Shuffled, B: Shuffled, P> Operator<Rec<K, Side<A, B>>> for WindowJoin<K, A, B, P>
where
    P: Pairing<K, Window, A, B>,
{
    type Out = Rec<K, P::Out>;

    #[inline]
    fn push<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        record: Rec<K, Side<A, B>>,
        _next: &mut N,
        _cx: &mut C,
    ) {
        drop(self.take(record));
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        if at_ms >= self.next_fire_ms {
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
