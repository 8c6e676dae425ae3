//! The rows of one table, shared by the machines of a job.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use super::cache::Cache;
use super::{Fetch, Filling, KeyOf, NotFetched, Row, Rows, TableKey, TableRow, fields};

/// What a machine looks rows up in, until it looks again.
pub(crate) enum Content<K, V> {
    /// All rows.
    Whole(Arc<HashMap<K, V>>),
    /// Rows one by one.
    Each(Arc<Each<K, V>>),
}

impl<K, V> Clone for Content<K, V> {
    fn clone(&self) -> Self {
        match self {
            Self::Whole(rows) => Self::Whole(Arc::clone(rows)),
            Self::Each(each) => Self::Each(Arc::clone(each)),
        }
    }
}

impl<K, V> Default for Content<K, V> {
    fn default() -> Self {
        Self::Whole(Arc::default())
    }
}

/// Rows that are fetched.
pub(crate) struct Each<K, V> {
    fetch: Arc<dyn Fetch>,
    cache: Mutex<Cache<K, V>>,
    key_of: KeyOf<K, V>,
}

impl<K: TableKey, V: TableRow> Each<K, V> {
    /// The row of a key.
    ///
    /// # Errors
    /// Why it cannot be fetched.
    pub(crate) fn row(&self, key: &K) -> Result<Option<Arc<V>>, NotFetched> {
        if let Some(known) = self.cache().get(key) {
            return Ok(known);
        }
        // Not under the lock: another machine may find its row meanwhile.
        let asked = serde_json::to_value(key);
        let asked = asked.map_err(|error| NotFetched::Bad(format!("the key has no text: {error}")))?;
        let row = match self.fetch.fetch(&asked)? {
            None => None,
            Some(row) => {
                let row = row.decode();
                let row: V =
                    row.map_err(|why| NotFetched::Bad(format!("the row of the key {asked}: {why}")))?;
                // A server may compare keys in its own way, `A` with `a` for example.
                ((self.key_of)(&row) == *key).then(|| Arc::new(row))
            }
        };
        self.cache().insert(key.clone(), row.clone());
        Ok(row)
    }

    fn cache(&self) -> MutexGuard<'_, Cache<K, V>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest rows, and a number that grows with them.
pub(crate) struct Shared<K, V> {
    key_of: KeyOf<K, V>,
    version: AtomicU64,
    newest: Mutex<Content<K, V>>,
}

impl<K, V> std::fmt::Debug for Shared<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<K: TableKey, V: TableRow> Shared<K, V> {
    pub(super) fn new(key_of: KeyOf<K, V>) -> Self {
        Self { key_of, version: AtomicU64::new(0), newest: Mutex::default() }
    }

    /// The rows, where they are newer than `known`.
    pub(crate) fn newer(&self, known: u64) -> Option<(u64, Content<K, V>)> {
        let version = self.version.load(Ordering::Acquire);
        (version != known).then(|| (version, self.newest().clone()))
    }

    fn newest(&self) -> MutexGuard<'_, Content<K, V>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, content: Content<K, V>) {
        *self.newest() = content;
        // Order: who sees the number finds the rows.
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl<K: TableKey, V: TableRow> Rows for Shared<K, V> {
    fn fill(self: Arc<Self>) -> Box<dyn Filling> {
        Box::new(Fresh { rows: HashMap::new(), shared: self })
    }

    fn fetch_each(&self, fetch: Arc<dyn Fetch>, most: usize) {
        let (cache, key_of) = (Mutex::new(Cache::new(most)), Arc::clone(&self.key_of));
        self.replace(Content::Each(Arc::new(Each { fetch, cache, key_of })));
    }

    fn forget(&self) {
        if let Content::Each(each) = &*self.newest() {
            each.cache().clear();
        }
    }
}

/// Rows that are not all there yet.
struct Fresh<K, V> {
    rows: HashMap<K, V>,
    shared: Arc<Shared<K, V>>,
}

impl<K: TableKey, V: TableRow> Filling for Fresh<K, V> {
    fn add(&mut self, row: &Row) -> Result<(), String> {
        let row: V = row.decode()?;
        let key = (self.shared.key_of)(&row);
        if self.rows.contains_key(&key) {
            let text = serde_json::to_string(&key).unwrap_or_else(|_| "of another row".to_owned());
            return Err(format!("the key {text} stands in an earlier row; give each key one row"));
        }
        self.rows.insert(key, row);
        Ok(())
    }

