//! `reduce(|r| r.field, |a, b| ..)`: all values joined by one function.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Kept, type_name};

/// See [`reduce`].
#[derive(Debug, Clone, Copy)]
pub struct Reduce<T, F, V, G> {
    of: ByRef<T, F, V>,
    join: G,
}

/// All values that the first closure gives, joined two by two by the second.
///
/// The second closure must be associative: `a` with `b` and that with `c` is the same as `a` with what `b` and
/// `c` give, because windows that are put together from parts join the parts. It need not be commutative:
/// `a` has arrived before `b` (as in [`first`](super::first)). What is not associative is a `fold`.
/// **State** one value.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Seen { host: String, ports: u64 }
///
/// #[stream_job]
/// fn open(seen: Stream<Seen>) -> Stream<u64> {
///     seen.key_by(|s| s.host.clone()).running(forever()).aggregate(reduce(|s| s.ports, |a, b| a | b))
/// }
///
/// let mut job = Harness::new(open);
/// for ports in [0b001, 0b100, 0b101] {
///     job.push("seen", Seen { host: "h".to_owned(), ports });
/// }
/// assert_eq!(job.take::<u64>("open"), [0b001, 0b101, 0b101]);
/// ```
pub fn reduce<T, F: Fn(&T) -> V, V: Kept<M>, G: Fn(V, V) -> V, M>(
    of: ByRef<T, F, V>,
    join: G,
) -> V::Proven<Reduce<T, F, V, G>> {
    V::proven(Reduce { of, join })
}

impl<T: 'static, F, V: Kept, G> Aggregate<T> for Reduce<T, F, V, G>
where
    F: Fn(&T) -> V + Send + Sync + 'static,
    G: Fn(V, V) -> V + Send + Sync + 'static,
{
    type State = Option<V>;
    type Out = V;

    fn signature() -> String {
        format!("reduce({})", type_name::<V>())
    }

    #[inline(always)]
    fn init(&self) -> Option<V> {
        None
    }

    #[inline(always)]
    fn add(&self, state: &mut Option<V>, value: &T) {
        self.merge(state, Some((self.of.f)(value)));
    }

    #[inline(always)]
    fn merge(&self, state: &mut Option<V>, behind: Option<V>) {
        *state = match (state.take(), behind) {
            (Some(front), Some(behind)) => Some((self.join)(front, behind)),
            (front, behind) => front.or(behind),
        };
    }

    fn finish(&self, state: Option<V>) -> Result<V, AggregateError> {
        state.ok_or(AggregateError::Empty("reduce"))
    }
}
