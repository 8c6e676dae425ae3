//! Keys, and the choice of the machine or the queue that owns one.

use std::any::Any;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec;
use crate::error::CodecError;
use crate::proof::{Fails, Holds, Never};
use crate::record::NoKey;

/// What a stream may be keyed by: owned, ordered, hashable and encodable. Floats and references are not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a stable key",
    note = "a key must be owned, hashable, ordered and encodable; floats and references are not: use an integer, a `String`, a tuple of them or a `#[record]` with `#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]`"
)]
pub trait Key<M = Holds>: Hash + Ord + Clone + Serialize + DeserializeOwned + Send + 'static {
    crate::proof::told_once!(Key<M>);
}

#[diagnostic::do_not_recommend]
impl<K: Hash + Ord + Clone + Serialize + DeserializeOwned + Send + 'static> Key<Holds> for K {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<K: Never + Hash + Ord + Clone + Serialize + DeserializeOwned + Send + 'static> Key<Fails> for K {
    crate::proof::holds!();
}

/// A value that can leave its machine: it crosses a shuffle or is kept in state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` crosses a shuffle at this `key_by` but cannot be encoded",
    label = "sends `{Self}` to another split",
    note = "add `#[record]` to `{Self}`"
)]
pub trait Shuffled<M = Holds>: Serialize + DeserializeOwned + Send + 'static {
    crate::proof::told_once!(Shuffled<M>);
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Shuffled<Holds> for T {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<T: Never + Serialize + DeserializeOwned + Send + 'static> Shuffled<Fails> for T {
    crate::proof::holds!();
}

/// The index below `n` of the machine that owns `key`: the same in every process and every build. `scratch` is
/// reused between calls.
///
/// # Errors
/// When the key's `Serialize` refuses.
pub(crate) fn owner<K: Key>(key: &K, n: usize, scratch: &mut Vec<u8>) -> Result<usize, CodecError> {
    Ok(place(hash(key, scratch)?, n))
}

/// xxh3-64 over the encoded key.
fn hash<K: Key>(key: &K, scratch: &mut Vec<u8>) -> Result<u64, CodecError> {
    scratch.clear();
    codec::key_to_vec(key, scratch)?;
    Ok(xxh3_64(scratch))
}

/// The index below `n` that a key of this hash belongs to.
pub(crate) fn place(hash: u64, n: usize) -> usize {
    // Multiply-shift maps the hash to the range without the bias and the division of a remainder.
    ((u128::from(hash) * n as u128) >> 64) as usize
}

/// What a stream's results may be keyed by where they leave: a [`Key`], or nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a stable key",
    note = "a key must be owned, hashable, ordered and encodable"
)]
pub trait PortKey: Send + 'static {
    /// Its hash, by which a queue is chosen; none without a key. `scratch` is reused between calls.
    ///
    /// # Errors
    /// When the key's `Serialize` refuses.
    fn hash(&self, scratch: &mut Vec<u8>) -> Result<Option<u64>, CodecError>;

    /// Appends it as a person reads it: a text as it stands, anything else as JSON.
    fn text(&self, text: &mut Vec<u8>);

    /// It as JSON.
    fn json(&self) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl<K: Key> PortKey for K {
    fn hash(&self, scratch: &mut Vec<u8>) -> Result<Option<u64>, CodecError> {
        hash(self, scratch).map(Some)
    }

    fn text(&self, text: &mut Vec<u8>) {
        if let Some(own) = (self as &dyn Any).downcast_ref::<String>() {
            return text.extend_from_slice(own.as_bytes());
        }
        // A key that has no JSON form has no text.
        if let Some(json) = self.json() {
            let own = serde_json::from_str::<String>(&json);
            text.extend_from_slice(own.as_deref().unwrap_or(&json).as_bytes());
        }
    }

    fn json(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

impl PortKey for NoKey {
    fn hash(&self, _scratch: &mut Vec<u8>) -> Result<Option<u64>, CodecError> {
        Ok(None)
    }

    fn text(&self, _text: &mut Vec<u8>) {}

    fn json(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &impl PortKey, expect: &str) {
        let mut text = Vec::new();
        key.text(&mut text);
        assert_eq!(String::from_utf8(text).unwrap(), expect);
    }

    #[test]
    fn keys_as_a_person_reads_them() {
        check(&"a \"b\"".to_owned(), "a \"b\"");
        check(&Some("a".to_owned()), "a");
        check(&-7_i64, "-7");
        check(&("a".to_owned(), 3_u32), "[\"a\",3]");
        check(&NoKey, "");
    }

    #[test]
    fn a_result_goes_where_its_key_is_owned() {
        let mut scratch = Vec::new();
        for key in ["a", "b", "c", "d"].map(str::to_owned) {
            let hash = PortKey::hash(&key, &mut scratch).unwrap().unwrap();
            assert_eq!(place(hash, 7), owner(&key, 7, &mut scratch).unwrap());
        }
        assert_eq!(PortKey::hash(&NoKey, &mut scratch).unwrap(), None);
    }
}
