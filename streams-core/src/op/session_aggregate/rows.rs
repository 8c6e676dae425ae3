//! The rows of sessions: `s` key start → the session, and `e` due start key → nothing, by which a firing finds
//! the keys that it concerns.

use crate::aggregate::{Aggregates, type_name};
use crate::codec;
use crate::context::Cx;
use crate::error::CodecError;
use crate::inspect::{self, Find};
use crate::key::Key;
use crate::op::window_aggregate::tags::{ahead, clamp, pane_tag};
use crate::push::System;
use crate::state::{Page, Saver};

use super::SessionAggregate;
use super::sessions::{Place, Session, Sessions};

const SESSION: u8 = b's';
const DUE: u8 = b'e';

impl<K: Key, T, A: Aggregates<T>, F> SessionAggregate<K, T, A, F> {
    /// What the state is a state of. Another lateness and other early results go on with it.
    fn signature(&self) -> String {
        let discarding = if self.updates.discarding { " since the last result" } else { "" };
        let (gap, by) = (self.gap, type_name::<K>());
        format!("sessions with a gap of {gap} ms{discarding} of ({}) by {by}", A::signature())
    }

    /// Reads what is due up to `until` and not here yet.
    pub(super) fn read_until(&mut self, until: i128, cx: &mut Cx) {
        let Some(unread_ms) = self.unread_ms else { return };
        if until <= i128::from(unread_ms) {
            return;
        }
        let until = until.saturating_add(ahead(self.gap + self.lateness));
        let all = until >= i128::from(i64::MAX);
        let from = [&[DUE][..], &pane_tag(unread_ms)].concat();
        let to = match all {
            true => vec![DUE + 1],
            false => [&[DUE][..], &pane_tag(clamp(until + 1))].concat(),
        };
        let mut keys: Vec<K> = Vec::new();
        cx.fetch_range(self.id, &from, Some(&to), &mut |row, _| {
            // One byte, the time and the start stand in front of the key.
            let key =
                row.get(17..).ok_or(CodecError::Truncated { at: row.len(), what: "a session's end" })?;
            keys.push(codec::key_from_slice(key)?);
            Ok(())
        });
        for key in keys {
            self.gather(&key, cx);
        }
        self.unread_ms = (!all).then(|| clamp(until));
    }

    /// Reads the sessions of a key, unless they are here.
    pub(super) fn gather(&mut self, key: &K, cx: &mut Cx) {
        if self.unread_ms.is_none() || self.keys.get(key).is_some_and(|sessions| sessions.whole) {
            return;
        }
        let mut sessions = Sessions::new();
        let (now, gap, lateness) = (self.now(), self.gap, self.lateness);
        let dropped = &mut self.dropped;
        cx.fetch_under(self.id, &[SESSION], key, &mut |_, value| {
            let session: Session<A::State> = codec::from_slice(value)?;
            match session.is_over(now, gap, lateness) {
                true => dropped.push((key.clone(), session.place())),
                false => sessions.put(session),
            }
            Ok(())
        });
        // What came in pages is a part of this.
        self.keys.remove(key);
        if !sessions.list.is_empty() {
            self.fresh |= sessions.list.iter().any(|session| session.fresh);
            self.keys.insert(key.clone(), sessions);
            self.arm(key, now);
        }
    }

    /// Takes the rows of a page that are not here.
    fn turn_page(&mut self, page: &mut Page<'_>) {
        if self.unread_ms.is_none() {
            return;
        }
        let mut touched: Vec<K> = Vec::new();
        let (now, gap, lateness) = (self.now(), self.gap, self.lateness);
        let (keys, dropped) = (&mut self.keys, &mut self.dropped);
        page.rows(self.id, &mut |row, value| {
            let Some((key, session)) = stored::<K, A::State>(row, value)? else { return Ok(()) };
            if session.is_over(now, gap, lateness) {
                dropped.push((key, session.place()));
                return Ok(());
            }
            let sessions =
                keys.entry(key.clone()).or_insert_with(|| Sessions { whole: false, ..Sessions::new() });
            if !sessions.whole {
                sessions.put(session);
                touched.push(key);
            }
            Ok(())
        });
        self.loaded(touched);
    }

