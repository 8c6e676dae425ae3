//! The key range that a prefix stands for.
//!
//! Every ordered store needs the key behind the last one with a prefix, and each would get the prefix of
//! 0xff bytes wrong once.

use std::ops::Bound;

/// The range of all keys that start with `prefix`.
///
/// # Examples
/// ```
/// use std::ops::{Bound, RangeBounds};
///
/// let keys = streams_core::store::prefix::range(b"a\xff");
/// assert!(keys.contains(&b"a\xff".to_vec()) && keys.contains(&b"a\xff\xff\x01".to_vec()));
/// assert!(!keys.contains(&b"a\xfe".to_vec()) && !keys.contains(&b"b".to_vec()));
/// assert_eq!(streams_core::store::prefix::range(&[0xff]).end_bound(), Bound::Unbounded);
/// ```
#[must_use]
pub fn range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let mut end = prefix.to_vec();
    let end = loop {
        match end.last_mut() {
            None => break Bound::Unbounded,
            Some(0xff) => drop(end.pop()),
            Some(byte) => {
                *byte += 1;
                break Bound::Excluded(end);
            }
        }
    };
    (Bound::Included(prefix.to_vec()), end)
}
