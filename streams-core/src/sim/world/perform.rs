//! Actions take effect at the log and the store, and answers arrive.

use super::{Answer, Landing, Op, Rows, Slot, Transaction, World};
use crate::bug::{Bug, planted};
use crate::protocol::frame::Frame;
use crate::protocol::ids::{Target, Token, Topic};
use crate::protocol::snapshot::Snapshot;
use crate::protocol::worker::{Action, CommitOutcome, Event, Failed, Found, Local, LocalDone, Poll};
use crate::sim::plan::Fault;

impl World<'_> {
    /// Whether the store answers.
    fn store_is_away(&self) -> bool {
        self.step < self.store_away_until
    }

    /// Rows that are read too early, where that bug is planted.
    pub(super) fn early_rows(&self, split: usize, action: &Action) -> Option<Box<Rows>> {
        let raises = matches!(action, Action::Raise { .. });
        (raises && planted(Bug::ReadBeforeRaise))
            .then(|| self.rows.get(split).map(|row| Box::new(row.rows())))
            .flatten()
    }

    /// Lets an action take effect.
    pub(super) fn perform(&mut self, op: Op) {
        let Op { worker, split, instance, action, early, .. } = op;
        let kind = format_kind(&action);
        self.note(5 + kind.0, u64::from(worker) << 16 | split as u64, || {
            format!("w{worker}: {} takes effect", kind.1)
        });
        self.log.away = self.step < self.log_away_until;
        let answer = match action {
            Action::Raise { .. } if self.store_is_away() => Answer::Failed(Failed::Raise),
            Action::Raise { fingerprint } => {
                if let Some(early) = early {
                    self.early.insert(worker, early);
                }
                let changes = self.row(split).changes_code(fingerprint);
                // Other code comes when the members that ran the old one on this split are known to be gone.
                if changes && self.is_haunted(worker, split) {
                    self.answers.push((worker, Answer::Refused));
                    return;
                }
                let raised = self.row(split).raise(fingerprint, split as u64);
                if changes && raised.is_some() {
                    self.check_clean(split);
                }
                let step = self.step;
                if let Some(slot) = self.slots.get_mut(&worker) {
                    slot.raised_at = step;
                }
                raised.map_or(Answer::Refused, Answer::Raised)
            }
            Action::Read { .. } if self.store_is_away() => Answer::Failed(Failed::Read),
            Action::Read { token } => {
                let row = self.row(split);
                Answer::Row(row.snapshot.clone().map(|snapshot| (token, row.version, snapshot)))
            }
            Action::Resolve { .. } if self.log.away => Answer::Failed(Failed::Resolve),
            Action::Resolve { original } => {
                let queue = self.log.queue(self.place_of(split).place);
                Answer::Resolved(if original && self.plan.shape.latest { queue.end() } else { queue.min })
            }
            Action::Load { .. } if self.store_is_away() => Answer::Failed(Failed::Load),
            Action::Load { token } => self.load(worker, split, token),
            Action::Page { .. } if self.store_is_away() => Answer::Failed(Failed::Page),
            Action::Page { token, after } => self.page(worker, split, token, &after),
            Action::Local(step) => self.local(split, instance, step),
            Action::Poll { .. } if self.log.away => Answer::Failed(Failed::Poll),
            Action::Poll { offset } => self.poll(worker, split, offset),
            Action::Send { target, frame } => {
                self.stray(worker, split);
                self.send(target, frame)
            }
            Action::Tail { target, .. } if self.log.away => Answer::Failed(Failed::Tail(target)),
            Action::Tail { target, from, .. } => {
                Answer::Tailed { target, last: self.tail(split, target, from) }
            }
            Action::Commit { token, version, snapshot, delta, results, clean } => {
                let encoded = snapshot.encode().unwrap_or_default();
                let transaction = Transaction { token, version, snapshot: encoded, delta, results, clean };
                Answer::Committed(self.commit(worker, split, transaction, snapshot))
            }
            // The open transaction has written nothing that anybody sees.
            Action::Rollback => Answer::Committed(CommitOutcome::RolledBack),
            Action::Observe if self.store_is_away() => Answer::Failed(Failed::Observe),
            Action::Observe => {
                let row = self.row(split);
                // A failover may have undone the first raise of all; nobody has that token.
                let token = row.token().unwrap_or(Token { epoch: 0, nonce: 0 });
                Answer::Observed { token, version: row.version }
            }
            Action::Report { .. } | Action::Reject(_) | Action::Stop(_) => return,
        };
        self.answers.push((worker, answer));
    }

    /// Whether somebody else may still send something for this split.
    fn is_haunted(&self, worker: u32, split: usize) -> bool {
        let who = self.place_of(split).split;
        let sends = |op: &Op| op.split == split && matches!(op.action, Action::Send { .. });
        let lands = |l: &Landing| matches!(l, Landing::Send { frame, .. } if frame.sender == who);
        self.slots.iter().any(|(other, slot)| *other != worker && slot.split == split)
            || self.ops.iter().any(sends)
            || self.landings.iter().any(lands)
            || self.strays.get(split).is_some_and(|(strayed, since)| strayed >= since)
    }

    /// Notes a message of somebody who does not own the split any more.
    fn stray(&mut self, worker: u32, split: usize) {
        let token = self.slots.get(&worker).and_then(|slot| slot.token);
        let owns = token.is_some() && self.rows.get(split).is_some_and(|row| row.token() == token);
        let step = self.step;
        if !owns && let Some((strayed, _)) = self.strays.get_mut(split) {
            *strayed = step;
        }
    }

    fn poll(&mut self, worker: u32, split: usize, offset: u64) -> Answer {
        let tiny = self.budget.is_some();
        let n = if tiny { 2 } else { 1 + self.random.below(8) };
        let fresh = tiny || !self.random.percent(10);
        let lag = if fresh { 0 } else { self.random.below(4) as u64 };
        let place = self.place_of(split).place;
        let queue = self.log.queue(place);
        let max = queue.end().saturating_sub(lag).max(queue.min);
        let n = n.min(max.saturating_sub(offset) as usize);
        let n = if offset < queue.min { 0 } else { n };
        let (min, before) = (queue.min, queue.before(offset));
        let closed = queue.closed && fresh;
        let read_to = self.read_to.entry(place).or_default();
        *read_to = (offset + n as u64).max(*read_to);
        // A stale answer says nothing.
        if let Some(slot) = self.slots.get_mut(&worker).filter(|_| fresh) {
            let next = offset + n as u64;
            let at_end = next == max;
            slot.looks = match slot.looks {
                (there, looks) if at_end && there == next => (there, looks + 1),
                _ => (next, u32::from(at_end)),
            };
        }
        Answer::Polled { from: offset, n, min, max, before, closed, fresh }
    }

    fn send(&mut self, target: Target, frame: Frame) -> Answer {
        let armed = self.disarm(|fault| matches!(fault, Fault::AckLost | Fault::SendLost | Fault::SendLate));
        if armed.is_some() || self.log.away {
            self.doubtful.insert(frame.sender);
        }
        let offset = match armed {
            _ if self.log.away => None,
            None => Some(self.append(target, frame)),
            Some(Fault::AckLost) => {
                self.append(target, frame);
                None
            }
            Some(Fault::SendLate) => {
                self.landings.push(Landing::Send { target, frame });
                None
            }
            Some(_) => None,
        };
        Answer::Sent { target, offset: offset.flatten() }
    }

    /// Stores a frame; `None` where there is no such queue.
    pub(super) fn append(&mut self, target: Target, frame: Frame) -> Option<u64> {
        let place = self.log.place(target)?;
        self.check_stored(place, target, &frame);
        let body = frame.encode().unwrap_or_default();
        Some(self.log.append(place, i64::from(self.step), body, Some(frame)))
    }

    fn tail(&self, split: usize, target: Target, from: u64) -> u64 {
        let sender = self.place_of(split).split;
        if planted(Bug::OneNumberPerSplit) {
            let queues = self.log.outputs();
            return queues.map(|(_, queue)| queue.highest(sender, super::INCARNATION, 0)).max().unwrap_or(0);
        }
        let place = self.log.place(target);
        place.map_or(0, |place| self.log.queue(place).highest(sender, super::INCARNATION, from))
    }

    fn commit(
        &mut self,
        worker: u32,
        split: usize,
        transaction: Transaction,
        snapshot: Box<Snapshot>,
    ) -> CommitOutcome {
        if self.store_is_away() {
            return CommitOutcome::Unknown;
        }
        let armed = self.disarm(|fault| {
            use Fault::{CommitAckLost, CommitLate, CommitLost, StatementFails};
            matches!(fault, CommitAckLost | CommitLate | CommitLost | StatementFails)
        });
        match armed {
            Some(Fault::CommitLost) => CommitOutcome::Unknown,
            Some(Fault::CommitLate) => {
                self.landings.push(Landing::Commit { worker, split, transaction, snapshot });
                CommitOutcome::Unknown
            }
            Some(Fault::StatementFails) => {
                if planted(Bug::HalfDelta) && self.row(split).matches(&transaction) {
                    let half = transaction.delta.len() / 2;
                    self.write(worker, split, &transaction, &snapshot, half);
                    return CommitOutcome::Done;
                }
                CommitOutcome::StatementFailed
            }
            armed => {
                let matches = self.row(split).matches(&transaction);
                if matches {
                    self.write(worker, split, &transaction, &snapshot, usize::MAX);
                }
                match armed {
                    Some(_) => CommitOutcome::Unknown,
                    None if matches => CommitOutcome::Done,
                    None => CommitOutcome::Fenced,
                }
            }
        }
    }

    /// Something that was under way arrives after all.
    pub(super) fn land(&mut self) {
        let at = self.random.below(self.landings.len());
        self.land_at(at);
    }

    pub(super) fn land_at(&mut self, at: usize) {
        if at >= self.landings.len() {
            return;
        }
        match self.landings.swap_remove(at) {
            Landing::Send { target, frame } => {
                if let Some(&split) = self.index.get(&frame.sender) {
                    self.stray(u32::MAX, split);
                }
                self.note(30, frame.first, || format!("a late message of {:?} arrives", frame.sender));
                self.append(target, frame);
            }
            Landing::Commit { worker, split, transaction, snapshot } => {
                self.note(31, split as u64, || format!("a late commit of w{worker} is done, if it may"));
                if self.row(split).matches(&transaction) {
                    self.write(worker, split, &transaction, &snapshot, usize::MAX);
                }
            }
        }
    }

    fn disarm(&mut self, of: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let at = self.armed.iter().position(of)?;
        Some(self.armed.remove(at))
    }

    /// Lets an answer arrive.
    pub(super) fn answer(&mut self, worker: u32, answer: Answer) {
        if !self.slots.contains_key(&worker) {
            return;
        }
        self.note(40, u64::from(worker), || format!("w{worker} hears: {}", format_answer(&answer)));
        match answer {
            Answer::Raised(token) => {
                if let Some(slot) = self.slots.get_mut(&worker) {
                    slot.token = Some(token);
                }
                self.tell(worker, Event::Raised(token));
            }
            Answer::Refused => self.tell(worker, Event::Refused),
            Answer::Row(None) => self.tell(worker, Event::Row(None)),
            Answer::Row(Some((token, version, bytes))) => match Snapshot::decode(&bytes) {
                Ok(mut snapshot) => {
                    let split = self.slots.get(&worker).map_or(0, |slot| slot.split);
                    if planted(Bug::FencedReports) {
                        let reported = self.reported.get(split).copied().unwrap_or(0);
                        snapshot.offset = reported.max(snapshot.offset);
                    }
                    self.tell(worker, Event::Row(Some(Found::by_epoch(version, snapshot, token.epoch))));
                }
                Err(error) => self.fail("I4", format!("a snapshot cannot be read: {error}")),
            },
            Answer::Resolved(offset) => self.tell(worker, Event::Resolved(offset)),
            Answer::Loaded(backing) => self.tell(worker, Event::Loaded(backing)),
            Answer::Paged(rows, more) => self.tell(worker, Event::Paged { rows: &rows, more }),
            Answer::Fenced => self.tell(worker, Event::Fenced),
            Answer::Marks(marks) => self.tell(worker, Event::Local(LocalDone::Marks(marks))),
            Answer::Copied => self.copied(worker),
            Answer::LocalDone => self.tell(worker, Event::Local(LocalDone::Done)),
            Answer::Polled { .. } => self.polled(worker, &answer),
            Answer::Sent { target, offset } => {
                self.tell(worker, Event::Sent { target, offset });
            }
            Answer::Tailed { target, last } => {
                self.tell(worker, Event::Tailed { target, last });
            }
            Answer::Committed(outcome) => self.tell(worker, Event::Committed(outcome)),
            Answer::Observed { token, version } => {
                let mut token = token;
                if planted(Bug::NoNonce)
                    && let Some(own) = self.slots.get(&worker).and_then(|slot| slot.token)
                    && own.epoch == token.epoch
                {
                    token = own;
                }
                self.tell(worker, Event::Observed { token, version });
            }
            Answer::Failed(failed) => self.tell(worker, Event::Failed(failed)),
        }
    }

    fn polled(&mut self, worker: u32, answer: &Answer) {
        let Answer::Polled { from, n, min, max, before, closed, fresh } = *answer else { return };
        let tick = self.tick();
        let Some(&Slot { split, instance: own, .. }) = self.slots.get(&worker) else { return };
        let place = self.place_of(split).place;
        let mut actions = std::mem::take(&mut self.actions);
        let messages = self.log.queue(place).from(from, n);
        if let Some(slot) = self.slots.get_mut(&worker)
            && let Some(instance) = self.instances.get_mut(slot.instance)
        {
            instance.clock_ms += tick;
            let clock_ms = i64::try_from(instance.clock_ms).unwrap_or(i64::MAX);
            let poll = Poll { messages, min, max, before, closed, fresh, clock_ms };
            slot.worker.step(Event::Polled(poll), instance.clock_ms, &mut actions);
        }
        self.enqueue(worker, split, own, &mut actions);
        self.actions = actions;
    }
}

