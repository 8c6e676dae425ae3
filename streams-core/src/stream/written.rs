//! A stream as it stands in a signature, where nobody compiles it.
//!
//! In a function without `#[stream_job]` or `#[stream_part]` the operators below stand for those of
//! [`super::straight`], so that rustc is content with its body, and the one thing that is told is what the function is
//! not, where it is used.

use super::Stream;
use crate::chain::{Id, Then};

/// A stream that is a type and nothing else.
#[derive(Debug)]
pub struct Written;

/// Operators in a row.
pub trait Collected {}

impl Collected for Id {}
impl<A, B> Collected for Then<A, B> {}

/// What the functions below never do.
const NEVER: &str = "without `#[stream_job]` or `#[stream_part]` there is no stream";

#[doc(hidden)]
impl<T, K, Tm> Stream<T, K, Tm> {
    pub fn map<U, F: Fn(T) -> U>(self, f: F) -> Stream<U, K, Tm> {
        let _ = f;
        unreachable!("{NEVER}")
    }

    pub fn filter<F: Fn(&T) -> bool>(self, keep: F) -> Self {
        let _ = keep;
        unreachable!("{NEVER}")
    }

    pub fn filter_map<U, F: Fn(T) -> Option<U>>(self, f: F) -> Stream<U, K, Tm> {
        let _ = f;
        unreachable!("{NEVER}")
    }

    pub fn flat_map<I: IntoIterator, F: Fn(T) -> I>(self, f: F) -> Stream<I::Item, K, Tm> {
        let _ = f;
        unreachable!("{NEVER}")
    }

    pub fn try_map<U, E: std::fmt::Display, F: Fn(&T) -> Result<U, E>>(self, f: F) -> Stream<U, K, Tm> {
        let _ = f;
        unreachable!("{NEVER}")
    }

    pub fn inspect<F: Fn(&T)>(self, look: F) -> Self {
        let _ = look;
        unreachable!("{NEVER}")
    }

    #[must_use]
    pub fn named(self, id: &'static str) -> Self {
        let _ = id;
        unreachable!("{NEVER}")
    }
}
