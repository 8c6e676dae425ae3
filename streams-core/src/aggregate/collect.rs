//! `collect(limit, |r| r.field)`: all values in one list.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Kept, type_name};

/// See [`collect`].
#[derive(Debug, Clone, Copy)]
pub struct Collect<T, F, V> {
    limit: usize,
    of: ByRef<T, F, V>,
}

/// All values that the closure gives, in the order of their arrival (as in [`first`](super::first)), at most
/// `limit` of them.
///
/// **State** all values, until there are more than `limit`: then they are dropped, and the result is a dead
/// letter that says so. A list that silently lacks its end would be read as if it were whole. All values are
/// written again at a checkpoint after one has come.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Step { session: u64, page: String }
///
/// #[stream_job]
/// fn paths(steps: Stream<Step>) -> Stream<String> {
///     steps.key_by(|s| s.session).running(forever()).aggregate(collect(2, |s| s.page.clone()).join(" > "))
/// }
///
/// let mut job = Harness::new(paths);
/// for page in ["home", "cart", "pay"] {
///     job.push("steps", Step { session: 1, page: page.to_owned() });
/// }
/// assert_eq!(job.take::<String>("paths"), ["home", "home > cart"]);
/// assert!(job.rejects()[0].error.contains("more than 2 values"));
/// ```
pub fn collect<T, F: Fn(&T) -> V, V: Kept<M>, M>(
    limit: usize,
    of: ByRef<T, F, V>,
) -> V::Proven<Collect<T, F, V>> {
    V::proven(Collect { limit, of })
}

impl<T: 'static, F: Fn(&T) -> V + Send + Sync + 'static, V: Kept> Aggregate<T> for Collect<T, F, V> {
    /// `None` once there were too many.
    type State = Option<Vec<V>>;
    type Out = Vec<V>;

    fn signature() -> String {
        format!("collect({})", type_name::<V>())
    }

    fn init(&self) -> Self::State {
        Some(Vec::new())
    }

    #[inline(always)]
    fn add(&self, state: &mut Self::State, value: &T) {
        match state {
            Some(values) if values.len() < self.limit => values.push((self.of.f)(value)),
            _ => *state = None,
        }
    }

    fn merge(&self, state: &mut Self::State, behind: Self::State) {
        match (state.as_mut(), behind) {
            (Some(values), Some(behind)) if values.len() + behind.len() <= self.limit => {
                values.extend(behind)
            }
            _ => *state = None,
        }
    }

    fn finish(&self, state: Self::State) -> Result<Vec<V>, AggregateError> {
        state.ok_or(AggregateError::TooMany(self.limit))
    }
}
