//! `top_k(k, |r| r.field)`: the k largest values.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::aggregate::extreme::is_ordered;
use crate::aggregate::{Aggregate, AggregateError, ByRef, Extreme, type_name};

/// See [`top_k`].
#[derive(Debug, Clone, Copy)]
pub struct TopK<T, F, V> {
    k: usize,
    of: ByRef<T, F, V>,
}

/// The `k` largest values that the closure gives, the largest first; all of them where there are fewer.
///
/// A value that comes twice stands there twice. To know more of a record than the number that ranks it, give
/// a tuple: `top_k(3, |r| (r.bytes, r.path.clone()))`; for the smallest, `std::cmp::Reverse(r.bytes)`.
/// **Order** equal values stay in the order of their arrival (as in [`first`](super::first)), and those that
/// come when the list is full of larger and equal ones do not get in; NaN, and what contains one, stands behind
/// everything, and all other values must be comparable with each other.
/// **State** up to `k` values. A window that was begun under a smaller `k` keeps to it, because what did not
/// get in is gone.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Request { host: String, ms: u64 }
///
/// #[stream_job]
/// fn slowest(requests: Stream<Request>) -> Stream<Vec<u64>> {
///     requests.key_by(|r| r.host.clone()).running(forever()).aggregate(top_k(2, |r| r.ms))
/// }
///
/// let mut job = Harness::new(slowest);
/// for ms in [30, 90, 20, 90] {
///     job.push("requests", Request { host: "h".to_owned(), ms });
/// }
/// assert_eq!(job.take::<Vec<u64>>("slowest"), [vec![30], vec![90, 30], vec![90, 30], vec![90, 90]]);
/// ```
pub fn top_k<T, F: Fn(&T) -> V, V: Extreme<M>, M>(k: usize, of: ByRef<T, F, V>) -> V::Proven<TopK<T, F, V>> {
    V::proven(TopK { k, of })
}

/// The largest values so far, the largest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Top<V> {
    /// How many are kept at most.
    k: usize,
    values: Vec<V>,
}

impl<V: PartialOrd> Top<V> {
    /// Puts the value behind all that are not smaller.
    #[inline]
    fn add(&mut self, value: V) {
        if self.values.len() >= self.k && self.values.last().is_some_and(|last| is_in_front(last, &value)) {
            return;
        }
        let at = self.values.partition_point(|other| is_in_front(other, &value));
        self.values.insert(at, value);
        self.values.truncate(self.k);
    }
}

/// Whether `a` stands in front of a `b` that came later.
fn is_in_front<V: PartialOrd>(a: &V, b: &V) -> bool {
    match (is_ordered(a), is_ordered(b)) {
        (true, true) => a.partial_cmp(b) != Some(Ordering::Less),
        (a, b) => a || !b,
    }
}

impl<T: 'static, F: Fn(&T) -> V + Send + Sync + 'static, V: Extreme> Aggregate<T> for TopK<T, F, V> {
    type State = Top<V>;
    type Out = Vec<V>;

    fn signature() -> String {
        format!("top_k({})", type_name::<V>())
    }

    fn init(&self) -> Top<V> {
        Top { k: self.k, values: Vec::new() }
    }

    #[inline(always)]
    fn add(&self, state: &mut Top<V>, value: &T) {
        state.add((self.of.f)(value));
    }

    fn merge(&self, state: &mut Top<V>, behind: Top<V>) {
        state.k = state.k.min(behind.k);
        state.values.truncate(state.k);
        behind.values.into_iter().for_each(|value| state.add(value));
    }

    fn finish(&self, state: Top<V>) -> Result<Vec<V>, AggregateError> {
        let mut values = state.values;
        values.truncate(self.k);
        Ok(values)
    }

    fn value(&self, state: &Top<V>) -> Result<Vec<V>, AggregateError> {
        Ok(state.values.iter().take(self.k).cloned().collect())
    }
}
