//! A commit: one transaction, the split's row first, whole or not at all.
//!
//! Order: the row is compared and locked before anything is written, so that a raise comes either in front of the
//! whole transaction or behind it, and of two owners one finds no row (rule 14). Any error closes the connection,
//! so that half a transaction can never be committed.

use std::collections::BTreeMap;

use mysql_async::Value;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::{CommitOutcome, rows_of};
use streams_core::store::{Delta, Write, prefix};

use super::Mysql;
use super::rows::{Keys, list};
use super::schema::MOST_KEY_BYTES;
use super::session::Session;
use super::sink::SinkRows;
use super::trouble::Trouble;
use crate::remote::Failure;

const WHAT: &str = "committing a split";

/// How many rows one statement has at most. Few lengths, so that the server keeps the statements prepared.
const LENGTHS: [usize; 4] = [512, 64, 8, 1];
/// How many bytes of rows one statement has at most, unless a single row is larger, or the server takes less.
const MOST_BYTES: usize = 1 << 20;
/// What a statement needs beside its values, generously.
const AROUND: usize = 4096;
/// How many rows one statement removes under a prefix: it has to end in time.
const PREFIX_ROWS: u64 = 10_000;

impl Mysql {
    /// Commits if token and version of `split` are still these: version + 1, the snapshot, the changed rows.
    ///
    /// [`Fenced`](CommitOutcome::Fenced): they were others, nothing was written.
    /// [`RolledBack`](CommitOutcome::RolledBack): another transaction was in the way, nothing was written.
    /// [`Unknown`](CommitOutcome::Unknown): it was asked to become durable, and nobody knows whether it did.
    ///
    /// # Errors
    /// Nothing was written: the server was away, or refused the rows. A row that is too long names its limit.
    pub async fn commit(
        &self,
        split: Split,
        (token, version): (Token, u64),
        snapshot: &Snapshot,
        delta: &Delta,
        clean: bool,
    ) -> Result<CommitOutcome, Failure> {
        self.commit_with(split, (token, version), snapshot, delta, clean, &[]).await
    }

    /// As [`commit`](Self::commit), and writes results into tables of the same server in the same transaction: they
    /// are there if and only if the commit is.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); also when the server refuses a result.
    pub async fn commit_with(
        &self,
        split: Split,
        (token, version): (Token, u64),
        snapshot: &Snapshot,
        delta: &Delta,
        clean: bool,
        results: &[SinkRows],
    ) -> Result<CommitOutcome, Failure> {
        if let Some(other) = results.iter().find(|rows| !rows.address.is_same_server(self.server.address())) {
            return Err(Failure::Fatal(format!(
                "results for {} cannot be written in a transaction at {}; this is a bug",
                other.address,
                self.server.place()
            )));
        }
        let snapshot = snapshot
            .encode()
            .map_err(|error| Failure::Fatal(format!("the snapshot of a queue cannot be written: {error}")))?;
        let changes = Changes::of(delta, rows_of(split))?;
        let fence = Fence { number: self.number(split), token, version, snapshot, clean };
        let mut session = self.server.session().await?;
        match fence.write(&mut session, &changes, results).await {
            Ok(true) => (),
            Ok(false) => return Ok(CommitOutcome::Fenced),
            Err(Trouble::Conflict(_)) => return Ok(CommitOutcome::RolledBack),
            Err(trouble) => return Err(trouble.into()),
        }
        // Whatever is said here may be about a transaction that is durable.
        Ok(match finish(session).await {
            Ok(()) => CommitOutcome::Done,
            Err(_) => CommitOutcome::Unknown,
        })
    }
}

/// Ends the transaction that is open. Behind an error nobody knows how it ended.
pub(super) async fn finish(mut session: Session) -> Result<(), Trouble> {
    session.text(WHAT, "COMMIT").await?;
    session.done();
    Ok(())
}

/// The row that decides, as it has to be and as it will be.
struct Fence {
    number: u64,
    token: Token,
    version: u64,
    snapshot: Vec<u8>,
    clean: bool,
}

impl Fence {
    /// Everything but the end; `false` where the row is another owner's or another version.
    async fn write(
        self,
        session: &mut Session,
        changes: &Changes<'_>,
        results: &[SinkRows],
    ) -> Result<bool, Trouble> {
        let number = self.number;
        fits(session, self.snapshot.len())?;
        session.text(WHAT, "START TRANSACTION").await?;
        let sql = "UPDATE streams_split SET version = version + 1, beat = beat + 1, clean = ?, snapshot = ? \
                   WHERE split = ? AND epoch = ? AND nonce = ? AND version = ?";
        let values = vec![
            Value::from(u8::from(self.clean)),
            Value::Bytes(self.snapshot),
            Value::from(number),
            Value::from(self.token.epoch),
            Value::from(self.token.nonce),
            Value::from(self.version),
        ];
        if session.exec(WHAT, sql, values).await?.matched != 1 {
            session.text(WHAT, "ROLLBACK").await?;
            return Ok(false);
        }
        changes.write(session, number).await?;
        for rows in results {
            rows.write(session).await?;
        }
        Ok(true)
    }
}

