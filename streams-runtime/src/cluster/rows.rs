//! The state of all splits in the instance's own store: for each its token, version and snapshot beside the rows
//! of its operators, committed in one step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use streams_core::codec;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::{CommitOutcome, rows_of};
use streams_core::store::{Delta, Store};

use super::random_number;
use crate::error::Error;

/// Where the record of the job is.
const JOB: &[u8] = b"job";
/// In front of the keys of splits' own rows.
const SPLIT: u8 = b's';

/// What is kept of a split beside its operators' rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SplitRow {
    owner: Option<Token>,
    version: u64,
    fingerprint: u64,
    clean: bool,
    /// Encoded; none before snapshot 0.
    snapshot: Option<Vec<u8>>,
}

/// The store, shared with the threads that wait for its disk.
#[derive(Clone)]
pub(super) struct SplitRows {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    store: Box<dyn Store>,
    splits: BTreeMap<Split, SplitRow>,
}

impl SplitRows {
    pub(super) fn open(store: Box<dyn Store>) -> Result<Self, Error> {
        let mut splits = BTreeMap::new();
        let mut problem = None;
        let read = store.scan(&[SPLIT], &mut |key, value| {
            match (split_of(key), codec::from_slice(value)) {
                (Some(split), Ok(row)) => drop(splits.insert(split, row)),
                (None, _) => problem = Some("a key that is no split".to_owned()),
                (_, Err(error)) => problem = Some(error.to_string()),
            }
            Ok(())
        });
        read.map_err(Error::state)?;
        match problem {
            Some(text) => Err(Error::state(format!("the state of a queue cannot be read: {text}"))),
            None => Ok(Self { inner: Arc::new(Mutex::new(Inner { store, splits })) }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of the job; its version counts for nothing where nobody else writes it.
    pub(super) fn job(&self) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let found = self.lock().store.get(JOB).map_err(Error::state)?;
        Ok(found.map(|bytes| (1, bytes)))
    }

    /// Writes the record of the job.
    pub(super) fn put_job(&self, _before: u64, bytes: &[u8]) -> Result<bool, Error> {
        let mut delta = Delta::new();
        delta.put(JOB, bytes);
        self.lock().store.commit(&delta).map_err(Error::state)?;
        Ok(true)
    }

    /// Raises the token; `None` where other code did not leave the split clean (rules 13 and 19).
    pub(super) fn raise(&self, split: Split, fingerprint: u64) -> Result<Option<Token>, Error> {
        let mut inner = self.lock();
        let row = inner.splits.get(&split).cloned().unwrap_or_default();
        if row.owner.is_some() && row.fingerprint != fingerprint && !row.clean {
            return Ok(None);
        }
        let token = Token { epoch: row.owner.map_or(0, |owner| owner.epoch) + 1, nonce: random_number() };
        let row = SplitRow { owner: Some(token), fingerprint, clean: false, ..row };
        inner.commit(split, row, Delta::new())?;
        Ok(Some(token))
    }

    /// Version and snapshot; none before snapshot 0.
    pub(super) fn read(&self, split: Split) -> Result<Option<(u64, Snapshot)>, Error> {
        let inner = self.lock();
        let Some(row) = inner.splits.get(&split) else { return Ok(None) };
        let Some(bytes) = &row.snapshot else { return Ok(None) };
        let snapshot = Snapshot::decode(bytes)
            .map_err(|error| Error::state(format!("the snapshot of a queue cannot be read: {error}")))?;
        Ok(Some((row.version, snapshot)))
    }

    /// Token and version.
    pub(super) fn observe(&self, split: Split) -> (Token, u64) {
        let inner = self.lock();
        let row = inner.splits.get(&split);
        let token = row.and_then(|row| row.owner).unwrap_or(Token { epoch: 0, nonce: 0 });
        (token, row.map_or(0, |row| row.version))
    }

    /// Commits if token and version are still these. Waits for the disk.
    pub(super) fn commit(
        &self,
        split: Split,
        (token, version): (Token, u64),
        snapshot: &Snapshot,
        delta: Delta,
        clean: bool,
    ) -> Result<CommitOutcome, Error> {
        let mut inner = self.lock();
        let row = inner.splits.get(&split).cloned().unwrap_or_default();
        if row.owner != Some(token) || row.version != version {
            return Ok(CommitOutcome::Fenced);
        }
        let snapshot = snapshot
            .encode()
            .map_err(|error| Error::state(format!("the snapshot of a queue cannot be written: {error}")))?;
        let row = SplitRow { version: version + 1, clean, snapshot: Some(snapshot), ..row };
        inner.commit(split, row, delta)?;
        Ok(CommitOutcome::Done)
    }

    /// Lets `f` read all rows.
    pub(super) fn with_store<R>(&self, f: impl FnOnce(&dyn Store) -> R) -> R {
        f(&*self.lock().store)
    }

    /// The last snapshot of every split.
    pub(super) fn snapshots(&self) -> Vec<(Split, Snapshot)> {
        let inner = self.lock();
        let rows = inner.splits.iter();
        rows.filter_map(|(split, row)| Some((*split, Snapshot::decode(row.snapshot.as_deref()?).ok()?)))
            .collect()
    }
}

impl Inner {
    fn commit(&mut self, split: Split, row: SplitRow, mut delta: Delta) -> Result<(), Error> {
        let mut bytes = Vec::new();
        codec::to_vec(&row, &mut bytes)
            .map_err(|error| Error::state(format!("the state of a queue cannot be written: {error}")))?;
        delta.put(&key_of(split), &bytes);
        self.store.commit(&delta).map_err(Error::state)?;
        self.splits.insert(split, row);
        Ok(())
    }
}

fn key_of(split: Split) -> [u8; 5] {
    let [_, rest @ ..] = rows_of(split);
    let [a, b, c, d] = rest;
    [SPLIT, a, b, c, d]
}

fn split_of(key: &[u8]) -> Option<Split> {
    let [SPLIT, a, b, c, d] = *key else { return None };
    let stage = streams_core::protocol::ids::Stage(u16::from_be_bytes([a, b]));
    Some(Split { stage, queue: u16::from_be_bytes([c, d]) })
}
