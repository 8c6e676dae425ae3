//! The shared store in MySQL or MariaDB.
//!
//! One row per split says who owns it (a token), how many commits it has had (a version) and what its last snapshot
//! is; the rows of its operators lie beside it under their keys. A commit is one transaction that begins with that
//! row: it goes through whole and by the owner of the token alone, or leaves nothing.
//!
//! What survives which crash:
//!
//! - **This process, at any moment**: what was committed. The server rolls back what was open, at the latest when
//!   the process has said nothing for ten seconds (`wait_timeout`); until then another owner's raise waits for
//!   the row and is told to ask again.
//! - **The connection, behind a sent COMMIT**: nobody knows, and [`CommitOutcome::Unknown`] says so. The version of
//!   the row tells; repeating the commit is safe, since it compares the version.
//! - **The server**: what was committed, if it is set up to keep it (`innodb_flush_log_at_trx_commit = 1`, the
//!   default).
//! - **A failover to a replica that lags behind**: its last transactions are gone, raises among them. Tokens carry
//!   a random number, so that two owners of one epoch are told apart; a lost commit is a lost commit. Replicate
//!   semi-synchronously where that matters.
//!
//! Every call ends within the address's `timeout` per statement, also when the other side swallows everything, and
//! nothing is repeated here. Calls do not wait for each other, but for one of eight connections. Any of them can be
//! dropped before it ends, which is as good as a lost connection.
//!
//! It needs MySQL 8.0 or MariaDB 10.6, or newer ones. A job begins anew when its row in `streams_job` is removed: its
//! next number is another one, and what belonged to the old number is of no use to anybody.
//!
//! It needs the runtime of tokio around it, with I/O and time.

mod address;
mod commit;
mod lookup;
mod rows;
mod schema;
mod session;
pub mod sink;
mod splits;
mod trouble;
mod whole;

use std::fmt;
use std::sync::Arc;

use mysql_async::Value;
use streams_core::protocol::ids::Split;
#[cfg(doc)]
use streams_core::protocol::worker::CommitOutcome;

use self::session::{Cells, Server};
use self::trouble::Trouble;
use super::Failure;

pub use address::{Address, PASSWORD, PASSWORD_FILE, Tls};
pub use lookup::LookupTable;
pub use rows::Page;
pub use schema::statements;
pub use whole::{Kept, SplitState, Tally};

/// The longest name of a group or of a member.
const MOST_NAME_BYTES: usize = 255;

/// The part of the store that belongs to one job. Clones share their connections.
#[derive(Clone)]
pub struct Mysql {
    server: Arc<Server>,
    /// The number of the job in the store: another one behind every reset.
    job: u32,
    member: Arc<str>,
}

impl fmt::Debug for Mysql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mysql").field("server", &self.server.place()).field("job", &self.job).finish()
    }
}

impl Mysql {
    /// Connects, makes the tables where there are none, and gives the job named by `group` its number. What is taken
    /// is taken in the name of `member`, which no other process has.
    ///
    /// # Errors
    /// [`Failure::Fatal`] for a wrong password, missing rights, tables of a newer program: the text says what to
    /// do.
    pub async fn open(address: &Address, group: &str, member: &str) -> Result<Self, Failure> {
        for name in [group, member] {
            if name.is_empty() || name.len() > MOST_NAME_BYTES {
                return Err(Failure::Fatal(format!(
                    "`{name}` cannot name a job or an instance in {address}; use 1 to {MOST_NAME_BYTES} bytes"
                )));
            }
        }
        let server = Server::new(address);
        let mut session = server.session().await?;
        schema::prepare(&mut session, server.place()).await?;
        let name = || vec![Value::from(group)];
        let find = "SELECT id FROM streams_job WHERE name = ?";
        let mut rows = session.rows("looking for the job", find, name()).await?;
        if rows.is_empty() {
            let make = "INSERT INTO streams_job (name, version, body) VALUES (?, 0, '') \
                        ON DUPLICATE KEY UPDATE version = version";
            session.exec("making the job's row", make, name()).await?;
            rows = session.rows("looking for the job", find, name()).await?;
        }
        let id = rows.into_iter().next().map(|row| Cells::of(row).number()).transpose()?;
        let job = id.and_then(|id| u32::try_from(id).ok()).ok_or_else(|| {
            Trouble::Fatal(format!(
                "the row of job `{group}` at {address} has just been removed; start again"
            ))
        })?;
        session.done();
        Ok(Self { server, job, member: member.into() })
    }

    /// The server and the database, for texts.
    #[must_use]
    pub fn place(&self) -> &str {
        self.server.place()
    }

    /// Whether this is the server of `address`, so that one transaction can write to both.
    #[must_use]
    pub fn is_at(&self, address: &Address) -> bool {
        address.is_same_server(self.server.address())
    }

    /// The record of the job and its version; none before the first [`put_job`](Self::put_job).
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn job(&self) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        let mut session = self.server.session().await?;
        let sql = "SELECT version, body FROM streams_job WHERE id = ? AND version > 0";
        let rows = session.rows("reading the job", sql, vec![Value::from(self.job)]).await?;
        session.done();
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let mut cells = Cells::of(row);
        Ok(Some((cells.number()?, cells.bytes()?.unwrap_or_default())))
    }

    /// Sets the record of the job if its version is still `before`; whether it was. The new version is the next
    /// number.
    ///
    /// # Errors
    /// When the server is away or refuses. Behind [`Failure::Away`] it may have happened: read the record again.
    pub async fn put_job(&self, before: Option<u64>, bytes: &[u8]) -> Result<bool, Failure> {
        let mut session = self.server.session().await?;
        let sql = "UPDATE streams_job SET version = version + 1, body = ? WHERE id = ? AND version = ?";
        let values = vec![Value::from(bytes), Value::from(self.job), Value::from(before.unwrap_or(0))];
        let done = session.exec("writing the job", sql, values).await?;
        session.done();
        Ok(done.matched == 1)
    }

    /// The split's number in the tables.
    fn number(&self, split: Split) -> u64 {
        u64::from(self.job) << 32 | u64::from(split.stage.0) << 16 | u64::from(split.queue)
    }

    /// The numbers of all splits that this job can have, first and last.
    fn numbers(&self) -> (u64, u64) {
        let first = u64::from(self.job) << 32;
        (first, first | u64::from(u32::MAX))
    }
}
