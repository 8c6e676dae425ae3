//! The columns of a table: looked at where it is there, made of the first records where it is not.
//!
//! A record's type is not known here, only its JSON: a whole number becomes `BIGINT`, another number `DOUBLE`, a
//! boolean `BOOLEAN`, a text `MEDIUMTEXT` or in the key `VARCHAR(255)`, and everything else, a field that is null in
//! all of the first records included, the text of its JSON. Make the table by hand for anything better. Keys are
//! compared byte by byte: `a`, `A` and `a ` are three keys.

use serde_json::Value as Json;

use super::rows::Record;
use super::{Mode, Target, identifier, quoted};
use crate::remote::mysql::session::{Cells, Session};
use crate::remote::mysql::trouble::Trouble;

const WHAT: &str = "looking at the table of results";

/// What is known of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// The names of its columns, in lower case: the server does not tell cases apart.
    columns: Vec<String>,
}

impl Table {
    pub(super) fn has(&self, field: &str) -> bool {
        self.columns.contains(&field.to_lowercase())
    }
}

/// The table; none where it is missing.
pub(super) async fn read(session: &mut Session, target: &Target) -> Result<Option<Table>, Trouble> {
    let place = || vec![target.address.database.as_str().into(), target.table.as_str().into()];
    let sql = "SELECT CAST(column_name AS BINARY) FROM information_schema.columns \
               WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position";
    let columns = texts(session.rows(WHAT, sql, place()).await?)?;
    if columns.is_empty() {
        return Ok(None);
    }
    if target.mode != Mode::Insert {
        let sql = "SELECT CAST(GROUP_CONCAT(column_name ORDER BY seq_in_index) AS BINARY) \
                   FROM information_schema.statistics \
                   WHERE table_schema = ? AND table_name = ? AND non_unique = 0 GROUP BY index_name";
        let keys = texts(session.rows(WHAT, sql, place()).await?)?;
        let wanted = target.key.join(",").to_lowercase();
        if keys.is_empty() || !(wanted.is_empty() || keys.contains(&wanted)) {
            let which = if wanted.is_empty() { String::new() } else { format!(" on `{wanted}`") };
            return Err(target.trouble(&format!(
                "ignore and upsert need a unique key{which}, and the table has none; add one by `ALTER TABLE {} ADD \
                 UNIQUE …`, or use `mode=insert`",
                quoted(&target.table)
            )));
        }
    }
    Ok(Some(Table { columns }))
}

fn texts(rows: Vec<mysql_async::Row>) -> Result<Vec<String>, Trouble> {
    let text = |row| {
        let bytes = Cells::of(row).bytes()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).to_lowercase())
    };
    rows.into_iter().map(text).collect()
}

/// Makes the table for such records.
pub(super) async fn create(
    session: &mut Session,
    target: &Target,
    records: &[Record],
) -> Result<(), Trouble> {
    let version = texts(session.rows(WHAT, "SELECT CAST(VERSION() AS BINARY)", Vec::new()).await?)?;
    let is_mariadb = version.first().is_some_and(|version| version.contains("mariadb"));
    let sql = statement(target, records, is_mariadb).map_err(|text| target.trouble(&text))?;
    match session.text("creating the table of results", &sql).await {
        Err(Trouble::Fatal(text)) => Err(Trouble::Fatal(format!(
            "{text}\nlet somebody who may make the table at {}:\n{sql};",
            target.address
        ))),
        other => other,
    }
}

fn statement(target: &Target, records: &[Record], is_mariadb: bool) -> Result<String, String> {
    // Texts of these are different when their bytes are.
    let collation = if is_mariadb { "utf8mb4_nopad_bin" } else { "utf8mb4_0900_bin" };
    let mut columns: Vec<(&str, Option<&'static str>)> = Vec::new();
    for (name, value) in records.iter().flatten() {
        match columns.iter_mut().find(|(known, _)| known == name) {
            Some((_, column)) => *column = wider(*column, value),
            None => columns.push((identifier(name).map(|_| name.as_str())?, wider(None, value))),
        }
    }
    if let Some(missing) = target.key.iter().find(|key| !columns.iter().any(|(name, _)| name == key)) {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "the records have no field `{missing}` for the key; they have {}",
            names.join(", ")
        ));
    }
    let mut parts: Vec<String> = columns
        .iter()
        .map(|(name, column)| {
            let is_key = target.key.iter().any(|key| key == name);
            let column = match column {
                None | Some("MEDIUMTEXT") if is_key => "VARCHAR(255)",
                other => other.unwrap_or("MEDIUMTEXT"),
            };
            format!("{} {column}{}", quoted(name), if is_key { " NOT NULL" } else { " NULL" })
        })
        .collect();
    if !target.key.is_empty() {
        let key: Vec<String> = target.key.iter().map(|key| quoted(key)).collect();
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    Ok(format!(
        "CREATE TABLE IF NOT EXISTS {} ({}) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET utf8mb4 COLLATE {collation}",
        target.name(),
        parts.join(", ")
    ))
}

/// The type that takes what a column had so far and `value`.
fn wider(column: Option<&'static str>, value: &Json) -> Option<&'static str> {
    const UNSIGNED: &str = "BIGINT UNSIGNED";
    let this = match value {
        Json::Null => return column,
        Json::Bool(_) => "BOOLEAN",
        Json::Number(number) if number.is_i64() => "BIGINT",
        Json::Number(number) if number.is_u64() => UNSIGNED,
        Json::Number(_) => "DOUBLE",
        Json::String(_) | Json::Array(_) | Json::Object(_) => "MEDIUMTEXT",
    };
    Some(match (column, this) {
        (None, this) => this,
        (Some(column), this) if column == this => this,
        (Some("BIGINT"), UNSIGNED) | (Some(UNSIGNED), "BIGINT") => UNSIGNED,
        (Some("BIGINT" | UNSIGNED | "DOUBLE"), "BIGINT" | UNSIGNED | "DOUBLE") => "DOUBLE",
        _ => "MEDIUMTEXT",
    })
}

#[cfg(test)]
mod tests {
    use super::super::rows::read;
    use super::*;

    #[track_caller]
    fn check(options: &str, lines: &str, expect: &str) {
        let target = Target::parse(&format!("mysql://u@h/db?table=t{options}"), &|_| None).unwrap();
        let lines: Vec<&[u8]> = lines.lines().map(str::as_bytes).collect();
        let records = read(&lines).unwrap();
        assert_eq!(statement(&target, &records, true).unwrap_or_else(|text| text), expect);
    }

    #[test]
    fn types_come_from_the_first_records() {
        check(
            "&key=host,from",
            "{\"host\":\"a\",\"from\":1,\"total\":2,\"rate\":1,\"ok\":true,\"tags\":[1]}\n\
             {\"host\":\"b\",\"from\":2,\"total\":18446744073709551615,\"rate\":0.5,\"ok\":null,\"more\":\"x\"}\n",
            "CREATE TABLE IF NOT EXISTS `db`.`t` (`host` VARCHAR(255) NOT NULL, `from` BIGINT NOT NULL, `total` BIGINT \
             UNSIGNED NULL, `rate` DOUBLE NULL, `ok` BOOLEAN NULL, `tags` MEDIUMTEXT NULL, `more` MEDIUMTEXT NULL, \
             PRIMARY KEY (`host`, `from`)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET utf8mb4 COLLATE \
             utf8mb4_nopad_bin",
        );
        check("&key=c", "{\"a\":1,\"b\":2}", "the records have no field `c` for the key; they have a, b");
        check("", "{\"\":1}", "`` cannot name a table or a column in MySQL; use 1 to 64 letters");
    }
}
