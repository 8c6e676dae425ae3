//! Looking at state from outside: what an operator keeps of one key, as JSON, wherever its rows lie.
//!
//! Only the operator knows how its rows are laid out and of what types they are. An [`Inquiry`] is handed to all
//! operators of a machine; the one it is about reads its rows and shows those of the key. Nothing is loaded, and the
//! machine is as it was.

use std::ops::Bound;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::aggregate::type_name;
use crate::codec;
use crate::error::{CodecError, StateError};
use crate::key::Key;
use crate::state::OperatorId;
use crate::store::backing::Backing;
use crate::store::{Store, Visit, prefix};

/// Rows that are looked at, in whatever holds them.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    /// A store that is here.
    Here(&'a dyn Store),
    /// Rows of one split that are elsewhere.
    There(&'a dyn Backing),
}

impl Rows<'_> {
    /// Visits every row whose key starts with `prefix`, in ascending key order.
    ///
    /// # Errors
    /// The visitor's own, or when the rows cannot be read.
    pub fn under(&self, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StateError> {
        match self {
            Self::Here(store) => store.scan(prefix, visit),
            Self::There(backing) => match prefix::range(prefix).1 {
                Bound::Excluded(end) | Bound::Included(end) => backing.range(prefix, &end, visit),
                // No row of a machine begins like this.
                Bound::Unbounded => Ok(()),
            },
        }
    }
}

impl std::fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Here",
            Self::There(_) => "There",
        })
    }
}

/// A question about one key of one operator, and what has been found.
pub struct Inquiry<'a> {
    rows: Rows<'a>,
    machine: &'a [u8],
    operator: &'a str,
    key: &'a str,
    answer: Result<Answer, StateError>,
}

/// What came of an [`Inquiry`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Answer {
    /// The machine has no such operator, or that keeps no rows by key.
    #[default]
    NoRows,
    /// The text is no key of the operator.
    NoKey {
        /// The type of its keys.
        wanted: String,
        /// Why the text is none.
        why: String,
    },
    /// The rows of the key, in the order in which they are kept.
    Found(Vec<Shown>),
}

/// One row of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The key, as JSON.
    pub key: String,
    /// What tells the key's rows apart: the start of a window's pane, the side of a join; as JSON.
    pub at: Vec<(&'static str, String)>,
    /// What is kept, as JSON.
    pub value: String,
}

/// What an operator's part of a row's key says.
pub(crate) struct Place<K> {
    pub(crate) key: K,
    pub(crate) at: Vec<(&'static str, String)>,
}

impl<K> Place<K> {
    /// Of the only row that a key has.
    pub(crate) fn only(key: K) -> Self {
        Self { key, at: Vec::new() }
    }
}

/// How the rows of a key are found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Find<'t> {
    /// They begin with this and the key.
    Under(&'t [u8]),
    /// Among all rows of the operator.
    Anywhere,
}

impl std::fmt::Debug for Inquiry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inquiry").field("operator", &self.operator).finish_non_exhaustive()
    }
}

impl<'a> Inquiry<'a> {
    /// Asks for the rows of `key` that the operator keeps under `machine`. The key is a JSON value, or a text as it
    /// stands.
    #[must_use]
    pub fn new(rows: Rows<'a>, machine: &'a [u8], operator: &'a str, key: &'a str) -> Self {
        Self { rows, machine, operator, key, answer: Ok(Answer::default()) }
    }

    /// What was found.
    ///
    /// # Errors
    /// When rows cannot be read, decoded or shown.
    pub fn answer(self) -> Result<Answer, StateError> {
        self.answer
    }

    /// An operator that keeps rows of `V` by keys of `K` answers, if it is meant. `place` reads the operator's part
    /// of a row's key; `None` for a row that holds nothing of its own.
    pub(crate) fn ask<K: Key, V: Serialize + DeserializeOwned>(
        &mut self,
        id: OperatorId,
        find: Find<'_>,
        place: &dyn Fn(&[u8]) -> Result<Option<Place<K>>, CodecError>,
    ) {
        self.ask_with(id, find, place, &|_, value| shown(&codec::from_slice::<V>(value)?));
    }

    /// The same, for rows that are not all of one type: `show` gets the operator's part of the key and the value.
    pub(crate) fn ask_with<K: Key>(
        &mut self,
        id: OperatorId,
        find: Find<'_>,
        place: &dyn Fn(&[u8]) -> Result<Option<Place<K>>, CodecError>,
        show: &dyn Fn(&[u8], &[u8]) -> Result<String, CodecError>,
    ) {
        if id.name() != self.operator {
            return;
        }
        self.answer = match parsed::<K>(self.key) {
            Ok(wanted) => self.find(id, find, &wanted, place, show).map(Answer::Found),
            Err(why) => Ok(Answer::NoKey { wanted: type_name::<K>(), why }),
        };
    }

    fn find<K: Key>(
        &self,
        id: OperatorId,
        find: Find<'_>,
        wanted: &K,
        place: &dyn Fn(&[u8]) -> Result<Option<Place<K>>, CodecError>,
        show: &dyn Fn(&[u8], &[u8]) -> Result<String, CodecError>,
    ) -> Result<Vec<Shown>, StateError> {
        let operator = id.prefix(self.machine);
        let mut from = operator.clone();
        if let Find::Under(tag) = find {
            from.extend_from_slice(tag);
            codec::key_to_vec(wanted, &mut from)
                .map_err(|source| StateError::Encode { operator: id.name().to_owned(), source })?;
        }
        let mut found = Vec::new();
        let show_one = |row: &[u8], value: &[u8]| -> Result<Option<Shown>, CodecError> {
            let Some(Place { key, at }) = place(row)?.filter(|place| place.key == *wanted) else {
                return Ok(None);
            };
            Ok(Some(Shown { key: shown(&key)?, at, value: show(row, value)? }))
        };
        self.rows.under(&from, &mut |row, value| {
            // The operator's single value is no row of it.
            let Some(row @ [_, ..]) = row.get(operator.len()..) else { return Ok(()) };
            let one = show_one(row, value);
            found
                .extend(one.map_err(|source| StateError::Decode { operator: id.name().to_owned(), source })?);
            Ok(())
        })?;
        Ok(found)
    }
}

/// A key as a person writes it: JSON, and what is not JSON of this type is a text.
fn parsed<K: Key>(text: &str) -> Result<K, String> {
    serde_json::from_str(text).or_else(|json: serde_json::Error| {
        serde_json::from_value(Value::String(text.to_owned())).map_err(|_| json.to_string())
    })
}

/// A value as JSON.
///
/// # Errors
/// When it has no JSON form: a map whose keys are no texts, say.
pub(crate) fn shown<V: Serialize + ?Sized>(value: &V) -> Result<String, CodecError> {
    serde_json::to_string(value)
        .map_err(|error| CodecError::Message(format!("a value cannot be shown as JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<K: Key + std::fmt::Debug>(text: &str, expect: Result<K, &str>) {
        assert_eq!(parsed::<K>(text), expect.map_err(str::to_owned));
    }

    #[test]
    fn keys_as_a_person_writes_them() {
        check("h1", Ok("h1".to_owned()));
        check("\"h 1\"", Ok("h 1".to_owned()));
        check("7", Ok("7".to_owned()));
        check("7", Ok(7_u32));
        check("null", Ok(None::<String>));
        check("h1", Ok(Some("h1".to_owned())));
        check("[\"h1\",7]", Ok(("h1".to_owned(), 7_i64)));
        check::<u32>("-7", Err("invalid value: integer `-7`, expected u32 at line 1 column 2"));
    }
}
