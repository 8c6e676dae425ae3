//! `count_distinct(|r| r.field)`: how many different values, exactly.

use std::collections::BTreeSet;

use crate::aggregate::{Aggregate, AggregateError, ByRef, Distinct, type_name};

/// See [`count_distinct`].
#[derive(Debug, Clone, Copy)]
pub struct CountDistinct<T, F, V>(ByRef<T, F, V>);

/// How many different values the closure gives, as `u64`, exactly.
///
/// **State** every different value once, and all of them are written again at a checkpoint after one has come:
/// right for hundreds or some thousands of values per key. For more, [`approx_count_distinct`] keeps 4 KiB.
///
/// [`approx_count_distinct`]: super::approx_count_distinct
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Login { host: String, user: String }
///
/// #[stream_job]
/// fn users(logins: Stream<Login>) -> Stream<u64> {
///     logins.key_by(|l| l.host.clone()).running(forever()).aggregate(count_distinct(|l| l.user.clone()))
/// }
///
/// let mut job = Harness::new(users);
/// for user in ["ann", "bob", "ann"] {
///     job.push("logins", Login { host: "h".to_owned(), user: user.to_owned() });
/// }
/// assert_eq!(job.take::<u64>("users"), [1, 2, 2]);
/// ```
pub fn count_distinct<T, F: Fn(&T) -> V, V: Distinct<M>, M>(
    of: ByRef<T, F, V>,
) -> V::Proven<CountDistinct<T, F, V>> {
    V::proven(CountDistinct(of))
}

impl<T: 'static, F: Fn(&T) -> V + Send + Sync + 'static, V: Distinct> Aggregate<T>
    for CountDistinct<T, F, V>
{
    type State = BTreeSet<V>;
    type Out = u64;

    fn signature() -> String {
        format!("count_distinct({})", type_name::<V>())
    }

    fn init(&self) -> BTreeSet<V> {
        BTreeSet::new()
    }

    #[inline(always)]
    fn add(&self, state: &mut BTreeSet<V>, value: &T) {
        state.insert((self.0.f)(value));
    }

    fn merge(&self, state: &mut BTreeSet<V>, behind: BTreeSet<V>) {
        state.extend(behind);
    }

    fn finish(&self, state: BTreeSet<V>) -> Result<u64, AggregateError> {
        self.value(&state)
    }

    fn value(&self, state: &BTreeSet<V>) -> Result<u64, AggregateError> {
        Ok(state.len() as u64)
    }
}