    fn missing(&self, row: &Row) -> Vec<&'static str> {
        match row {
            Row::Fields(columns) => fields::missing::<V>(columns),
            Row::Json(_) => Vec::new(),
        }
    }

    fn finish(self: Box<Self>) -> usize {
        let n = self.rows.len();
        self.shared.replace(Content::Whole(Arc::new(self.rows)));
        n
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::lookup::Tables;

    type Pair = (String, u32);

    fn shared(tables: &Tables) -> Arc<Shared<String, Pair>> {
        tables.bind("lookup", &Arc::from("file:x"), &(Arc::new(|row: &Pair| row.0.clone()) as KeyOf<_, _>))
    }

    fn json(text: &str) -> Row {
        Row::Json(text.as_bytes().to_vec())
    }

    #[test]
    fn a_table_is_replaced_as_a_whole() {
        let tables = Tables::default();
        let (one, other) = (shared(&tables), shared(&tables));
        assert!(one.newer(0).is_none());
        let rows = tables.bound().remove(0).rows;
        let mut filling = Arc::clone(&rows).fill();
        filling.add(&json(r#"["a",1]"#)).unwrap();
        filling.add(&json(r#"["b",2]"#)).unwrap();
        let why = filling.add(&json(r#"["a",3]"#)).unwrap_err();
        assert_eq!(why, "the key \"a\" stands in an earlier row; give each key one row");
        assert!(filling.add(&json("[1]")).is_err());
        // Nothing is seen before all is there.
        assert!(other.newer(0).is_none());
        assert_eq!(filling.finish(), 2);
        let (version, Content::Whole(found)) = other.newer(0).unwrap() else { panic!("it is in memory") };
        assert_eq!((version, found.len(), found["a"].1), (1, 2, 1));
        assert_eq!(rows.fill().finish(), 0);
        assert_eq!(found.len(), 2, "who has looked keeps what it has");
    }

    struct Counting(AtomicUsize);

    impl Fetch for Counting {
        fn fetch(&self, key: &serde_json::Value) -> Result<Option<Row>, NotFetched> {
            self.0.fetch_add(1, Ordering::Relaxed);
            match key.as_str() {
                Some("away") => Err(NotFetched::Away("nobody answers".to_owned())),
                None | Some("none") => Ok(None),
                // As a server does that knows no capitals.
                Some(text) => Ok(Some(json(&format!(r#"["{}",7]"#, text.to_lowercase())))),
            }
        }
    }

    #[test]
    fn rows_are_fetched_once() {
        let tables = Tables::default();
        let shared = shared(&tables);
        let counting = Arc::new(Counting(AtomicUsize::new(0)));
        shared.fetch_each(Arc::clone(&counting) as Arc<dyn Fetch>, 100);
        let (_, Content::Each(each)) = shared.newer(0).unwrap() else { panic!("it is not in memory") };
        for _ in 0..3 {
            assert_eq!(each.row(&"a".to_owned()).unwrap().map(|row| row.1), Some(7));
            assert_eq!(each.row(&"none".to_owned()), Ok(None));
            assert_eq!(each.row(&"A".to_owned()), Ok(None));
        }
        assert_eq!(counting.0.load(Ordering::Relaxed), 3);
        // A failure is asked again, and so is everything that was forgotten.
        assert!(each.row(&"away".to_owned()).is_err());
        assert!(each.row(&"away".to_owned()).is_err());
        shared.forget();
        assert_eq!(each.row(&"none".to_owned()), Ok(None));
        assert_eq!(counting.0.load(Ordering::Relaxed), 6);
    }
}
