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
/// room for it, and holds nothing afterwards that means anything.
///
/// # Errors
/// When the key's `Serialize` refuses.
pub(crate) fn owner<K: Key>(key: &K, n: usize, scratch: &mut Vec<u8>) -> Result<usize, CodecError> {
    Ok(place(hash(key, scratch)?, n))
}

/// What [`owner`] gives, for a key that is encoded already.
pub(crate) fn owner_of_encoded<K: Key>(key: &K, encoded: &[u8], n: usize) -> usize {
    place(hash_of(key, encoded), n)
}

/// xxh3-64 over the encoded key; of a whole number over its eight bytes, which have one length and need no buffer.
#[inline]
fn hash<K: Key>(key: &K, scratch: &mut Vec<u8>) -> Result<u64, CodecError> {
    if whole_number(key).is_none() {
        scratch.clear();
        codec::key_to_vec(key, scratch)?;
    }
    Ok(hash_of(key, scratch))
}

#[inline(always)]
fn hash_of<K: Key>(key: &K, encoded: &[u8]) -> u64 {
    match whole_number(key) {
        Some(number) => xxh3_64(&number.to_le_bytes()),
        None => xxh3_64(encoded),
    }
}

/// A key that is a number of up to 64 bits; whether its type is one is known when the program is built.
#[inline(always)]
fn whole_number<K: Key>(key: &K) -> Option<u64> {
    let key: &dyn Any = key;
    macro_rules! one_of {
        ($($signed:ident $unsigned:ident)*) => {
            $(
                if let Some(key) = key.downcast_ref::<$unsigned>() {
                    return Some(*key as u64);
                }
                if let Some(key) = key.downcast_ref::<$signed>() {
                    return Some(*key as u64);
                }
            )*
        };
    }
    one_of!(i64 u64 i32 u32 isize usize i16 u16 i8 u8);
    None
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
    fn a_number_belongs_to_the_same_machine_in_every_program() {
        let hash = |key: i64| hash(&key, &mut Vec::new()).unwrap();
        let of_others = [
            14_374_147_212_387_527_897,
            3_439_722_301_264_460_078,
            5_841_669_975_847_748_627,
            11_687_913_294_787_043_142,
        ];
        assert_eq!([0, 1, -1, i64::MAX].map(hash), of_others);
        for number in [0, 1, 100] {
            let scratch = &mut Vec::new();
            let same = [
                super::hash(&(number as u8), scratch),
                super::hash(&(number as i16), scratch),
                super::hash(&(number as u32), scratch),
                super::hash(&(number as usize), scratch),
            ];
            for found in same {
                assert_eq!(found.unwrap(), hash(number));
            }
        }
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
