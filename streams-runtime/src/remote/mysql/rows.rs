//! The rows of a split's operators: in pages, by key, by range; to be awaited, or behind the blocking trait that a
//! machine reads through.
//!
//! Each read is one statement over the split's row too, so that the token is compared in the very view that the rows
//! are read from (rule 13): no answer at all means another owner, an answer without rows that there are none.

use std::ops::Bound;

use mysql_async::Value;
use streams_core::error::StateError;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::worker::rows_of;
use streams_core::store::Visit;
use streams_core::store::backing::{Backing, Row};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::Mysql;
use super::session::Cells;
use super::trouble::Trouble;
use crate::remote::Failure;

const WHAT: &str = "reading rows of a split";

/// How much of a range is read at once.
const RANGE: Most = Most { rows: 2000, bytes: 4 << 20 };
/// How many keys one statement asks for. Few lengths, so that the server keeps the statements prepared.
const LENGTHS: [usize; 3] = [256, 16, 1];

/// The next rows of a split, in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Whole keys, and values.
    pub rows: Vec<Row>,
    /// Whether there are more behind them.
    pub more: bool,
}

/// How much is wanted at once; one row comes in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Most {
    rows: usize,
    bytes: usize,
}

/// Keys without the prefix of their split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
}

impl Keys {
    pub(super) fn all() -> Self {
        Self { from: Bound::Unbounded, to: Bound::Unbounded }
    }

    pub(super) fn between(from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        Self { from, to }
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        let above = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(from) => key >= from.as_slice(),
            Bound::Excluded(from) => key > from.as_slice(),
        };
        let below = match &self.to {
            Bound::Unbounded => true,
            Bound::Included(to) => key <= to.as_slice(),
            Bound::Excluded(to) => key < to.as_slice(),
        };
        above && below
    }

    /// The whole keys behind `after`, as far as they are the split's.
    fn behind(after: &[u8], base: [u8; 5]) -> Option<Self> {
        Some(match after.strip_prefix(&base) {
            Some(after) => Self { from: Bound::Excluded(after.to_vec()), to: Bound::Unbounded },
            None if *after < base[..] => Self::all(),
            None => return None,
        })
    }

    /// The whole keys from `from` on and in front of `to`, as far as they are the split's.
    fn range(from: &[u8], to: &[u8], base: [u8; 5]) -> Option<Self> {
        let lower = match from.strip_prefix(&base) {
            Some(from) => Bound::Included(from.to_vec()),
            None if *from < base[..] => Bound::Unbounded,
            None => return None,
        };
        let upper = match to.strip_prefix(&base) {
            Some(to) => Bound::Excluded(to.to_vec()),
            None if *to < base[..] => return None,
            None => Bound::Unbounded,
        };
        Some(Self { from: lower, to: upper })
    }

    /// What to add to a WHERE or ON clause, and its values.
    pub(super) fn condition(&self, column: &str) -> (String, Vec<Vec<u8>>) {
        let (mut text, mut values) = (String::new(), Vec::new());
        let bounds = [(&self.from, [">=", ">"]), (&self.to, ["<=", "<"])];
        for (bound, [included, excluded]) in bounds {
            let (operator, value) = match bound {
                Bound::Unbounded => continue,
                Bound::Included(value) => (included, value),
                Bound::Excluded(value) => (excluded, value),
            };
            text.push_str(&format!(" AND {column} {operator} ?"));
            values.push(value.clone());
        }
        (text, values)
    }
}

/// `what`, `n` times, with commas.
pub(super) fn list(what: &str, n: usize) -> String {
    vec![what; n].join(",")
}

