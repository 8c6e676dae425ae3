//! `window(session(gap))`: one result per key and run of records that are less than the gap apart.

use std::marker::PhantomData;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::aggregate::Aggregates;
use crate::context::Context;
use crate::effects::Origin;
use crate::key::Key;
use crate::op::late::{LateOperator, Nowhere};
use crate::op::timers::Timers;
use crate::op::window_aggregate::tags::clamp;
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::{Fired, UNTIMED, Window};
use crate::window::Updates;

mod rows;
mod sessions;

use sessions::{NEVER, NOBODY, Place, Session, Sessions};

/// Aggregates the records of each key in each session.
///
/// A session is `[first, last + gap)`. A record joins the sessions that its own span `[t, t + gap)` overlaps; where
/// these are two, they become one, the older one's records in front.
///
/// **State** per session its bounds and an accumulator, dropped when the watermark reaches its end plus the
/// lateness; in the store a second row, by which what is due is found; the watermark. **Time** a session gives its
/// final result when the watermark reaches its end: in order of (end, start, key), each with event time end − 1 ms,
/// in front of the watermark. A record is late, and counted, when it overlaps no session that is kept and the
/// watermark has reached the end of its own span plus the lateness. With `early` and `lateness` as in
/// [`UpdatingAggregate`](super::updating_aggregate::UpdatingAggregate); a result of a session that grew out of one
/// with a final result is an update, and stands for the results of all sessions within its bounds. `End` gives the
/// final results of all open sessions.
#[derive(Debug)]
pub struct SessionAggregate<K, T, A: Aggregates<T>, F> {
    id: OperatorId,
    aggregates: A,
    finish: F,
    gap: i128,
    gap_ms: i64,
    lateness: i128,
    updates: Updates,
    keys: HashMap<K, Sessions<A::State>>,
    /// When to look at which key. A session that goes on does not move its key here: it is looked at too early,
    /// and then again.
    timers: Timers<K>,
    /// Nothing happens before event time reaches this.
    next_ms: i64,
    watermark_ms: i64,
    /// Whether a session may be fresh; known where there are early results.
    fresh: bool,
    late: u64,
    /// Rows in the store of sessions that are gone since the last checkpoint.
    dropped: Vec<(K, Place)>,
    /// What is due behind this may be in the store and not in memory; `None` when all is here.
    unread_ms: Option<i64>,
    _value: PhantomData<fn(T)>,
}

/// A result that is due.
struct Due<K, S> {
    end: i128,
    start_ms: i64,
    key: K,
    fired: Fired,
    state: S,
}

impl<K: Key, T, A: Aggregates<T>, F> SessionAggregate<K, T, A, F> {
    pub(crate) fn new(id: &'static str, gap_ms: i64, updates: Updates, aggregates: A, finish: F) -> Self {
        Self {
            id: OperatorId::new(id),
            aggregates,
            finish,
            gap: i128::from(gap_ms),
            gap_ms,
            lateness: i128::from(updates.lateness_ms),
            updates,
            keys: HashMap::new(),
            timers: Timers::new(gap_ms),
            next_ms: i64::MAX,
            watermark_ms: UNTIMED,
            fresh: false,
            late: 0,
            dropped: Vec::new(),
            unread_ms: None,
            _value: PhantomData,
        }
    }

    fn now(&self) -> i128 {
        i128::from(self.watermark_ms)
    }

    /// The first multiple of `early` behind `after`.
    fn next_early(&self, after: i128) -> Option<i128> {
        let early_ms = i128::from(self.updates.early_ms?);
        Some((after.div_euclid(early_ms) + 1) * early_ms)
    }