    /// Looks at keys whose sessions have come from the store.
    fn loaded(&mut self, keys: Vec<K>) {
        let now = self.now();
        for key in keys {
            let sessions = self.keys.get(&key);
            self.fresh |= sessions.is_some_and(|found| found.list.iter().any(|session| session.fresh));
            self.arm(&key, now);
        }
        self.next_ms = self.next(now);
    }

    /// Everything but the end of the input.
    pub(super) fn hear(&mut self, message: &mut System<'_>) {
        match message {
            System::NewSplit(loader) => {
                if let Some(watermark_ms) = loader.value(self.id, &self.signature()) {
                    self.watermark_ms = watermark_ms;
                }
                let mut touched: Vec<K> = Vec::new();
                let keys = &mut self.keys;
                let all = loader.rows(self.id, &mut |row, value| {
                    if let Some((key, session)) = stored::<K, A::State>(row, value)? {
                        keys.entry(key.clone()).or_insert_with(Sessions::new).put(session);
                        touched.push(key);
                    }
                    Ok(())
                });
                self.unread_ms = (!all).then_some(i64::MIN);
                self.loaded(touched);
            }
            System::Page(page) => self.turn_page(page),
            System::Loaded => {
                self.unread_ms = None;
                self.next_ms = self.next(self.now());
            }
            System::CheckPoint(saver) => self.save(saver),
            System::RemoveSplit => {
                self.keys.clear();
                self.timers.clear();
                self.next_ms = i64::MAX;
            }
            System::Drain(effects) => effects.late += std::mem::take(&mut self.late),
            System::Inspect(inquiry) => {
                inquiry.ask::<K, Session<A::State>>(self.id, Find::Under(&[SESSION]), &shown_at);
            }
            System::End
            | System::Observe(_)
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
        let (id, now, gap, lateness) = (self.id, self.now(), self.gap, self.lateness);
        for (key, place) in self.dropped.drain(..) {
            saver.delete_at(id, &|row| session_row(&key, place, row));
            saver.delete_at(id, &|row| due_row(&key, place, row));
        }
        for (key, sessions) in &mut self.keys {
            for session in sessions.list.iter_mut().filter(|session| session.changed) {
                let old = session.saved_at();
                session.due_ms = clamp(session.due(now, gap, lateness));
                let place = session.place();
                if let Some(old) = old.filter(|old| *old != place) {
                    saver.delete_at(id, &|row| due_row(key, old, row));
                }
                if old != Some(place) {
                    saver.put_at(id, &|row| due_row(key, place, row), &());
                }
                saver.put_at(id, &|row| session_row(key, place, row), &*session);
                (session.saved, session.changed) = (true, false);
            }
        }
        saver.put_value(id, &self.signature(), &self.watermark_ms);
    }
}

fn session_row<K: Key>(key: &K, place: Place, row: &mut Vec<u8>) -> Result<(), CodecError> {
    row.push(SESSION);
    codec::key_to_vec(key, row)?;
    row.extend_from_slice(&pane_tag(place.start_ms));
    Ok(())
}

fn due_row<K: Key>(key: &K, place: Place, row: &mut Vec<u8>) -> Result<(), CodecError> {
    row.push(DUE);
    row.extend_from_slice(&pane_tag(place.due_ms));
    row.extend_from_slice(&pane_tag(place.start_ms));
    codec::key_to_vec(key, row)
}

/// What the key of a session's row says.
fn shown_at<K: Key>(row: &[u8]) -> Result<Option<inspect::Place<K>>, CodecError> {
    let short = || CodecError::Truncated { at: row.len(), what: "the start of a session" };
    let (key, _) = row.get(1..).and_then(<[u8]>::split_last_chunk::<8>).ok_or_else(short)?;
    // The session itself says when it began.
    codec::key_from_slice(key).map(|key| Some(inspect::Place::only(key)))
}

/// The session of a row; `None` where the row only says when it is due.
fn stored<K: Key, S: serde::de::DeserializeOwned>(
    row: &[u8],
    value: &[u8],
) -> Result<Option<(K, Session<S>)>, CodecError> {
    let Some((&SESSION, rest)) = row.split_first() else { return Ok(None) };
    let (key, _) = rest
        .split_last_chunk::<8>()
        .ok_or(CodecError::Truncated { at: row.len(), what: "the start of a session" })?;
    Ok(Some((codec::key_from_slice(key)?, codec::from_slice(value)?)))
}
