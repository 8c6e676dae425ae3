//! The simulated remote store: one row per split with its token, version and snapshot, and the rows of its
//! operators. Transactions are whole or not at all, unless a bug is planted.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::random::mix;
use crate::bug::{Bug, planted};
use crate::error::StateError;
use crate::protocol::ids::Token;
use crate::protocol::worker::Committed;
use crate::store::backing::{Backing, Row};
use crate::store::{Delta, Store, Visit, Write, prefix};

/// Rows with a hash over their set, kept up to date with every write.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) sum: u64,
}

fn row_hash(key: &[u8], value: &[u8]) -> u64 {
    xxh3_64_with_seed(value, xxh3_64_with_seed(key, 1))
}

impl Rows {
    /// Applies the first `n` writes.
    pub(crate) fn apply(&mut self, delta: &Delta, n: usize) {
        for write in delta.writes().take(n) {
            match write {
                Write::Put { key, value } => {
                    self.sum = self.sum.wrapping_add(row_hash(key, value));
                    match self.rows.get_mut(key) {
                        Some(old) => {
                            self.sum = self.sum.wrapping_sub(row_hash(key, old));
                            old.clear();
                            old.extend_from_slice(value);
                        }
                        None => drop(self.rows.insert(key.to_vec(), value.to_vec())),
                    }
                }
                Write::Delete { key } => {
                    if let Some(old) = self.rows.remove(key) {
                        self.sum = self.sum.wrapping_sub(row_hash(key, &old));
                    }
                }
                Write::DeletePrefix { prefix } => {
                    for (key, old) in self.rows.extract_if(prefix::range(prefix), |_, _| true) {
                        self.sum = self.sum.wrapping_sub(row_hash(&key, &old));
                    }
                }
            }
        }
    }
}

impl Rows {
    /// A hash over the rows under a prefix.
    pub(crate) fn sum_of(&self, prefix: &[u8]) -> u64 {
        let rows = self.rows.range(prefix::range(prefix));
        rows.fold(0, |sum, (key, value)| sum.wrapping_add(row_hash(key, value)))
    }

    /// At most `n` rows behind `after`, and whether there are more.
    pub(crate) fn page(&self, after: &[u8], n: usize) -> (Vec<Row>, bool) {
        let behind = (Bound::Excluded(after.to_vec()), Bound::Unbounded);
        let mut rows = self.rows.range(behind);
        let page = rows.by_ref().take(n).map(|(key, value)| (key.clone(), value.clone())).collect();
        (page, rows.next().is_some())
    }
}

impl Store for Rows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        Ok(self.rows.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        self.rows.range(prefix::range(prefix)).try_for_each(|(key, value)| visit(key, value))
    }

    fn commit(&mut self, delta: &Delta) -> Result<(), StateError> {
        self.apply(delta, usize::MAX);
        Ok(())
    }
}

/// What a reader of a split's rows looks at.
#[derive(Debug, Default)]
struct Shared {
    token: Option<Token>,
    rows: Rows,
}

/// One split's part of the store.
#[derive(Debug, Default)]
pub(crate) struct SplitRow {
    shared: Arc<Mutex<Shared>>,
    /// By version: who committed it, and a hash over the rows that it left.
    history: BTreeMap<u64, (Token, u64)>,
    /// The tokens that the raises since the last commit replaced: a failover may bring them back.
    undo: Vec<Option<Token>>,
    n_raises: u64,
    pub(crate) version: u64,
    fingerprint: u64,
    clean: bool,
    /// A hash over the results that commits have written, in their order.
    pub(crate) results: u64,
    /// The encoded snapshot.
    pub(crate) snapshot: Option<Vec<u8>>,
}

/// The rows of a split, read by the owner of a token.
struct Reads {
    shared: Arc<Mutex<Shared>>,
    token: Token,
    away: Arc<AtomicBool>,
}

impl Reads {
    fn open(&self) -> Result<MutexGuard<'_, Shared>, StateError> {
        if self.away.load(Ordering::Relaxed) {
            return Err(StateError::Away("the store is away".to_owned()));
        }
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.token != Some(self.token) && !planted(Bug::LoadNotVerified) && !planted(Bug::NoNonce) {
            return Err(StateError::Fenced);
        }
        Ok(shared)
    }
}

impl Backing for Reads {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.open()?.rows.get(key)
    }

    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        let shared = self.open()?;
        let mut rows = shared.rows.rows.range(from.to_vec()..to.to_vec());
        rows.try_for_each(|(key, value)| visit(key, value))
    }
}

/// Rows that were read once: where a bug is planted.
struct Copied(Rows);