impl Mysql {
    /// The next rows of `split` behind `after`, at most so many, and so many bytes unless one row is larger; `None`
    /// when the token does not stand any more. An empty `after` begins.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn page(
        &self,
        split: Split,
        token: Token,
        after: &[u8],
        most_rows: usize,
        most_bytes: usize,
    ) -> Result<Option<Page>, Failure> {
        let keys = Keys::behind(after, rows_of(split))
            .unwrap_or(Keys { from: Bound::Unbounded, to: Bound::Excluded(Vec::new()) });
        self.read_page(split, token, &keys, Most { rows: most_rows, bytes: most_bytes }).await
    }

    async fn read_page(
        &self,
        split: Split,
        token: Token,
        keys: &Keys,
        most: Most,
    ) -> Result<Option<Page>, Failure> {
        let base = rows_of(split);
        let (condition, bounds) = keys.condition("k");
        // A join with the split's row would be sorted as a whole before its first rows come.
        let stands = "FROM streams_split WHERE split = ? AND epoch = ? AND nonce = ?";
        let sql = format!(
            "(SELECT NULL AS k, NULL AS v {stands}) UNION ALL (SELECT k, v FROM streams_row WHERE split = ?{condition} \
             AND EXISTS (SELECT 1 {stands}) ORDER BY k LIMIT ?)"
        );
        let n = most.rows.max(1);
        let token = [self.number(split), token.epoch, token.nonce].map(Value::from);
        let mut values = token.to_vec();
        values.push(Value::from(self.number(split)));
        values.extend(bounds.into_iter().map(Value::Bytes));
        values.extend(token);
        // One more than is wanted tells whether there are more.
        values.push(Value::from(n.saturating_add(1) as u64));

        let mut page = Page { rows: Vec::new(), more: false };
        let (mut stands, mut bytes) = (false, 0);
        let mut session = self.server.session().await?;
        let take = |row| {
            stands = true;
            let mut cells = Cells::of(row);
            let Some(key) = cells.bytes()? else { return Ok(true) };
            let key = [&base, key.as_slice()].concat();
            if page.rows.last().is_some_and(|(last, _)| *last >= key) {
                return Err(Trouble::Fatal(format!(
                    "{WHAT}: the server gives them out of order; this is a bug"
                )));
            }
            let value = cells.bytes()?.unwrap_or_default();
            bytes += key.len() + value.len();
            page.more = page.rows.len() == n || (bytes > most.bytes && !page.rows.is_empty());
            if !page.more {
                page.rows.push((key, value));
            }
            Ok(!page.more || page.rows.len() == n)
        };
        session.rows_while(WHAT, &sql, values, take).await?;
        session.done();
        Ok(stands.then_some(page))
    }

    /// The values of some rows, in the order of `keys`; `None` when the token does not stand any more.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn get_many(
        &self,
        split: Split,
        token: Token,
        keys: &[&[u8]],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, Failure> {
        let base = rows_of(split);
        let mut found = std::collections::HashMap::new();
        let mut wanted: Vec<&[u8]> = keys.iter().filter_map(|key| key.strip_prefix(&base)).collect();
        if wanted.is_empty() {
            // The token is compared all the same.
            wanted.push(&[]);
        }
        let mut session = self.server.session().await?;
        let mut stands = true;
        for some in wanted.chunks(LENGTHS[0]) {
            // A statement of few lengths asks for its last key again.
            let length = LENGTHS.into_iter().rev().find(|length| *length >= some.len()).unwrap_or(LENGTHS[0]);
            let padded = some.iter().chain(some.last().into_iter().cycle()).take(length);
            let sql = format!(
                "SELECT r.k, r.v FROM streams_split s LEFT JOIN streams_row r ON r.split = s.split AND r.k IN ({}) \
                 WHERE s.split = ? AND s.epoch = ? AND s.nonce = ?",
                list("?", length)
            );
            let mut values: Vec<Value> = padded.map(|key| Value::from(*key)).collect();
            values.extend([self.number(split), token.epoch, token.nonce].map(Value::from));
            let rows = session.rows(WHAT, &sql, values).await?;
            stands &= !rows.is_empty();
            for row in rows {
                let mut cells = Cells::of(row);
                if let (Some(key), Some(value)) = (cells.bytes()?, cells.bytes()?) {
                    found.insert(key, value);
                }
            }
        }
        session.done();
        let value = |key: &&[u8]| key.strip_prefix(&base).and_then(|key| found.get(key)).cloned();
        Ok(stands.then(|| keys.iter().map(value).collect()))
    }

    /// The rows of `split` for the owner of `token`, read when they are needed. Reads block their thread, and no
    /// other task.
    ///
    /// # Panics
    /// Outside of a runtime, and in one with a single thread: its reads would wait for themselves.
    #[must_use]
    pub fn backing(&self, split: Split, token: Token) -> Box<dyn Backing> {
        let runtime = Handle::current();
        let flavor = runtime.runtime_flavor();
        assert!(flavor != RuntimeFlavor::CurrentThread, "blocking reads need another thread that does them");
        Box::new(Reads { mysql: self.clone(), runtime, split, token })
    }
}

/// The rows of a split, read by the owner of a token.
struct Reads {
    mysql: Mysql,
    runtime: Handle,
    split: Split,
    token: Token,
}

impl Reads {
    fn wait<T: Send + 'static>(
        &self,
        asked: impl Future<Output = Result<Option<T>, Failure>> + Send + 'static,
    ) -> Result<T, StateError> {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        // Nobody listens any more where this thread has gone.
        self.runtime.spawn(async move { drop(tell.send(asked.await)) });
        // On a thread of the runtime's own, another one takes over its tasks: the read itself may be among them.
        match tokio::task::block_in_place(|| told.recv()) {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => Err(StateError::Fenced),
            Ok(Err(Failure::Away(text))) => Err(StateError::Away(text)),
            Ok(Err(Failure::Fatal(text))) => Err(StateError::Store(text)),
            Err(_) => Err(StateError::Away("the program is ending".to_owned())),
        }
    }
}

impl Backing for Reads {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        let (mysql, split, token, key) = (self.mysql.clone(), self.split, self.token, key.to_vec());
        let found = self.wait(async move { mysql.get_many(split, token, &[&key]).await })?;
        Ok(found.into_iter().next().flatten())
    }

    fn get_many(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        let (mysql, split, token, keys) = (self.mysql.clone(), self.split, self.token, keys.to_vec());
        self.wait(async move {
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            mysql.get_many(split, token, &keys).await
        })
    }

    fn range(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        let base = rows_of(self.split);
        let Some(mut keys) = Keys::range(from, to, base) else { return Ok(()) };
        loop {
            let (mysql, split, token, wanted) = (self.mysql.clone(), self.split, self.token, keys.clone());
            let page = self.wait(async move { mysql.read_page(split, token, &wanted, RANGE).await })?;
            page.rows.iter().try_for_each(|(key, value)| visit(key, value))?;
            let last = page.rows.last().and_then(|(key, _)| key.strip_prefix(&base));
            match last {
                Some(last) if page.more => keys.from = Bound::Excluded(last.to_vec()),
                _ => return Ok(()),
            }
        }
    }
}
