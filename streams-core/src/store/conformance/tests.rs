//! Tests of the kit itself: stores with one planted mistake each must be found out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::{Visit, Write};
use super::*;

/// A mistake that somebody's store could make.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mistake {
    ScanBackwards,
    ScanIgnoresPrefix,
    ScanSwallowsErrors,
    PutsBeforeDeletes,
    PrefixStopsAtFf,
    EmptyPrefixIgnored,
    EmptyValuesLost,
    ValuesCutAt64K,
    DeleteTakesPrefix,
    RowsLostOnReopen,
}

struct Faulty {
    rows: MemoryStore,
    mistake: Mistake,
}

impl Store for Faulty {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.rows.get(key)
    }

    fn scan(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        let prefix = if self.mistake == Mistake::ScanIgnoresPrefix { b"" } else { prefix };
        let mut rows = rows(&self.rows, prefix);
        if self.mistake == Mistake::ScanBackwards {
            rows.reverse();
        }
        for (key, value) in &rows {
            let visited = visit(key, value);
            if self.mistake != Mistake::ScanSwallowsErrors {
                visited?;
            }
        }
        Ok(())
    }

    fn commit(&mut self, delta: &Delta) -> Result<(), StateError> {
        let mut wrong = Delta::new();
        let mut late = Delta::new();
        for write in delta.writes() {
            match (write, self.mistake) {
                (Write::Put { value: b"", .. }, Mistake::EmptyValuesLost)
                | (Write::DeletePrefix { prefix: b"" }, Mistake::EmptyPrefixIgnored) => {}
                (Write::Put { key, value }, Mistake::ValuesCutAt64K) => {
                    wrong.put(key, &value[..value.len().min(65_535)]);
                }
                (Write::Put { key, value }, _) => wrong.put(key, value),
                (Write::Delete { key }, Mistake::DeleteTakesPrefix) => wrong.delete_prefix(key),
                (Write::Delete { key }, Mistake::PutsBeforeDeletes) => late.delete(key),
                (Write::Delete { key }, _) => wrong.delete(key),
                (Write::DeletePrefix { prefix: [0xff, ..] }, Mistake::PrefixStopsAtFf) => {
                    wrong.delete(b"\xff");
                }
                (Write::DeletePrefix { prefix }, _) => wrong.delete_prefix(prefix),
            }
        }
        wrong.append(&late);
        self.rows.commit(&wrong)
    }
}

#[test]
fn every_planted_mistake_is_found() {
    for mistake in [
        Mistake::ScanBackwards,
        Mistake::ScanIgnoresPrefix,
        Mistake::ScanSwallowsErrors,
        Mistake::PutsBeforeDeletes,
        Mistake::PrefixStopsAtFf,
        Mistake::EmptyPrefixIgnored,
        Mistake::EmptyValuesLost,
        Mistake::ValuesCutAt64K,
        Mistake::DeleteTakesPrefix,
        Mistake::RowsLostOnReopen,
    ] {
        let reopened = if mistake == Mistake::RowsLostOnReopen { Reopened::Kept } else { Reopened::Empty };
        let mut open = || -> Box<dyn Store> { Box::new(Faulty { rows: MemoryStore::new(), mistake }) };
        let found = catch_unwind(AssertUnwindSafe(|| check(reopened, &mut open)));
        assert!(found.is_err(), "{mistake:?} passed");
    }
}
