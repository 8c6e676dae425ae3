//! Keys, and the choice of the machine that owns one.

use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec;
use crate::error::CodecError;

/// What a stream may be keyed by: owned, ordered, hashable and encodable. Floats and references are not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a stable key",
    note = "a key must be owned, hashable, ordered and encodable; floats and references are not: use an integer, a `String`, a tuple of them or a `#[record]` with `#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]`"
)]
pub trait Key: Hash + Ord + Clone + Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<K: Hash + Ord + Clone + Serialize + DeserializeOwned + Send + 'static> Key for K {}

/// A value that can leave its machine: it crosses a shuffle or is kept in state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` crosses a shuffle at this `key_by` but cannot be encoded",
    label = "sends `{Self}` to another split",
    note = "add `#[record]` to `{Self}`"
)]
pub trait Shuffled: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Shuffled for T {}

/// The index below `n` of the machine that owns `key`: xxh3-64 over the encoded key, so that it is the same
/// in every process and every build. `scratch` is reused between calls.
///
/// # Errors
/// When the key's `Serialize` refuses.
pub(crate) fn owner<K: Key>(key: &K, n: usize, scratch: &mut Vec<u8>) -> Result<usize, CodecError> {
    scratch.clear();
    codec::key_to_vec(key, scratch)?;
    // Multiply-shift maps the hash to the range without the bias and the division of a remainder.
    Ok(((u128::from(xxh3_64(scratch)) * n as u128) >> 64) as usize)
}
