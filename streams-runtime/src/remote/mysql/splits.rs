//! The row of each split: raised, read, watched, kept alive.

use mysql_async::Value;
use streams_core::protocol::ids::{Split, Stage, Token};
use streams_core::protocol::instance::Holder;
use streams_core::protocol::snapshot::Snapshot;

use super::Mysql;
use super::rows::list;
use super::session::Cells;
use super::trouble::Trouble;
use crate::remote::Failure;

impl Mysql {
    /// Raises the token of `split` in a committed statement of its own; `None` where code with another fingerprint
    /// has begun something that it has not ended (rules 13 and 19). `nonce` is a fresh random number.
    ///
    /// # Errors
    /// When the server is away or refuses; also while an earlier owner's commit is under way. Behind
    /// [`Failure::Away`] the token may have been raised: raise it again.
    pub async fn raise(&self, split: Split, fingerprint: u64, nonce: u64) -> Result<Option<Token>, Failure> {
        const WHAT: &str = "raising the token of a split";
        let number = self.number(split);
        let raise = "UPDATE streams_split SET epoch = LAST_INSERT_ID(epoch + 1), nonce = ?, fingerprint = ?, \
                     member = ?, clean = 0, beat = beat + 1 \
                     WHERE split = ? AND (fingerprint = ? OR clean = 1 OR snapshot IS NULL)";
        let values = || {
            let member = Value::from(self.member.as_bytes());
            vec![nonce.into(), fingerprint.into(), member, number.into(), fingerprint.into()]
        };
        let mut session = self.server.session().await?;
        let mut done = session.exec(WHAT, raise, values()).await?;
        if done.matched == 0 {
            // A split that nobody ever had has epoch 0.
            let make = "INSERT INTO streams_split \
                        (split, epoch, nonce, member, version, beat, fingerprint, clean) \
                        VALUES (?, 0, 0, '', 0, 0, 0, 1) ON DUPLICATE KEY UPDATE split = split";
            session.exec(WHAT, make, vec![Value::from(number)]).await?;
            done = session.exec(WHAT, raise, values()).await?;
        }
        session.done();
        Ok((done.matched == 1).then_some(Token { epoch: done.last_id, nonce }))
    }

    /// Version and snapshot of `split`, in a new transaction; none before snapshot 0.
    ///
    /// # Errors
    /// When the server is away or refuses, or the snapshot cannot be understood.
    pub async fn read(&self, split: Split) -> Result<Option<(u64, Snapshot)>, Failure> {
        let mut session = self.server.session().await?;
        let sql = "SELECT version, snapshot FROM streams_split WHERE split = ? AND snapshot IS NOT NULL";
        let values = vec![Value::from(self.number(split))];
        let rows = session.rows("reading a split", sql, values).await?;
        session.done();
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let mut cells = Cells::of(row);
        let version = cells.number()?;
        let bytes = cells.bytes()?.unwrap_or_default();
        Ok(Some((version, self.snapshot(split, &bytes)?)))
    }

