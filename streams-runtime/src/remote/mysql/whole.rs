//! A job's state as a whole: looked at, carried away as of one moment, brought in, set back. None of this is done
//! while the job works; what changes something is one transaction that compares what it replaces.

use mysql_async::Value;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::worker::{rows_of, split_of_row};
use streams_core::store::Delta;
use streams_core::store::backing::Row;

use super::Mysql;
use super::address::Address;
use super::commit::{Changes, finish, fits};
use super::schema;
use super::session::{Cells, Server, Session};
use super::splits::split_of;
use super::trouble::Trouble;
use crate::remote::Failure;

const READING: &str = "reading a job's state";
const IMPORTING: &str = "bringing a savepoint in";
/// How many rows are read at once.
const PAGE_ROWS: usize = 2000;
/// How many bytes of rows are gathered before they are written.
const PART_BYTES: usize = 1 << 20;

/// The row of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitState {
    /// Whose it was last; epoch 0 where nobody ever had it.
    pub owner: Token,
    /// How many commits it has had.
    pub version: u64,
    /// Of the code that had it.
    pub fingerprint: u64,
    /// Whether its last owner has ended in order.
    pub clean: bool,
    /// Encoded; none before snapshot 0.
    pub snapshot: Option<Vec<u8>>,
}

/// What there is of a job, in this order.
#[derive(Debug)]
pub enum Kept<'a> {
    /// The record of the job.
    Job(&'a [u8]),
    /// A row of an operator: its split, its key without the split's prefix, its value.
    Row(Split, &'a [u8], &'a [u8]),
    /// The row of a split.
    Split(Split, SplitState),
}

/// A split, an operator's id, how many rows, and how many bytes keys and values have.
pub type Tally = (Split, [u8; 8], u64, u64);

