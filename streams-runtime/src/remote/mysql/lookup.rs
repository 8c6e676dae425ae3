//! Rows of a table that a job looks up: `mysql://user@host/db?table=NAME`, all at once, or with `&by=COLUMN` one by one.
//!
//! Reads only, and outside of any transaction of the job's: what is looked up is not part of its state.

use std::ffi::OsString;
use std::sync::Arc;

use mysql_async::Value;
use serde_json::Value as Json;
use streams_core::lookup::Row;

use super::address::Address;
use super::session::Server;
use super::sink::{identifier, quoted};
use super::trouble::Trouble;
use crate::remote::Failure;

const WHAT: &str = "reading a table";

/// A table whose rows are looked up.
#[derive(Clone)]
pub struct LookupTable {
    server: Arc<Server>,
    table: String,
    by: Option<String>,
}

impl std::fmt::Debug for LookupTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookupTable")
            .field("table", &self.table)
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}

impl LookupTable {
    /// Reads an address; the password is looked up by `env`. Nothing is connected yet.
    ///
    /// # Errors
    /// A text that says what to write instead.
    pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let (address, options) = Address::parse_with(text, env)?;
        let (mut table, mut by) = (None, None);
        for (name, value) in options {
            match name.as_str() {
                "table" => table = Some(identifier(&value)?),
                "by" => by = Some(identifier(&value)?),
                _ => {
                    return Err(format!(
                        "unknown option `{name}` of a table's address; there are `table`, `by`, `keep`, `refresh`, \
                         `socket`, `tls`, `ca` and `timeout`"
                    ));
                }
            }
        }
        let table = table.ok_or_else(|| format!("{address} names no table; add `?table=NAME`"))?;
        Ok(Self { server: Server::new(&address), table, by })
    }

    /// All rows.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn all(&self) -> Result<Vec<Result<Row, String>>, Failure> {
        let sql = format!("SELECT * FROM {}", quoted(&self.table));
        let rows = self.rows(&sql, Vec::new()).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    /// The rows with this key, two at the most: more than one is a mistake.
    ///
    /// # Errors
    /// When the server is away or refuses; and when the key is nothing that a column holds.
    pub async fn with_key(&self, key: &Json) -> Result<Vec<Result<Row, String>>, Failure> {
        let value = match key {
            Json::String(text) => Value::Bytes(text.clone().into_bytes()),
            Json::Bool(yes) => Value::Int(i64::from(*yes)),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(number), ..) => Value::Int(number),
                (_, Some(number), _) => Value::UInt(number),
                (_, _, number) => Value::Double(number.unwrap_or(f64::NAN)),
            },
            other => {
                return Err(Failure::Fatal(format!(
                    "the key {other} is no value of a column; use a text or a number"
                )));
            }
        };
        let by = self.by.as_deref().unwrap_or_default();
        let sql = format!("SELECT * FROM {} WHERE {} = ? LIMIT 2", quoted(&self.table), quoted(by));
        let rows = self.rows(&sql, vec![value]).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    async fn rows(&self, sql: &str, values: Vec<Value>) -> Result<Vec<mysql_async::Row>, Trouble> {
        let mut session = self.server.session().await?;
        let rows = session.rows(WHAT, sql, values).await?;
        session.done();
        Ok(rows)
    }
}

/// A row as texts by column.
fn row(row: mysql_async::Row) -> Result<Row, String> {
    let names: Vec<Arc<str>> = row.columns_ref().iter().map(|column| column.name_str().into()).collect();
    let fields = names.into_iter().zip(row.unwrap()).map(|(name, value)| {
        let text = match value {
            Value::NULL => None,
            Value::Bytes(bytes) => {
                Some(String::from_utf8(bytes).map_err(|_| format!("column `{name}`: it is no text"))?)
            }
            Value::Int(number) => Some(number.to_string()),
            Value::UInt(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Double(number) => Some(number.to_string()),
            // As SQL writes them, without the quotes.
            time @ (Value::Date(..) | Value::Time(..)) => {
                Some(time.as_sql(true).trim_matches('\'').to_owned())
            }
        };
        Ok((name, text))
    });
    fields.collect::<Result<_, String>>().map(Row::Fields)
}