/// What a delta comes to: prefixes are removed first, then keys, then rows are set, in the order of their keys.
pub(super) struct Changes<'a> {
    prefixes: Vec<Keys>,
    deletes: Vec<&'a [u8]>,
    puts: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Changes<'a> {
    /// Rows are kept without the prefix that all of the split have.
    pub(super) fn of(delta: &'a Delta, base: [u8; 5]) -> Result<Self, Failure> {
        let stripped = |key: &'a [u8]| {
            key.strip_prefix(&base).ok_or_else(|| {
                Failure::Fatal(
                    "a row that is committed for a queue belongs to another one; this is a bug".to_owned(),
                )
            })
        };
        let mut prefixes = Vec::new();
        // The last write to a key counts; a removed prefix takes what was written before it.
        let mut last: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
        for write in delta.writes() {
            match write {
                Write::Put { key, value } => {
                    let key = stripped(key)?;
                    if key.len() > MOST_KEY_BYTES {
                        return Err(Failure::Fatal(format!(
                            "the key of a row has {} bytes, and a row in MySQL takes {MOST_KEY_BYTES}; shorten what \
                             the job's `key_by` gives, or keep a hash of it",
                            key.len()
                        )));
                    }
                    last.insert(key, Some(value));
                }
                Write::Delete { key } => drop(last.insert(stripped(key)?, None)),
                Write::DeletePrefix { prefix } if base.starts_with(prefix) => {
                    last.clear();
                    prefixes.push(Keys::all());
                }
                Write::DeletePrefix { prefix } => {
                    let (from, to) = prefix::range(stripped(prefix)?);
                    let keys = Keys::between(from, to);
                    last.retain(|key, _| !keys.contains(key));
                    prefixes.push(keys);
                }
            }
        }
        let mut changes = Self { prefixes, deletes: Vec::new(), puts: Vec::new() };
        for (key, value) in last {
            match value {
                Some(value) => changes.puts.push((key, value)),
                None => changes.deletes.push(key),
            }
        }
        Ok(changes)
    }

    pub(super) async fn write(&self, session: &mut Session, number: u64) -> Result<(), Trouble> {
        for keys in &self.prefixes {
            let (condition, bounds) = keys.condition("k");
            let sql =
                format!("DELETE FROM streams_row WHERE split = ?{condition} ORDER BY k LIMIT {PREFIX_ROWS}");
            loop {
                let mut values = vec![Value::from(number)];
                values.extend(bounds.iter().map(|bound| Value::from(bound.as_slice())));
                if session.exec(WHAT, &sql, values).await?.matched < PREFIX_ROWS {
                    break;
                }
            }
        }
        let most = (usize::MAX, most_bytes(session));
        let mut rest = self.deletes.as_slice();
        while let Some((some, behind)) = cut(rest, most, |key| key.len()) {
            let sql = format!("DELETE FROM streams_row WHERE split = ? AND k IN ({})", list("?", some.len()));
            let mut values = Vec::with_capacity(some.len() + 1);
            values.push(Value::from(number));
            values.extend(some.iter().map(|key| Value::from(*key)));
            session.exec(WHAT, &sql, values).await?;
            rest = behind;
        }
        let mut rest = self.puts.as_slice();
        while let Some((some, behind)) = cut(rest, most, |(key, value)| key.len() + value.len()) {
            if let [(key, value)] = some {
                fits(session, key.len() + value.len())?;
            }
            let sql = format!(
                "INSERT INTO streams_row (split, k, v) VALUES {} ON DUPLICATE KEY UPDATE v = VALUES(v)",
                list("(?,?,?)", some.len())
            );
            let mut values = Vec::with_capacity(some.len() * 3);
            for (key, value) in some {
                values.extend([Value::from(number), Value::from(*key), Value::from(*value)]);
            }
            session.exec(WHAT, &sql, values).await?;
            rest = behind;
        }
        Ok(())
    }
}

/// How many bytes of rows one statement has at most.
pub(super) fn most_bytes(session: &Session) -> usize {
    MOST_BYTES.min(session.max_packet() / 2)
}

/// The rows of the next statement, at most so many and so many bytes, and those behind them; `None` where there are
/// none.
pub(super) fn cut<T>(
    rows: &[T],
    (most_rows, most_bytes): (usize, usize),
    bytes: impl Fn(&T) -> usize,
) -> Option<(&[T], &[T])> {
    let mut sum = 0;
    let fitting = rows.iter().take_while(|row| {
        sum += bytes(row);
        sum <= most_bytes
    });
    let fitting = fitting.take(LENGTHS[0].min(most_rows)).count().max(1);
    let length = LENGTHS.into_iter().find(|length| *length <= fitting)?;
    rows.split_at_checked(length)
}

/// A larger message closes the connection without a word about why.
pub(super) fn fits(session: &Session, bytes: usize) -> Result<(), Trouble> {
    let most = session.max_packet();
    if bytes + AROUND <= most {
        return Ok(());
    }
    Err(Trouble::Fatal(format!(
        "a row of {bytes} bytes is larger than the server takes ({most}); raise its `max_allowed_packet`"
    )))
}