    /// When the first key is to be looked at.
    fn first_timer(&mut self) -> Option<i64> {
        let (now, gap, lateness) = (self.now(), self.gap, self.lateness);
        let keys = &mut self.keys;
        self.timers.first(|at_ms, key| {
            let sessions = keys.get_mut(key).filter(|sessions| sessions.armed_ms == at_ms)?;
            // Of several sessions one may have fired since the watermark.
            let due_ms = i64::try_from(sessions.due(now, gap, lateness)).ok().map(|due_ms| due_ms.max(at_ms));
            sessions.armed_ms = due_ms.unwrap_or(NOBODY);
            due_ms
        })
    }

    /// When something happens next, if no record comes.
    fn next(&mut self, after: i128) -> i64 {
        let timer = self.first_timer().map(i128::from);
        let unread = self.unread_ms.map(|unread_ms| after.max(i128::from(unread_ms)) + 1);
        let fresh = self.fresh || self.unread_ms.is_some();
        let early = if fresh { self.next_early(after) } else { None };
        let first = [timer, unread, early].into_iter().flatten().min();
        first.map_or(i64::MAX, clamp)
    }

    /// Makes sure that somebody looks at the key when something of it is due.
    fn arm(&mut self, key: &K, now: i128) {
        let Some(sessions) = self.keys.get_mut(key) else { return };
        if let Some(due_ms) = sessions.arm(now, self.gap, self.lateness) {
            self.timers.push(due_ms, key.clone());
            self.next_ms = self.next_ms.min(due_ms);
        }
    }

    /// Something of what the session holds is in no result.
    fn freshen(&mut self) {
        if self.updates.early_ms.is_some()
            && !self.fresh
            && let Some(early) = self.next_early(self.now())
        {
            self.fresh = true;
            self.next_ms = self.next_ms.min(clamp(early));
        }
    }

    fn give<R, C, N>(&self, due: Due<K, A::State>, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let Due { end, start_ms, key, fired, state } = due;
        let window = Window { start: start_ms, end: clamp(end), fired };
        match self.aggregates.finish(state) {
            Ok(values) => {
                let val = (self.finish)(&key, window, values);
                next.push(Rec { ts: clamp(end - 1), key, val }, cx);
            }
            Err(error) => {
                let error = format!("in the session [{}, {}): {error}", window.start, window.end);
                cx.base().reject_result(self.id.name(), error, serde_json::to_string(&key).ok());
            }
        }
    }

    fn give_all<R, C, N>(&self, mut due: Vec<Due<K, A::State>>, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        due.sort_unstable_by(|a, b| (a.end, a.start_ms, &a.key).cmp(&(b.end, b.start_ms, &b.key)));
        for due in due {
            self.give(due, next, cx);
        }
    }

    /// Event time goes from the watermark to `until`, or the input ends.
    #[inline(never)]
    fn pass<R, C, N>(&mut self, until: Option<i64>, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        let (mut from, to) = (self.now(), until.map_or(NEVER, i128::from));
        let early = self.next_early(from).filter(|early| until.is_some() && *early <= to);
        // A fresh session may lie anywhere.
        self.read_until(if early.is_some() { NEVER } else { to }, cx.base());
        // What fails behind a firing is no fault of the record that happened to be running.
        let origin = std::mem::replace(&mut cx.base().origin, Origin::None);
        if let Some(early) = early {
            let due = self.finals(from, early);
            self.give_all(due, next, cx);
            // Behind this multiple nothing is fresh, so that the ones behind it give nothing.
            let due = self.early();
            self.give_all(due, next, cx);
            from = early;
        }
        let due = match until {
            Some(_) => self.finals(from, to),
            None => self.last(),
        };
        self.give_all(due, next, cx);
        // The end of the input leaves nothing, and event time where it is.
        self.fresh &= until.is_some();
        self.next_ms = self.next(until.map_or(self.now(), i128::from));
        cx.base().origin = origin;
    }

