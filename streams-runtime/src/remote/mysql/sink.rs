//! Results as rows of a table: `mysql://user@host/db?table=NAME&mode=insert|ignore|upsert&key=a,b&create=true`.
//!
//! Records are JSON objects; each field is a column. They are written in one of two ways: in the very transaction
//! that commits the split they come from, by [`Mysql::commit_with`](super::Mysql::commit_with) — then each is there
//! exactly once in any mode, whatever crashes — or in a transaction of their own, which may happen twice and is
//! therefore only for the modes that a repetition does not change.

mod columns;
mod rows;

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use self::columns::Table;
use super::address::Address;
use super::commit::finish;
use super::session::Server;
use super::trouble::Trouble;
use crate::remote::Failure;

pub use rows::SinkRows;

/// What happens to a record whose key is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is an error of the server's; a table without a key takes everything.
    Insert,
    /// The row stays as it is.
    Ignore,
    /// The row becomes the record.
    Upsert,
}

/// An address of results: which table, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The server and the database.
    pub address: Address,
    /// The table's name.
    pub table: String,
    /// What happens to a record whose key is there already.
    pub mode: Mode,
    /// The columns of the key, for a table that is made.
    pub key: Vec<String>,
    /// Whether the table is made where it is missing.
    pub create: bool,
}

impl Target {
    /// Reads an address of results; the password is looked up by `env`.
    ///
    /// # Errors
    /// A text that says what to write instead.
    pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let (address, options) = Address::parse_with(text, env)?;
        let (mut table, mut mode, mut key, mut create) = (None, Mode::Insert, Vec::new(), false);
        for (name, value) in options {
            match name.as_str() {
                "table" => table = Some(identifier(&value)?),
                "mode" => {
                    mode = match value.as_str() {
                        "insert" => Mode::Insert,
                        "ignore" => Mode::Ignore,
                        "upsert" => Mode::Upsert,
                        _ => {
                            return Err(format!(
                                "`mode={value}` is unknown; there are insert, ignore and upsert"
                            ));
                        }
                    }
                }
                "key" => key = value.split(',').map(identifier).collect::<Result<_, _>>()?,
                "create" => {
                    create = match value.as_str() {
                        "true" => true,
                        "false" => false,
                        _ => {
                            return Err(format!(
                                "`create={value}` is unknown; write `create=true` or leave it out"
                            ));
                        }
                    }
                }
                _ => {
                    return Err(format!(
                        "unknown option `{name}` of a table's address; there are `table`, `mode`, `key`, `create`, \
                         `socket`, `tls`, `ca` and `timeout`"
                    ));
                }
            }
        }
        let Some(table) = table else {
            return Err(format!("{address} names no table; add `?table=NAME`"));
        };
        if create && mode != Mode::Insert && key.is_empty() {
            return Err(format!(
                "table `{table}` is to be made for ignore or upsert, which need a key; add `&key=COLUMN,COLUMN`"
            ));
        }
        Ok(Self { address, table, mode, key, create })
    }
}