impl Backing for Copied {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.0.get(key)
    }

    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        self.0.rows.range(from.to_vec()..to.to_vec()).try_for_each(|(key, value)| visit(key, value))
    }
}

impl Rows {
    /// These rows, whatever becomes of the store.
    pub(crate) fn fixed(self) -> Box<dyn Backing> {
        Box::new(Copied(self))
    }
}

/// A hash over results, with one more.
pub(crate) fn results_hash(sum: u64, result: &Committed) -> u64 {
    xxh3_64_with_seed(&result.record, mix(sum, u64::from(result.output)))
}

/// A transaction as it reaches the store.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) token: Token,
    pub(crate) version: u64,
    pub(crate) snapshot: Vec<u8>,
    pub(crate) delta: Delta,
    pub(crate) results: Vec<Committed>,
    pub(crate) clean: bool,
}

impl SplitRow {
    fn open(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn token(&self) -> Option<Token> {
        self.open().token
    }

    /// The rows as they are now.
    pub(crate) fn rows(&self) -> Rows {
        self.open().rows.clone()
    }

    /// A hash over the rows.
    pub(crate) fn sum(&self) -> u64 {
        self.open().rows.sum
    }

    /// Access for the owner of `token`; `None` where it does not stand.
    pub(crate) fn reads(&self, token: Token, away: &Arc<AtomicBool>) -> Option<Box<dyn Backing>> {
        self.stands(token).then(|| {
            let (shared, away) = (Arc::clone(&self.shared), Arc::clone(away));
            Box::new(Reads { shared, token, away }) as Box<dyn Backing>
        })
    }

    /// At most `n` rows behind `after` for the owner of `token`.
    pub(crate) fn page(&self, token: Token, after: &[u8], n: usize) -> Option<(Vec<Row>, bool)> {
        self.stands(token).then(|| self.open().rows.page(after, n))
    }

    fn stands(&self, token: Token) -> bool {
        self.token() == Some(token) || planted(Bug::LoadNotVerified) || planted(Bug::NoNonce)
    }

    /// Who made a version, and a hash over its rows.
    pub(crate) fn commit_of(&self, version: u64) -> Option<(Token, u64)> {
        self.history.get(&version).copied()
    }

    /// Raises the token; `None` where other code did not leave the split clean.
    pub(crate) fn raise(&mut self, fingerprint: u64, salt: u64) -> Option<Token> {
        if self.token().is_some() && self.fingerprint != fingerprint && !self.clean {
            return None;
        }
        self.n_raises += 1;
        let nonce = mix(self.n_raises, salt);
        let token = Token { epoch: self.token().map_or(0, |token| token.epoch) + 1, nonce };
        let before = self.open().token.replace(token);
        self.undo.push(before);
        self.fingerprint = fingerprint;
        self.clean = false;
        Some(token)
    }

    /// The code of the last owner.
    pub(crate) fn code(&self) -> Option<u64> {
        self.token().is_some().then_some(self.fingerprint)
    }

    /// Whether the split goes to other code with this raise.
    pub(crate) fn changes_code(&self, fingerprint: u64) -> bool {
        self.token().is_some() && self.fingerprint != fingerprint
    }

    /// A number for what it holds.
    pub(crate) fn hash(&self) -> u64 {
        let token = self.token().map_or(0, |token| mix(token.epoch, token.nonce));
        let snapshot = self.snapshot.as_deref().map_or(0, |bytes| xxh3_64_with_seed(bytes, 1));
        mix(mix(token, self.version) ^ snapshot, self.sum() ^ self.results)
    }

    /// Whether token and version are those that the transaction expects.
    pub(crate) fn matches(&self, transaction: &Transaction) -> bool {
        let token = self.token().is_some_and(|token| {
            token == transaction.token || (planted(Bug::NoNonce) && token.epoch == transaction.token.epoch)
        });
        token && (self.version == transaction.version || planted(Bug::NoVersion))
    }

    /// Commits the transaction with the first `n` writes of its delta.
    pub(crate) fn write(&mut self, transaction: &Transaction, n: usize) {
        self.version += 1;
        self.undo.clear();
        self.clean = transaction.clean;
        self.snapshot = Some(transaction.snapshot.clone());
        self.results = transaction.results.iter().fold(self.results, results_hash);
        let mut shared = self.open();
        shared.rows.apply(&transaction.delta, n);
        let sum = shared.rows.sum;
        drop(shared);
        self.history.insert(self.version, (transaction.token, sum));
    }

    /// A failover to a replica that had not heard of the newest raise.
    pub(crate) fn fail_over(&mut self) -> bool {
        match self.undo.pop() {
            Some(before) => {
                self.open().token = before;
                true
            }
            None => false,
        }
    }
}