    /// The results of sessions that end behind `from` and not behind `to`; drops what is over for the lateness.
    fn finals(&mut self, from: i128, to: i128) -> Vec<Due<K, A::State>> {
        let mut due = Vec::new();
        while self.first_timer().is_some_and(|at_ms| i128::from(at_ms) <= to) {
            let Some((at_ms, key)) = self.timers.pop() else { break };
            let (gap, lateness, discarding) = (self.gap, self.lateness, self.updates.discarding);
            let (aggregates, dropped) = (&self.aggregates, &mut self.dropped);
            let Entry::Occupied(mut found) = self.keys.entry(key) else { continue };
            if found.get().armed_ms != at_ms {
                continue;
            }
            let key = found.key().clone();
            let sessions = found.get_mut();
            sessions.list.retain(|session| {
                let end = session.end(gap);
                let keep = end.saturating_add(lateness) > to;
                if end > from && end <= to {
                    if session.fresh || !discarding {
                        let fired = if session.fired { Fired::Update } else { Fired::Final };
                        let state = match discarding || !keep {
                            true => std::mem::replace(&mut session.state, aggregates.init()),
                            false => session.state.clone(),
                        };
                        due.push(Due { end, start_ms: session.start_ms, key: key.clone(), fired, state });
                    }
                    (session.fresh, session.fired, session.changed) = (false, true, true);
                }
                if !keep {
                    dropped.extend(session.saved_at().map(|place| (key.clone(), place)));
                }
                keep
            });
            sessions.armed_ms = NOBODY;
            if sessions.list.is_empty() {
                found.remove();
            } else if let Some(due_ms) = sessions.arm(to, gap, lateness) {
                self.timers.push(due_ms, key);
                self.next_ms = self.next_ms.min(due_ms);
            }
        }
        due
    }

    /// The results of all open sessions; drops everything.
    fn last(&mut self) -> Vec<Due<K, A::State>> {
        let (now, gap, discarding) = (self.now(), self.gap, self.updates.discarding);
        let mut due = Vec::with_capacity(self.keys.len());
        for (key, sessions) in self.keys.drain() {
            for session in sessions.list {
                self.dropped.extend(session.saved_at().map(|place| (key.clone(), place)));
                let end = session.end(gap);
                if end > now && (session.fresh || !discarding) {
                    let fired = if session.fired { Fired::Update } else { Fired::Final };
                    let (key, start_ms, state) = (key.clone(), session.start_ms, session.state);
                    due.push(Due { end, start_ms, key, fired, state });
                }
            }
        }
        self.timers.clear();
        due
    }

    /// The results of open sessions that have something fresh.
    fn early(&mut self) -> Vec<Due<K, A::State>> {
        let mut due = Vec::new();
        self.fresh = false;
        for (key, sessions) in &mut self.keys {
            for session in sessions.list.iter_mut().filter(|session| session.fresh) {
                let end = session.end(self.gap);
                let state = match self.updates.discarding {
                    true => std::mem::replace(&mut session.state, self.aggregates.init()),
                    false => session.state.clone(),
                };
                (session.fresh, session.changed) = (false, true);
                let (key, start_ms) = (key.clone(), session.start_ms);
                due.push(Due { end, start_ms, key, fired: Fired::Early, state });
            }
        }
        due
    }