/// A table that is written to.
pub struct Sink {
    target: Target,
    server: Arc<Server>,
    /// None until it is there.
    table: Mutex<Option<Table>>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Sink {
    /// Looks at the table.
    ///
    /// # Errors
    /// When the server is away or refuses; when the table is missing and not to be made, or has no unique key for a
    /// mode that needs one.
    pub async fn open(target: &Target) -> Result<Self, Failure> {
        let sink =
            Self { target: target.clone(), server: Server::new(&target.address), table: Mutex::default() };
        sink.look().await?;
        if sink.table().is_none() && !target.create {
            return Err(Failure::Fatal(format!(
                "there is no table `{}` at {}; create it, or add `&create=true`",
                target.table, target.address
            )));
        }
        Ok(sink)
    }

    fn table(&self) -> Option<Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn look(&self) -> Result<(), Failure> {
        let mut session = self.server.session().await?;
        let table = columns::read(&mut session, &self.target).await?;
        session.done();
        *self.table.lock().unwrap_or_else(PoisonError::into_inner) = table;
        Ok(())
    }

    /// Makes rows of records, each one JSON object, and the table where it is missing: that cannot be done in the
    /// middle of a transaction.
    ///
    /// # Errors
    /// When the server is away or refuses, a record is no JSON object, or the table lacks a column for a field.
    pub async fn prepare(&self, records: &[&[u8]]) -> Result<SinkRows, Failure> {
        let records = rows::read(records).map_err(|text| {
            Failure::Fatal(format!(
                "a result for table `{}` at {}: {text}",
                self.target.table, self.target.address
            ))
        })?;
        if self.table().is_none() && !records.is_empty() {
            let mut session = self.server.session().await?;
            columns::create(&mut session, &self.target, &records).await?;
            session.done();
            self.look().await?;
        }
        let missing = |table: &Option<Table>| rows::missing(table.as_ref(), &records).map(str::to_owned);
        if missing(&self.table()).is_some() {
            // Somebody may have added it.
            self.look().await?;
        }
        if let Some(field) = missing(&self.table()) {
            return Err(Failure::Fatal(format!(
                "table `{}` at {} has no column for field `{field}`; add it by `ALTER TABLE {} ADD COLUMN {} …`",
                self.target.table,
                self.target.address,
                quoted(&self.target.table),
                quoted(&field)
            )));
        }
        Ok(SinkRows::of(&self.target, records))
    }

    /// Writes rows in a transaction of their own. Behind [`Failure::Away`] they may be there: write them again.
    ///
    /// # Errors
    /// When the server is away or refuses; always with [`Mode::Insert`], which a repetition would double.
    pub async fn write(&self, rows: &SinkRows) -> Result<(), Failure> {
        if self.target.mode == Mode::Insert {
            return Err(Failure::Fatal(format!(
                "table `{}` at {} is on another server than the job's state, so that rows may be written twice; use \
                 `mode=upsert` or `mode=ignore`",
                self.target.table, self.target.address
            )));
        }
        let mut session = self.server.session().await?;
        session.text(rows::WHAT, "START TRANSACTION").await?;
        rows.write(&mut session).await?;
        finish(session).await.map_err(Failure::from)
    }
}

/// A name that can stand between backticks.
pub(super) fn identifier(name: &str) -> Result<String, String> {
    let fits = !name.is_empty()
        && name.chars().count() <= 64
        && !name.ends_with(' ')
        && name.chars().all(|c| c != '\0' && u32::from(c) <= 0xffff);
    if fits {
        Ok(name.to_owned())
    } else {
        Err(format!(
            "`{}` cannot name a table or a column in MySQL; use 1 to 64 letters",
            name.escape_debug()
        ))
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl Target {
    /// The table's name with its database's, quoted.
    fn name(&self) -> String {
        format!("{}.{}", quoted(&self.address.database), quoted(&self.table))
    }

    fn trouble(&self, text: &str) -> Trouble {
        Trouble::Fatal(format!("table `{}` at {}: {text}", self.table, self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let shown = match Target::parse(text, &|_| None) {
            Ok(target) => format!(
                "{} {:?} {:?} {} {}",
                target.name(),
                target.mode,
                target.key,
                target.create,
                target.address
            ),
            Err(error) => error,
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn targets() {
        check("mysql://u@h/db?table=t", "`db`.`t` Insert [] false mysql://u@h:3306/db");
        check(
            "mysql://u@h/d`b?table=a`b&mode=upsert&key=x,y&create=true&timeout=3",
            "`d``b`.`a``b` Upsert [\"x\", \"y\"] true mysql://u@h:3306/d`b",
        );
        check("mysql://u@h/db", "mysql://u@h:3306/db names no table; add `?table=NAME`");
        check("mysql://u@h/db?table=", "`` cannot name a table or a column in MySQL; use 1 to 64 letters");
        check(
            "mysql://u@h/db?table=t&mode=replace",
            "`mode=replace` is unknown; there are insert, ignore and upsert",
        );
        check(
            "mysql://u@h/db?table=t&mode=upsert&create=true",
            "table `t` is to be made for ignore or upsert, which need a key; add `&key=COLUMN,COLUMN`",
        );
        check(
            "mysql://u@h/db?table=t&keys=a",
            "unknown option `keys` of a table's address; there are `table`, `mode`, `key`, `create`, `socket`, `tls`, \
             `ca` and `timeout`",
        );
    }
}