fn format_kind(action: &Action) -> (u64, &'static str) {
    match action {
        Action::Raise { .. } => (0, "raise"),
        Action::Read { .. } => (1, "read"),
        Action::Resolve { .. } => (2, "resolve"),
        Action::Load { .. } => (3, "load"),
        Action::Page { .. } => (13, "page"),
        Action::Local(Local::Marks) => (14, "local marks"),
        Action::Local(Local::Rows) => (15, "local rows"),
        Action::Local(Local::Prepare { .. }) => (16, "local prepare"),
        Action::Local(Local::Promote { .. }) => (17, "local promote"),
        Action::Local(Local::Discard { .. }) => (18, "local discard"),
        Action::Local(Local::Save { .. }) => (19, "local save"),
        Action::Local(Local::Forget) => (20, "local forget"),
        Action::Poll { .. } => (4, "poll"),
        Action::Send { target: Target { topic: Topic::Of(_), .. }, .. } => (5, "send to a shuffle"),
        Action::Send { .. } => (6, "send to an output"),
        Action::Tail { .. } => (7, "tail"),
        Action::Commit { .. } => (8, "commit"),
        Action::Rollback => (9, "roll back"),
        Action::Observe => (10, "observe"),
        Action::Report { .. } => (11, "report"),
        Action::Reject(_) => (21, "reject"),
        Action::Stop(_) => (12, "stop"),
    }
}

