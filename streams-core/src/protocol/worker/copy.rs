//! The split's rows: read in the background while the machine runs on them, and copied into the local store.
//!
//! Three things change them, one at a time: a page that was read, a commit, and its promotion in the local copy. So
//! a page is never older than the last commit, and what lies in the local copy in front of the cursor is always the
//! whole of a commit. What a page has and the machine has changed since is for the operators to decide: theirs is
//! newer.

use super::{Action, Local, LocalDone, Phase, RowsIn, Stop, Worker, rows_of};
use crate::bug::{Bug, planted};
use crate::error::StateError;
use crate::store::Delta;
use crate::store::backing::{Backing, Row};
use crate::store::local::{CommitId, Load, Marks};

/// How far the rows are here.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The commit that the remote rows are of.
    pub(super) id: Option<CommitId>,
    /// Rows behind this key have not been read yet; `None` when all are here.
    pub(super) cursor: Option<Vec<u8>>,
    pub(super) busy: Busy,
    /// The local store knows that its copy has only begun.
    begun: bool,
    /// Only where a bug is planted: rows that are in the local store and in no commit.
    spilled: Delta,
}

/// What the rows wait for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    #[default]
    No,
    /// A page is being read.
    Paging,
    /// A page is being copied.
    Saving,
    /// The next commit is being written locally.
    Preparing,
    /// The last commit is being made visible locally.
    Promoting,
}

impl Worker {
    /// Whether the instance keeps a copy of the remote rows.
    pub(super) fn is_copied(&self) -> bool {
        self.role.rows_in == RowsIn::RemoteAndCopy
    }

    /// The row names a commit: is the local copy one of it?
    pub(super) fn find_rows(&mut self, id: Option<CommitId>, actions: &mut Vec<Action>) {
        self.rows.id = id;
        self.rows.cursor = Some(Vec::new());
        // A row of unknown origin has no copy.
        if id.is_none() && self.is_copied() {
            self.role.rows_in = RowsIn::Remote;
        }
        match self.role.rows_in {
            RowsIn::Remote => self.load(actions),
            RowsIn::RemoteAndCopy => {
                self.phase = Phase::Comparing;
                actions.push(Action::Local(Local::Marks));
            }
            RowsIn::Local => {
                self.rows.cursor = None;
                self.use_copy(actions);
            }
        }
    }

    fn load(&mut self, actions: &mut Vec<Action>) {
        self.phase = Phase::Loading;
        actions.push(Action::Load { token: self.token });
    }

    /// Rule 16: the remote store is the truth. A pending commit that it has was made, one that it does not have
    /// was not, and a copy of another commit is none.
    fn compare(&mut self, marks: Marks, actions: &mut Vec<Action>) {
        let Marks { committed, pending, load } = marks;
        let truth = self.rows.id;
        self.rows.cursor = match load {
            Load::Cursor(cursor) if !planted(Bug::HalfLoaded) => Some(cursor),
            _ => None,
        };
        self.phase = Phase::Settling;
        self.rows.begun = true;
        let step = match (pending, committed) {
            (Some(id), _) if pending == truth || planted(Bug::LocalAhead) => Local::Promote { id },
            (Some(id), Some(_)) if committed == truth => Local::Discard { id },
            (None, Some(_)) if committed == truth => return self.use_copy(actions),
            _ => {
                self.rows.cursor = Some(Vec::new());
                self.rows.begun = planted(Bug::CopyUnmarked);
                Local::Forget
            }
        };
        actions.push(Action::Local(step));
    }

    /// Notes that a copy of the remote's commit has begun: a commit of the machine may come before the first page.
    fn begin_copy(&mut self, id: CommitId, actions: &mut Vec<Action>) {
        self.rows.begun = true;
        let load = Load::Cursor(Vec::new());
        actions.push(Action::Local(Local::Save { id, page: Delta::new(), load }));
    }

    /// The local copy is of the remote's commit, or empty.
    fn use_copy(&mut self, actions: &mut Vec<Action>) {
        if self.rows.cursor.is_some() {
            return self.load(actions);
        }
        self.phase = Phase::Copying;
        actions.push(Action::Local(Local::Rows));
    }

    /// A step of the local copy was done.
    pub(super) fn local(&mut self, done: LocalDone<'_>, actions: &mut Vec<Action>) {
        match (self.phase, done) {
            (Phase::Comparing, LocalDone::Marks(marks)) => self.compare(marks, actions),
            (Phase::Settling, LocalDone::Done) => match self.rows.id {
                Some(id) if !self.rows.begun => self.begin_copy(id, actions),
                _ => self.use_copy(actions),
            },
            (Phase::Clearing, LocalDone::Done) => {
                self.phase = Phase::Resolving;
                self.ask_start(actions);
            }
            (Phase::Copying, LocalDone::Rows(store)) => self.copied(store, actions),
            (Phase::Zero | Phase::Running, LocalDone::Done) => {
                let busy = std::mem::take(&mut self.rows.busy);
                if busy == Busy::Preparing {
                    self.ask_commit(actions);
                } else if self.released {
                    self.leave(actions);
                }
            }
            (phase, done) => {
                let text = format!("the local store answered {done:?} while {phase:?}");
                self.stop(Stop::Broken(text), actions);
            }
        }
    }