    #[inline(always)]
    fn take<R, C, L, N>(&mut self, record: Rec<K, T>, late: &mut L, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        L: Push<Rec<K, T>, C>,
        N: Push<Rec<K, R>, C>,
    {
        // Almost every record goes on with the one open session of its key, behind its beginning.
        if let Some(sessions) = self.keys.get_mut(&record.key)
            && let [session] = sessions.list.as_mut_slice()
            && session.goes_on(record.ts, self.watermark_ms, self.gap_ms)
            && (sessions.whole || self.unread_ms.is_none())
        {
            session.last_ms = session.last_ms.max(record.ts);
            self.aggregates.add(&mut session.state, &record.val);
            (session.fresh, session.changed) = (true, true);
            return self.freshen();
        }
        self.join(record, late, next, cx);
    }

    /// A record that begins a session, joins several, or comes for one that is over.
    #[inline(never)]
    fn join<R, C, L, N>(&mut self, record: Rec<K, T>, late: &mut L, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        L: Push<Rec<K, T>, C>,
        N: Push<Rec<K, R>, C>,
    {
        let (now, gap, at_ms) = (self.now(), self.gap, record.ts);
        self.gather(&record.key, cx.base());
        let found = self.keys.entry(record.key.clone());
        let around = match &found {
            Entry::Occupied(known) => known.get().around(at_ms, gap),
            Entry::Vacant(_) => 0..0,
        };
        if around.is_empty() && i128::from(at_ms) + gap + self.lateness <= now {
            self.late += 1;
            return late.push(record, cx);
        }
        let Rec { key, val, .. } = record;
        let sessions = found.or_insert_with(Sessions::new);
        if around.is_empty() {
            sessions.list.insert(around.start, Session::new(at_ms, self.aggregates.init()));
        }
        let others = around.start + 1;
        // Mostly none, for which nothing is allocated.
        let younger: Vec<_> = sessions.list.drain(others..around.end.max(others)).collect();
        let Some(session) = sessions.list.get_mut(around.start) else { return };
        // The older one's records stand in front of the younger one's, and the new one behind both.
        for part in younger {
            self.dropped.extend(part.saved_at().map(|place| (key.clone(), place)));
            session.last_ms = session.last_ms.max(part.last_ms);
            session.fired |= part.fired;
            self.aggregates.merge(&mut session.state, part.state);
        }
        if at_ms < session.start_ms {
            // Its rows are found by its start.
            self.dropped.extend(session.saved_at().map(|place| (key.clone(), place)));
            (session.saved, session.start_ms) = (false, at_ms);
        }
        session.last_ms = session.last_ms.max(at_ms);
        self.aggregates.add(&mut session.state, &val);
        (session.fresh, session.changed) = (true, true);
        let end = session.end(gap);
        let mut due = None;
        if end <= now {
            let fired = if session.fired { Fired::Update } else { Fired::Final };
            let state = match self.updates.discarding {
                true => std::mem::replace(&mut session.state, self.aggregates.init()),
                false => session.state.clone(),
            };
            (session.fresh, session.fired) = (false, true);
            due = Some(Due { end, start_ms: session.start_ms, key: key.clone(), fired, state });
        }
        if let Some(due_ms) = sessions.arm(now, gap, self.lateness) {
            self.next_ms = self.next_ms.min(due_ms);
            self.timers.push(due_ms, key);
        }
        match due {
            Some(due) => self.give(due, next, cx),
            None => self.freshen(),
        }
    }

    #[inline(always)]
    fn advance<R, C, N>(&mut self, at_ms: i64, next: &mut N, cx: &mut C)
    where
        F: Fn(&K, Window, A::Out) -> R,
        C: Context,
        N: Push<Rec<K, R>, C>,
    {
        if at_ms >= self.next_ms {
            self.pass(Some(at_ms), next, cx);
        }
        self.watermark_ms = at_ms;
        next.watermark(at_ms, cx);
    }
}

impl<K: Key, T, A, F, R> Operator<Rec<K, T>> for SessionAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    type Out = Rec<K, R>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        self.take(record, &mut Nowhere, next, cx);
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        self.advance(at_ms, next, cx);
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        if matches!(message, System::End) {
            self.pass(None, next, cx);
        } else {
            self.hear(message);
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = OperatorId::new(id);
    }
}

impl<K: Key, T, A, F, R> LateOperator<Rec<K, T>> for SessionAggregate<K, T, A, F>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
{
    #[inline(always)]
    fn push_late<C, L, N>(&mut self, record: Rec<K, T>, late: &mut L, next: &mut N, cx: &mut C)
    where
        C: Context,
        L: Push<Rec<K, T>, C>,
        N: Push<Rec<K, R>, C>,
    {
        self.take(record, late, next, cx);
    }
}