fn format_answer(answer: &Answer) -> String {
    match answer {
        Answer::Raised(token) => format!("raised to {}", token.epoch),
        Answer::Refused => "refused".to_owned(),
        Answer::Row(None) => "no row".to_owned(),
        Answer::Row(Some((_, version, _))) => format!("row of version {version}"),
        Answer::Resolved(offset) => format!("begin at {offset}"),
        Answer::Loaded(_) => "the rows can be read".to_owned(),
        Answer::Paged(rows, more) => format!("{} rows, {}", rows.len(), if *more { "more" } else { "all" }),
        Answer::Fenced => "fenced".to_owned(),
        Answer::Marks(marks) => format!("{marks:?}"),
        Answer::Copied => "local rows".to_owned(),
        Answer::LocalDone => "done locally".to_owned(),
        Answer::Polled { from, n, max, closed, fresh, .. } => {
            let words = [if *closed { ", closed" } else { "" }, if *fresh { "" } else { ", stale" }].concat();
            format!("{n} messages from {from}, end {max}{words}")
        }
        Answer::Sent { target, offset } => format!("sent to {target:?}: {offset:?}"),
        Answer::Tailed { target, last } => format!("{last} is the last in {target:?}"),
        Answer::Committed(outcome) => format!("commit: {outcome:?}"),
        Answer::Observed { token, version } => format!("epoch {}, version {version}", token.epoch),
        Answer::Failed(failed) => format!("failed: {failed:?}"),
    }
}
