//! Records as rows: JSON objects are read, their fields made values, statements of many rows.

use std::fmt;

use mysql_async::Value;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use super::columns::Table;
use super::{Mode, Target, quoted};
use crate::remote::mysql::address::Address;
use crate::remote::mysql::commit::{cut, fits, most_bytes};
use crate::remote::mysql::rows::list;
use crate::remote::mysql::session::Session;
use crate::remote::mysql::trouble::Trouble;

pub(super) const WHAT: &str = "writing results";

/// How many values one statement has at most.
const MOST_VALUES: usize = 8192;

/// The fields of one record, in its own order.
pub(super) type Record = Vec<(String, Json)>;

/// Rows of a table, ready to be written.
#[derive(Clone)]
pub struct SinkRows {
    pub(in crate::remote::mysql) address: Address,
    /// In order: records that follow each other with the same fields are one.
    groups: Vec<Group>,
}

#[derive(Clone)]
struct Group {
    /// Around the list of rows.
    sql: [String; 2],
    n_columns: usize,
    rows: Vec<Vec<Value>>,
}

impl fmt::Debug for SinkRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkRows").field("address", &self.address).field("len", &self.len()).finish()
    }
}

impl SinkRows {
    pub(super) fn of(target: &Target, records: Vec<Record>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut fields: Vec<String> = Vec::new();
        for record in records {
            let same = fields.len() == record.len() && fields.iter().zip(&record).all(|(a, (b, _))| a == b);
            if !same || groups.is_empty() {
                fields = record.iter().map(|(name, _)| name.clone()).collect();
                groups.push(Group {
                    sql: around(target, &fields),
                    n_columns: fields.len(),
                    rows: Vec::new(),
                });
            }
            let row = record.into_iter().map(|(_, value)| of_json(value)).collect();
            if let Some(group) = groups.last_mut() {
                group.rows.push(row);
            }
        }
        Self { address: target.address.clone(), groups }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.rows.len()).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Writes them in the transaction that is open.
    pub(in crate::remote::mysql) async fn write(&self, session: &mut Session) -> Result<(), Trouble> {
        let most = most_bytes(session);
        for group in &self.groups {
            let row = format!("({})", list("?", group.n_columns));
            let most_rows = MOST_VALUES / group.n_columns.max(1);
            let mut rest = group.rows.as_slice();
            while let Some((some, behind)) = cut(rest, (most_rows, most), |row| bytes(row)) {
                if let [row] = some {
                    fits(session, bytes(row))?;
                }
                let [head, tail] = &group.sql;
                let sql = format!("{head}{}{tail}", list(&row, some.len()));
                session.exec(WHAT, &sql, some.concat()).await?;
                rest = behind;
            }
        }
        Ok(())
    }
}

/// What stands in front of the rows, and behind them.
fn around(target: &Target, fields: &[String]) -> [String; 2] {
    let names: Vec<String> = fields.iter().map(|name| quoted(name)).collect();
    let behind = match (target.mode, names.first()) {
        (Mode::Insert, _) | (_, None) => String::new(),
        // Only a key that is there already is ignored, and no other error.
        (Mode::Ignore, Some(first)) => format!(" ON DUPLICATE KEY UPDATE {first} = {first}"),
        (Mode::Upsert, Some(_)) => {
            let set: Vec<String> = names.iter().map(|name| format!("{name} = VALUES({name})")).collect();
            format!(" ON DUPLICATE KEY UPDATE {}", set.join(", "))
        }
    };
    [format!("INSERT INTO {} ({}) VALUES ", target.name(), names.join(", ")), behind]
}

fn bytes(row: &[Value]) -> usize {
    row.iter().map(|value| if let Value::Bytes(bytes) = value { bytes.len() } else { 8 }).sum()
}

fn of_json(value: Json) -> Value {
    match value {
        Json::Null => Value::NULL,
        Json::Bool(value) => Value::from(value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => Value::from(number),
            (_, Some(number), _) => Value::from(number),
            (_, _, Some(number)) => Value::from(number),
            _ => Value::from(number.to_string()),
        },
        Json::String(text) => Value::from(text),
        nested @ (Json::Array(_) | Json::Object(_)) => Value::from(nested.to_string()),
    }
}

/// A field that the table has no column for.
pub(super) fn missing<'a>(table: Option<&Table>, records: &'a [Record]) -> Option<&'a str> {
    let table = table?;
    // Records of one type: the fields of the last one are likely those of this one.
    let mut known: Option<&Record> = None;
    for record in records {
        let same = |known: &Record| {
            known.len() == record.len() && known.iter().zip(record).all(|((a, _), (b, _))| a == b)
        };
        if known.is_some_and(same) {
            continue;
        }
        if let Some((name, _)) = record.iter().find(|(name, _)| !table.has(name)) {
            return Some(name);
        }
        known = Some(record);
    }
    None
}

/// Reads records, each one JSON object.
pub(super) fn read(records: &[&[u8]]) -> Result<Vec<Record>, String> {
    let record = |record: &&[u8]| match serde_json::from_slice::<Fields>(record) {
        Ok(Fields(record)) if record.is_empty() => Err("it has no fields, and a row needs some".to_owned()),
        Ok(Fields(record)) => Ok(record),
        Err(error) => Err(format!("it is no JSON object ({error}); give the output port a record type")),
    };
    records.iter().map(record).collect()
}

struct Fields(Record);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(record: &str, expect: &str) {
        let shown = match read(&[record.as_bytes()]) {
            Ok(records) => format!("{records:?}"),
            Err(text) => text,
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn fields_keep_their_order() {
        check("{\"b\":1,\"a\":null}\n", "[[(\"b\", Number(1)), (\"a\", Null)]]");
        check(
            "{\"a\":1}{",
            "it is no JSON object (trailing characters at line 1 column 8); give the output port a record type",
        );
        check("{}", "it has no fields, and a row needs some");
        check(
            "[1]",
            "it is no JSON object (invalid type: sequence, expected an object at line 1 column 0); give the output \
             port a record type",
        );
    }
}
