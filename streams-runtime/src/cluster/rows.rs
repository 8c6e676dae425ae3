//! The state of all splits in the instance's own store: for each its token, version and snapshot beside the rows
//! of its operators, committed in one step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use streams_core::codec;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::CommitOutcome;
use streams_core::store::{Delta, Store};

use super::random_number;
use crate::error::Error;
use crate::store::JOB;

/// In front of the keys of splits' own rows.
const SPLIT: u8 = b's';

/// What is kept of a split beside its operators' rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SplitRow {
    pub(crate) owner: Option<Token>,
    pub(crate) version: u64,
    pub(crate) fingerprint: u64,
    pub(crate) clean: bool,
    /// Encoded; none before snapshot 0.
    pub(crate) snapshot: Option<Vec<u8>>,
}

impl SplitRow {
    /// The bytes of its row.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        codec::to_vec(self, &mut bytes)
            .map_err(|error| Error::state(format!("the state of a queue cannot be written: {error}")))?;
        Ok(bytes)
    }

    /// All that a store has.
    pub(crate) fn all(store: &dyn Store) -> Result<BTreeMap<Split, Self>, Error> {
        let mut splits = BTreeMap::new();
        let mut problem = None;
        let read = store.scan(&[SPLIT], &mut |key, value| {
            match Self::decode(key, value) {
                Ok((split, row)) => drop(splits.insert(split, row)),
                Err(error) => drop(problem.get_or_insert(error)),
            }
            Ok(())
        });
        read.map_err(Error::state)?;
        problem.map_or(Ok(splits), Err)
    }

    /// One of a store's rows.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<(Split, Self), Error> {
        let wrong = |why: String| Error::state(format!("the state of a queue cannot be read: {why}"));
        let split = split_of(key).ok_or_else(|| wrong("a key that is no split".to_owned()))?;
        let row = codec::from_slice(value).map_err(|error| wrong(error.to_string()))?;
        Ok((split, row))
    }

    /// The row as the state of a run that may have gone on since: only the same code takes it, reads what lies in
    /// its outputs first, and uses no copy.
    pub(crate) fn restored(self) -> Result<Self, Error> {
        let Some(snapshot) = self.snapshot()? else { return Ok(Self { clean: false, ..self }) };
        let snapshot = encoded(&Snapshot { owner: None, clean: false, ..snapshot })?;
        Ok(Self { clean: false, snapshot: Some(snapshot), ..self })
    }

    /// The snapshot, if there is one.
    pub(crate) fn snapshot(&self) -> Result<Option<Snapshot>, Error> {
        let Some(bytes) = &self.snapshot else { return Ok(None) };
        let snapshot = Snapshot::decode(bytes);
        snapshot
            .map(Some)
            .map_err(|error| Error::state(format!("the snapshot of a queue cannot be read: {error}")))
    }
}

pub(crate) fn encoded(snapshot: &Snapshot) -> Result<Vec<u8>, Error> {
    snapshot
        .encode()
        .map_err(|error| Error::state(format!("the snapshot of a queue cannot be written: {error}")))
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
        let splits = SplitRow::all(&*store)?;
        Ok(Self { inner: Arc::new(Mutex::new(Inner { store, splits })) })
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
        Ok(row.snapshot()?.map(|snapshot| (row.version, snapshot)))
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
        let snapshot = encoded(snapshot)?;
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
        delta.put(&key_of(split), &row.encode()?);
        self.store.commit(&delta).map_err(Error::state)?;
        self.splits.insert(split, row);
        Ok(())
    }
}

/// The key of a split's own row.
pub(crate) fn key_of(split: Split) -> [u8; 5] {
    let [a, b, c, d] = split.to_bytes();
    [SPLIT, a, b, c, d]
}

/// Whether a row of a store is that of a split.
pub(crate) fn is_split(key: &[u8]) -> bool {
    split_of(key).is_some()
}

fn split_of(key: &[u8]) -> Option<Split> {
    let [SPLIT, a, b, c, d] = *key else { return None };
    Some(Split::from_bytes([a, b, c, d]))
}
