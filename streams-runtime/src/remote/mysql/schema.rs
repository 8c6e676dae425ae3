//! The tables, and the one number that says which they are.
//!
//! They are made at the first start by whoever may; where the user may not, the statements are shown for somebody
//! who may. Making them is safe beside another instance that does the same, and behind a crash in the middle: the
//! number is written last.

use super::session::{Cells, Session};
use super::trouble::Trouble;

/// Which tables this program makes and reads.
pub(super) const VERSION: u64 = 1;

/// The longest key of a row, without the split's own prefix: an index of InnoDB takes 3072 bytes.
pub(super) const MOST_KEY_BYTES: usize = 3000;

/// Sets everything up that is not there; can be run again.
const STATEMENTS: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS streams_job (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, \
     name VARBINARY(255) NOT NULL UNIQUE, version BIGINT UNSIGNED NOT NULL, body LONGBLOB NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS streams_split (split BIGINT UNSIGNED NOT NULL PRIMARY KEY, \
     epoch BIGINT UNSIGNED NOT NULL, nonce BIGINT UNSIGNED NOT NULL, member VARBINARY(255) NOT NULL, version BIGINT UNSIGNED NOT NULL, \
     beat BIGINT UNSIGNED NOT NULL, fingerprint BIGINT UNSIGNED NOT NULL, clean TINYINT UNSIGNED NOT NULL, \
     snapshot LONGBLOB NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS streams_row (split BIGINT UNSIGNED NOT NULL, k VARBINARY(3000) NOT NULL, \
     v LONGBLOB NOT NULL, PRIMARY KEY (split, k)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
    "CREATE TABLE IF NOT EXISTS streams_schema (id TINYINT UNSIGNED NOT NULL PRIMARY KEY, \
     version BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB",
    "INSERT INTO streams_schema (id, version) VALUES (1, 1) ON DUPLICATE KEY UPDATE version = version",
];

/// The statements that make the tables, for an administrator.
#[must_use]
pub fn statements() -> String {
    STATEMENTS.map(|statement| format!("{statement};\n")).concat()
}

/// Makes the tables where they are missing; refuses those of a newer program.
pub(super) async fn prepare(session: &mut Session, place: &str) -> Result<(), Trouble> {
    if is_there(session, place).await? {
        return Ok(());
    }
    create(session, place).await?;
    if is_there(session, place).await? {
        return Ok(());
    }
    Err(Trouble::Fatal(format!(
        "the table `streams_schema` at {place} has no row; somebody removes rows from it, so give this program \
         a database of its own"
    )))
}

/// Whether the tables are there; refuses those of a newer program.
pub(super) async fn is_there(session: &mut Session, place: &str) -> Result<bool, Trouble> {
    let known = "SELECT COUNT(*) FROM information_schema.tables \
                 WHERE table_schema = DATABASE() AND table_name = 'streams_schema'";
    if single(session, known).await?.unwrap_or(0) == 0 {
        return Ok(false);
    }
    match single(session, "SELECT version FROM streams_schema WHERE id = 1").await? {
        Some(VERSION) => Ok(true),
        None => Ok(false),
        Some(other) => Err(Trouble::Fatal(format!(
            "the tables at {place} are of version {other}, and this program knows version {VERSION}; run the program \
             that made them, or a newer one, or give this one another database"
        ))),
    }
}

async fn single(session: &mut Session, sql: &str) -> Result<Option<u64>, Trouble> {
    let rows = session.rows("reading the version of the tables", sql, Vec::new()).await?;
    rows.into_iter().next().map(|row| Cells::of(row).number()).transpose()
}

async fn create(session: &mut Session, place: &str) -> Result<(), Trouble> {
    for statement in STATEMENTS {
        match session.text("creating the tables", statement).await {
            Ok(()) => (),
            Err(Trouble::Fatal(text)) => {
                return Err(Trouble::Fatal(format!(
                    "{text}\nthe tables at {place} are missing and could not be made; let somebody who may run this \
                     there, and grant the user SELECT, INSERT, UPDATE and DELETE on them:\n{}",
                    statements()
                )));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_say_what_the_constants_say() {
        let all = statements();
        assert!(all.contains(&format!("VARBINARY({MOST_KEY_BYTES})")));
        assert!(all.contains(&format!("VALUES (1, {VERSION})")));
        assert_eq!(all.lines().count(), STATEMENTS.len());
    }
}
