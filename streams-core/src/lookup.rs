//! Tables beside a job, whose rows are looked up by key: [`crate::op::lookup`].
//!
//! A table is a parameter of the job, given by its address. Here is what is known of its rows: in memory as a whole,
//! replaced as a whole when the table is read again, or fetched one by one into a bounded cache. Who reads files and
//! asks servers is the driver; it finds the tables of a machine in [`Tables`].
//!
//! Rows are no state: a record that is read again may meet other rows. So the stage that looks up is *held*: what it
//! gives out leaves with the commit that fixes it.

mod cache;
mod fields;
mod shared;

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use crate::key::Key;
use crate::ports::Input;
use crate::proof::{Fails, Holds, Never};
use crate::setting::{Setting, SettingType, setting_type};

pub(crate) use shared::{Content, Shared};

/// A table whose rows are `V`: a parameter of a job, for `lookup` and `left_lookup`.
///
/// As text it is an address; which there are is the driver's business.
#[derive(Debug)]
pub struct Table<V> {
    pub(crate) address: Arc<str>,
    _rows: PhantomData<fn() -> V>,
}

impl<V> Clone for Table<V> {
    fn clone(&self) -> Self {
        Self { address: Arc::clone(&self.address), _rows: PhantomData }
    }
}

/// What the value of a [`Table`] looks like in `--help`; settings with this placeholder are tables.
pub const TABLE: &str = "TABLE";

impl<V: 'static> Setting for Table<V> {
    const PLACEHOLDER: &'static str = TABLE;

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a table has an address; write for example `file:hosts.csv`".to_owned());
        }
        Ok(Self { address: text.into(), _rows: PhantomData })
    }
}

/// What the rows of a table can be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the row of a table",
    label = "a table of `{Self}`",
    note = "add `#[record]` to `{Self}`"
)]
pub trait TableRow<M = Holds>: Input + Sync {
    crate::proof::told_once!(TableRow<M>);
}

#[diagnostic::do_not_recommend]
impl<V: Input + Sync> TableRow<Holds> for V {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<V: Never + Input + Sync> TableRow<Fails> for V {
    crate::proof::holds!();
}

/// The type of a parameter that is a table; the one place at which the expansion asks whether its rows can be ones.
#[must_use]
pub fn table_type<V: TableRow<M>, M>() -> <V as TableRow<M>>::Proven<SettingType<Table<V>>> {
    <V as TableRow<M>>::proven(setting_type())
}

/// What rows are found by, seen by all machines of a job.
pub trait TableKey: Key + Sync {}

#[diagnostic::do_not_recommend]
impl<K: Key + Sync> TableKey for K {}

/// One row as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A JSON value.
    Json(Vec<u8>),
    /// Fields by name, as text; none is an absent value.
    Fields(Vec<(Arc<str>, Option<String>)>),
}

impl Row {
    /// The row as a value.
    ///
    /// # Errors
    /// Why it is no `V`, for a person to read.
    fn decode<V: TableRow>(&self) -> Result<V, String> {
        match self {
            Self::Json(bytes) => serde_json::from_slice(bytes).map_err(|error| error.to_string()),
            Self::Fields(columns) => fields::decode(columns),
        }
    }
}

/// The rows of one table, as the driver sees them.
pub trait Rows: Send + Sync {
    /// Begins to read the whole table; what is there stays until all has been read.
    fn fill(self: Arc<Self>) -> Box<dyn Filling>;

    /// Rows are fetched one by one when they are needed, and at most so many are kept.
    fn fetch_each(&self, fetch: Arc<dyn Fetch>, most: usize);

    /// What has been fetched is not believed any more.
    fn forget(&self);
}

/// A table that is being read.
pub trait Filling: Send {
    /// Adds a row.
    ///
    /// # Errors
    /// Why it is no row of this table, for a person to read; it is left out.
    fn add(&mut self, row: &Row) -> Result<(), String>;

    /// The names of columns that rows of this table need and this one does not have; of a row of JSON none is known.
    fn missing(&self, row: &Row) -> Vec<&'static str>;

    /// All has been read: the rows are there for every machine that looks again; how many.
    fn finish(self: Box<Self>) -> usize;
}

/// Fetches single rows.
pub trait Fetch: Send + Sync {
    /// The row with this key, if there is one. Blocks.
    ///
    /// # Errors
    /// Why there is no answer.
    fn fetch(&self, key: &serde_json::Value) -> Result<Option<Row>, NotFetched>;
}

/// Why a row was not fetched, for a person to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFetched {
    /// Whoever has it does not answer: the machine that asks is not to be used any more.
    Away(String),
    /// What there is is no row: the record that asks is a dead letter.
    Bad(String),
}

/// All tables of the machines of a job, by the operator that looks up.
#[derive(Clone, Default)]
pub struct Tables {
    bound: Arc<Mutex<BTreeMap<&'static str, Bound>>>,
}

/// One of them.
#[derive(Clone)]
pub struct Bound {
    /// Where it is.
    pub address: Arc<str>,
    /// Its rows.
    pub rows: Arc<dyn Rows>,
    typed: Arc<dyn Any + Send + Sync>,
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Tables {
    /// Those that the machines have which were told of this.
    #[must_use]
    pub fn bound(&self) -> Vec<Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The rows for one operator, shared by all machines of the job.
    pub(crate) fn bind<K: TableKey, V: TableRow>(
        &self,
        operator: &'static str,
        address: &Arc<str>,
        key_of: &KeyOf<K, V>,
    ) -> Arc<Shared<K, V>> {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let found = bound.entry(operator).or_insert_with(|| {
            let shared = Arc::new(Shared::new(Arc::clone(key_of)));
            Bound { address: Arc::clone(address), rows: Arc::clone(&shared) as Arc<dyn Rows>, typed: shared }
        });
        let typed = Arc::clone(&found.typed).downcast();
        typed.expect("an operator's id stands for one operator, and so for one type of rows")
    }
}

/// The key of a row, by the user's closure.
pub(crate) type KeyOf<K, V> = Arc<dyn Fn(&V) -> K + Send + Sync>;