    /// All that the local store has of the split.
    fn copied(&mut self, store: &dyn crate::store::Store, actions: &mut Vec<Action>) {
        let prefix = rows_of(self.role.split);
        let result = if self.rows.cursor.is_none() {
            self.machine.new_split(store, &prefix)
        } else {
            let mut rows: Vec<Row> = Vec::new();
            let read = store.scan(&prefix, &mut |key, value| {
                rows.push((key.to_vec(), value.to_vec()));
                Ok(())
            });
            // What a commit put behind the cursor comes again with its page.
            rows.retain(|(key, _)| Some(key) <= self.rows.cursor.as_ref() || planted(Bug::BehindCursor));
            read.and_then(|()| self.machine.page(&rows, &prefix))
        };
        match result {
            Ok(()) => self.start(actions),
            Err(error) => self.stop(why(error), actions),
        }
    }

    /// The remote rows can be read.
    pub(super) fn loaded(&mut self, backing: Box<dyn Backing>, actions: &mut Vec<Action>) {
        if let Err(error) = self.machine.attach(backing, &rows_of(self.role.split)) {
            return self.stop(why(error), actions);
        }
        if self.rows.cursor.as_ref().is_some_and(|cursor| !cursor.is_empty()) {
            self.phase = Phase::Copying;
            actions.push(Action::Local(Local::Rows));
        } else {
            self.start(actions);
        }
    }

    /// Asks for the next rows.
    pub(super) fn turn_page(&mut self, actions: &mut Vec<Action>) {
        let Rows { cursor: Some(cursor), busy, .. } = &mut self.rows else { return };
        if *busy == Busy::No {
            *busy = Busy::Paging;
            actions.push(Action::Page { token: self.token, after: cursor.clone() });
        }
    }

    /// The next rows are here.
    pub(super) fn paged(&mut self, rows: &[Row], more: bool, actions: &mut Vec<Action>) {
        self.rows.busy = Busy::No;
        if let Err(error) = self.machine.page(rows, &rows_of(self.role.split)) {
            return self.stop(why(error), actions);
        }
        if let (Some(cursor), Some((last, _))) = (&mut self.rows.cursor, rows.last()) {
            cursor.clone_from(last);
        }
        let load = match &self.rows.cursor {
            Some(cursor) if more => Load::Cursor(cursor.clone()),
            _ => Load::Complete,
        };
        if !more {
            self.rows.cursor = None;
            self.machine.loaded();
        }
        if let Some(id) = self.rows.id.filter(|_| self.is_copied()) {
            let mut page = Delta::new();
            rows.iter().for_each(|(key, value)| page.put(key, value));
            self.rows.busy = Busy::Saving;
            actions.push(Action::Local(Local::Save { id, page, load }));
        }
    }

    /// Whether something is done to the rows that a commit has to wait for.
    pub(super) fn rows_are_busy(&self) -> bool {
        self.rows.busy != Busy::No
    }

    /// Writes the next commit locally, before the remote store has it.
    pub(super) fn prepare(&mut self, delta: &Delta, actions: &mut Vec<Action>) {
        self.rows.busy = Busy::Preparing;
        let id = self.commit_id(self.version + 1);
        actions.push(Action::Local(Local::Prepare { id, delta: delta.clone() }));
    }

    /// The remote store has it.
    pub(super) fn promote(&mut self, actions: &mut Vec<Action>) {
        let id = self.commit_id(self.version);
        self.rows.id = Some(id);
        if self.is_copied() {
            self.rows.busy = Busy::Promoting;
            actions.push(Action::Local(Local::Promote { id }));
        }
    }

    /// Only where a bug is planted: changed rows go into the local store before they are committed.
    pub(super) fn spill(&mut self, actions: &mut Vec<Action>) {
        let Some(id) = self.rows.id.filter(|_| self.is_copied() && self.rows.busy == Busy::No) else {
            return;
        };
        let mut delta = Delta::new();
        if self.rows.cursor.is_none()
            && self.machine.checkpoint(&mut delta, &rows_of(self.role.split)).is_ok()
        {
            self.rows.spilled.append(&delta);
            self.rows.busy = Busy::Saving;
            actions.push(Action::Local(Local::Save { id, page: delta, load: Load::Complete }));
        }
    }

    /// What was spilled belongs to the next commit.
    pub(super) fn unspilled(&mut self) -> Delta {
        std::mem::take(&mut self.rows.spilled)
    }
}

/// How a worker ends when its rows cannot be read.
pub(super) fn why(error: StateError) -> Stop {
    match error {
        StateError::Fenced => Stop::Fenced,
        StateError::Away(text) => Stop::Away(text),
        other => Stop::Broken(other.to_string()),
    }
}