    /// Token and version of `split` as they are now; zeros for one that nobody ever had.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn observe(&self, split: Split) -> Result<(Token, u64), Failure> {
        let mut session = self.server.session().await?;
        let sql = "SELECT epoch, nonce, version FROM streams_split WHERE split = ?";
        let rows = session.rows("observing a split", sql, vec![self.number(split).into()]).await?;
        session.done();
        let Some(row) = rows.into_iter().next() else { return Ok((Token { epoch: 0, nonce: 0 }, 0)) };
        let mut cells = Cells::of(row);
        Ok((Token { epoch: cells.number()?, nonce: cells.number()? }, cells.number()?))
    }

    /// Whose `split` is; none where nobody ever had it.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn holder(&self, split: Split) -> Result<Option<Holder>, Failure> {
        let number = self.number(split);
        let seen = self.holders_between(number, number).await?;
        Ok(seen.into_iter().next().map(|(_, holder)| holder))
    }

    /// Whose all splits are that somebody has had, by one query.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn holders(&self) -> Result<Vec<(Split, Holder)>, Failure> {
        let (first, last) = self.numbers();
        self.holders_between(first, last).await
    }

    async fn holders_between(&self, first: u64, last: u64) -> Result<Vec<(Split, Holder)>, Failure> {
        let mut session = self.server.session().await?;
        let sql = "SELECT split, epoch, nonce, member, beat, clean FROM streams_split \
                   WHERE split BETWEEN ? AND ? AND epoch > 0 ORDER BY split";
        let rows = session.rows("observing splits", sql, vec![first.into(), last.into()]).await?;
        session.done();
        let seen = rows.into_iter().map(|row| {
            let mut cells = Cells::of(row);
            let split = split_of(cells.number()?);
            let token = Token { epoch: cells.number()?, nonce: cells.number()? };
            let member = String::from_utf8_lossy(&cells.bytes()?.unwrap_or_default()).into_owned();
            let (moves, clean) = (cells.number()?, cells.number()? == 1);
            Ok((split, Holder { member, token, moves, clean }))
        });
        Ok(seen.collect::<Result<_, Trouble>>()?)
    }

    /// The last snapshot of every split.
    ///
    /// # Errors
    /// When the server is away or refuses, or a snapshot cannot be understood.
    pub async fn snapshots(&self) -> Result<Vec<(Split, Snapshot)>, Failure> {
        let mut session = self.server.session().await?;
        let sql = "SELECT split, snapshot FROM streams_split \
                   WHERE split BETWEEN ? AND ? AND snapshot IS NOT NULL ORDER BY split";
        let (first, last) = self.numbers();
        let values = vec![Value::from(first), Value::from(last)];
        let rows = session.rows("reading all snapshots", sql, values).await?;
        session.done();
        let all = rows.into_iter().map(|row| {
            let mut cells = Cells::of(row);
            let split = split_of(cells.number()?);
            let bytes = cells.bytes()?.unwrap_or_default();
            Ok((split, self.snapshot(split, &bytes)?))
        });
        all.collect()
    }

    /// Says for all splits of this instance that their owner lives; moves what [`Holder::moves`] shows and nothing
    /// else. Those that have another owner by now are left alone, and those that are being committed, which moves
    /// them too: how many were moved.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn heartbeat(&self, owned: &[(Split, Token)]) -> Result<u64, Failure> {
        const WHAT: &str = "saying that this instance lives";
        /// How many one transaction has.
        const AT_ONCE: usize = 64;
        let mut moved = 0;
        let mut session = self.server.session().await?;
        for some in owned.chunks(AT_ONCE) {
            let each = vec!["(split = ? AND epoch = ? AND nonce = ?)"; some.len()].join(" OR ");
            // One split that is committed for long must not make all others look dead.
            let free = format!("SELECT split FROM streams_split WHERE {each} FOR UPDATE SKIP LOCKED");
            let values = some
                .iter()
                .flat_map(|(split, token)| [self.number(*split), token.epoch, token.nonce].map(Value::from));
            session.text(WHAT, "START TRANSACTION").await?;
            let free = session.rows(WHAT, &free, values.collect()).await?;
            let numbers = free.into_iter().map(|row| Cells::of(row).number().map(Value::from));
            let numbers = numbers.collect::<Result<Vec<Value>, Trouble>>()?;
            if !numbers.is_empty() {
                let each = list("?", numbers.len());
                let sql = format!("UPDATE streams_split SET beat = beat + 1 WHERE split IN ({each})");
                moved += session.exec(WHAT, &sql, numbers).await?.matched;
            }
            session.text(WHAT, "COMMIT").await?;
        }
        session.done();
        Ok(moved)
    }

    fn snapshot(&self, split: Split, bytes: &[u8]) -> Result<Snapshot, Failure> {
        Snapshot::decode(bytes).map_err(|error| {
            Failure::Fatal(format!(
                "the snapshot of queue {} of stage {} at {} cannot be read: {error}; run the program that wrote it",
                split.queue,
                split.stage.0,
                self.server.place()
            ))
        })
    }
}

/// The split that a number in the tables stands for.
#[expect(clippy::cast_possible_truncation, reason = "each half is 16 bits wide")]
pub(super) fn split_of(number: u64) -> Split {
    Split { stage: Stage((number >> 16) as u16), queue: number as u16 }
}
