//! Turns a delta into one atomic batch of the database.

use std::ops::Bound;

use rocksdb::{DB, Error, ReadOptions, WriteBatch};
use streams_core::store::{Write, prefix};

use super::family;

/// Up to so many rows are removed one by one: a removed range slows every later read near it down.
const FEW_ROWS: usize = 64;

/// A batch in the making.
pub(super) struct Batch<'a> {
    database: &'a DB,
    batch: WriteBatch,
    /// The largest key that was set so far; such a row is not in the database yet.
    largest: Option<Vec<u8>>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(database: &'a DB) -> Self {
        Self { database, batch: WriteBatch::default(), largest: None }
    }

    /// Adds a change of a row.
    pub(super) fn row(&mut self, write: Write<'_>) -> Result<(), Error> {
        let rows = family(self.database, super::ROWS);
        match write {
            Write::Put { key, value } => {
                self.batch.put_cf(rows, key, value);
                match &mut self.largest {
                    Some(largest) if largest.as_slice() >= key => {}
                    Some(largest) => {
                        largest.clear();
                        largest.extend_from_slice(key);
                    }
                    None => self.largest = Some(key.to_vec()),
                }
            }
            Write::Delete { key } => self.batch.delete_cf(rows, key),
            Write::DeletePrefix { prefix } => self.delete_prefix(prefix)?,
        }
        Ok(())
    }

    /// Sets what is no row.
    pub(super) fn put(&mut self, family_name: &str, key: &[u8], value: &[u8]) {
        self.batch.put_cf(family(self.database, family_name), key, value);
    }

    /// Removes what is no row.
    pub(super) fn delete(&mut self, family_name: &str, key: &[u8]) {
        self.batch.delete_cf(family(self.database, family_name), key);
    }

    pub(super) fn finish(self) -> WriteBatch {
        self.batch
    }

    fn delete_prefix(&mut self, prefix: &[u8]) -> Result<(), Error> {
        let rows = family(self.database, super::ROWS);
        let (_, end) = prefix::range(prefix);
        if self.largest.is_none()
            && let Some(keys) = self.few_under(prefix, &end)?
        {
            for key in keys {
                self.batch.delete_cf(rows, key);
            }
            return Ok(());
        }
        let end = match end {
            Bound::Included(end) | Bound::Excluded(end) => end,
            // No key is behind all others, so the range ends just behind the last one there is.
            Bound::Unbounded => {
                let Some(mut last) = self.last_key()?.max(self.largest.clone()) else { return Ok(()) };
                last.push(0);
                last
            }
        };
        if prefix < end.as_slice() {
            self.batch.delete_range_cf(rows, prefix, &end);
        }
        Ok(())
    }

    /// The database's keys under a prefix, where they are few.
    fn few_under(&self, prefix: &[u8], end: &Bound<Vec<u8>>) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut options = ReadOptions::default();
        if let Bound::Excluded(end) = end {
            options.set_iterate_upper_bound(end.clone());
        }
        let mut rows = self.database.raw_iterator_cf_opt(family(self.database, super::ROWS), options);
        let mut keys = Vec::new();
        rows.seek(prefix);
        while let Some(key) = rows.key() {
            if keys.len() == FEW_ROWS {
                return Ok(None);
            }
            keys.push(key.to_vec());
            rows.next();
        }
        rows.status()?;
        Ok(Some(keys))
    }

    fn last_key(&self) -> Result<Option<Vec<u8>>, Error> {
        let mut rows = self.database.raw_iterator_cf(family(self.database, super::ROWS));
        rows.seek_to_last();
        let last = rows.key().map(<[u8]>::to_vec);
        rows.status()?;
        Ok(last)
    }
}