impl Mysql {
    /// The job named by `group`, where there is one: nothing is made.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn find(address: &Address, group: &str) -> Result<Option<Self>, Failure> {
        let server = Server::new(address);
        let mut session = server.session().await?;
        let found = match schema::is_there(&mut session, server.place()).await? {
            true => {
                let sql = "SELECT id FROM streams_job WHERE name = ?";
                session.rows("looking for the job", sql, vec![Value::from(group)]).await?
            }
            false => Vec::new(),
        };
        session.done();
        let Some(row) = found.into_iter().next() else { return Ok(None) };
        let id = Cells::of(row).number()?;
        let job = u32::try_from(id).map_err(|_| Failure::Fatal(format!("the job has the number {id}")))?;
        Ok(Some(Self { server, job, member: group.into() }))
    }

    /// The rows of all splits.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn split_states(&self) -> Result<Vec<(Split, SplitState)>, Failure> {
        let mut session = self.server.session().await?;
        let states = self.states(&mut session).await?;
        session.done();
        Ok(states)
    }

    async fn states(&self, session: &mut Session) -> Result<Vec<(Split, SplitState)>, Trouble> {
        let sql = "SELECT split, epoch, nonce, version, fingerprint, clean, snapshot FROM streams_split \
                   WHERE split BETWEEN ? AND ? ORDER BY split";
        let (first, last) = self.numbers();
        let rows = session.rows(READING, sql, vec![first.into(), last.into()]).await?;
        let state = |row| {
            let mut cells = Cells::of(row);
            let split = split_of(cells.number()?);
            let owner = Token { epoch: cells.number()?, nonce: cells.number()? };
            let (version, fingerprint) = (cells.number()?, cells.number()?);
            let clean = cells.number()? == 1;
            Ok((split, SplitState { owner, version, fingerprint, clean, snapshot: cells.bytes()? }))
        };
        rows.into_iter().map(state).collect()
    }

    /// How much each operator keeps in each split.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn tallies(&self) -> Result<Vec<Tally>, Failure> {
        let mut session = self.server.session().await?;
        // A row of eight bytes is what the operator keeps for itself.
        let sql = "SELECT split, SUBSTRING(k, 1, 8), CAST(SUM(LENGTH(k) > 8) AS UNSIGNED), \
                   CAST(SUM(LENGTH(k) + LENGTH(v) + 5) AS UNSIGNED) \
                   FROM streams_row WHERE split BETWEEN ? AND ? GROUP BY 1, 2 ORDER BY 1, 2";
        let (first, last) = self.numbers();
        let rows = session.rows(READING, sql, vec![first.into(), last.into()]).await?;
        session.done();
        let tally = |row| {
            let mut cells = Cells::of(row);
            let split = split_of(cells.number()?);
            let operator = cells.bytes()?.unwrap_or_default();
            let operator = operator.try_into().map_err(|_| {
                Trouble::Fatal("a row's key is too short; the tables are not this program's".to_owned())
            })?;
            Ok((split, operator, cells.number()?, cells.number()?))
        };
        Ok(rows.into_iter().map(tally).collect::<Result<_, Trouble>>()?)
    }

    /// Visits everything that there is of the job, as of one moment, whatever is committed meanwhile.
    ///
    /// # Errors
    /// When the server is away or refuses; the visitor's own.
    pub async fn visit(&self, visit: &mut dyn FnMut(Kept<'_>) -> Result<(), String>) -> Result<(), Failure> {
        let mut session = self.server.session().await?;
        session.text(READING, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        session.text(READING, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await?;
        let told = Failure::Fatal;
        let sql = "SELECT body FROM streams_job WHERE id = ? AND version > 0";
        let job = session.rows(READING, sql, vec![Value::from(self.job)]).await?;
        let job = job.into_iter().next().map(|row| Cells::of(row).bytes()).transpose()?.flatten();
        visit(Kept::Job(&job.unwrap_or_default())).map_err(told)?;
        let states = self.states(&mut session).await?;
        for (split, _) in &states {
            let mut after: Vec<u8> = Vec::new();
            loop {
                let sql = format!(
                    "SELECT k, v FROM streams_row WHERE split = ? AND k > ? ORDER BY k LIMIT {PAGE_ROWS}"
                );
                let values = vec![self.number(*split).into(), Value::from(after.as_slice())];
                let rows = session.rows(READING, &sql, values).await?;
                let n_rows = rows.len();
                for row in rows {
                    let mut cells = Cells::of(row);
                    let (key, value) =
                        (cells.bytes()?.unwrap_or_default(), cells.bytes()?.unwrap_or_default());
                    visit(Kept::Row(*split, &key, &value)).map_err(told)?;
                    after = key;
                }
                if n_rows < PAGE_ROWS {
                    break;
                }
            }
        }
        for (split, state) in states {
            visit(Kept::Split(split, state)).map_err(told)?;
        }
        session.text(READING, "COMMIT").await?;
        session.done();
        Ok(())
    }

    /// Makes this the whole state of the job, if it has none; whether it had none. `next` gives rows with whole keys,
    /// those of one split together.
    ///
    /// # Errors
    /// When the server is away or refuses; what `next` says. Nothing is there then, unless the text says that nobody
    /// knows.
    pub async fn import(
        &self,
        job: &[u8],
        splits: &[(Split, SplitState)],
        next: &mut dyn FnMut() -> Result<Option<Row>, String>,
    ) -> Result<bool, Failure> {
        let mut session = self.server.session().await?;
        session.text(IMPORTING, "START TRANSACTION").await?;
        // Order: in front of everything else, so that of two that come at once one waits, and finds it done.
        let sql = "UPDATE streams_job SET version = 1, body = ? WHERE id = ? AND version = 0";
        fits(&session, job.len())?;
        let done = session.exec(IMPORTING, sql, vec![Value::from(job), Value::from(self.job)]).await?;
        if done.matched != 1 {
            session.text(IMPORTING, "ROLLBACK").await?;
            session.done();
            return Ok(false);
        }
        for (split, state) in splits {
            let snapshot = state.snapshot.as_deref().unwrap_or_default();
            fits(&session, snapshot.len())?;
            let sql = "INSERT INTO streams_split \
                       (split, epoch, nonce, member, version, beat, fingerprint, clean, snapshot) \
                       VALUES (?, ?, ?, '', ?, 0, ?, ?, ?)";
            let values = vec![
                Value::from(self.number(*split)),
                Value::from(state.owner.epoch),
                Value::from(state.owner.nonce),
                Value::from(state.version),
                Value::from(state.fingerprint),
                Value::from(u8::from(state.clean)),
                state.snapshot.as_deref().map_or(Value::NULL, Value::from),
            ];
            session.exec(IMPORTING, sql, values).await?;
        }
        let mut part = Part::default();
        while let Some((key, value)) = next().map_err(Failure::Fatal)? {
            let split = split_of_key(&key)?;
            if part.split != Some(split) || part.bytes >= PART_BYTES {
                self.write(&mut session, &mut part).await?;
                part.split = Some(split);
            }
            part.bytes += key.len() + value.len();
            part.rows.put(&key, &value);
        }
        self.write(&mut session, &mut part).await?;
        finish(session).await.map_err(|trouble| unknown(trouble, IMPORTING))?;
        Ok(true)
    }

    async fn write(&self, session: &mut Session, part: &mut Part) -> Result<(), Failure> {
        if let Some(split) = part.split {
            Changes::of(&part.rows, rows_of(split))?.write(session, self.number(split)).await?;
        }
        part.rows.clear();
        part.bytes = 0;
        Ok(())
    }

    /// Sets splits whose rows are still the first ones, to the second ones: all of them, or none.
    ///
    /// # Errors
    /// When the server is away or refuses. Nothing is changed then, unless the text says that nobody knows.
    pub async fn replace(&self, splits: &[(Split, SplitState, SplitState)]) -> Result<bool, Failure> {
        const WHAT: &str = "setting splits back";
        let mut session = self.server.session().await?;
        session.text(WHAT, "START TRANSACTION").await?;
        for (split, old, new) in splits {
            let snapshot = new.snapshot.as_deref();
            fits(&session, snapshot.map_or(0, <[u8]>::len))?;
            let sql = "UPDATE streams_split SET epoch = ?, nonce = ?, version = ?, beat = beat + 1, clean = ?, \
                       snapshot = ? \
                       WHERE split = ? AND epoch = ? AND nonce = ? AND version = ? AND clean = ?";
            let values = vec![
                Value::from(new.owner.epoch),
                Value::from(new.owner.nonce),
                Value::from(new.version),
                Value::from(u8::from(new.clean)),
                snapshot.map_or(Value::NULL, Value::from),
                Value::from(self.number(*split)),
                Value::from(old.owner.epoch),
                Value::from(old.owner.nonce),
                Value::from(old.version),
                Value::from(u8::from(old.clean)),
            ];
            if session.exec(WHAT, sql, values).await?.matched != 1 {
                session.text(WHAT, "ROLLBACK").await?;
                session.done();
                return Ok(false);
            }
        }
        finish(session).await.map_err(|trouble| unknown(trouble, WHAT))?;
        Ok(true)
    }
}

/// Rows of one split that are to be written.
#[derive(Default)]
struct Part {
    split: Option<Split>,
    rows: Delta,
    bytes: usize,
}

fn split_of_key(key: &[u8]) -> Result<Split, Failure> {
    let found = split_of_row(key).map(|(split, _)| split);
    found.ok_or_else(|| Failure::Fatal("a row of the savepoint belongs to no queue".to_owned()))
}

/// What was to become durable when the connection was lost.
fn unknown(trouble: Trouble, what: &str) -> Failure {
    let text = match Failure::from(trouble) {
        Failure::Away(text) | Failure::Fatal(text) => text,
    };
    Failure::Away(format!("{text}; whether {what} went through is not known: look with `state ls`"))
}
