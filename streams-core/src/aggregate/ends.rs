//! `first(|r| r.field)` and `last(|r| r.field)`: by the order in which records arrive.

use crate::aggregate::{Aggregate, AggregateError, ByRef, Kept, type_name};

/// See [`first`].
#[derive(Debug, Clone, Copy)]
pub struct First<T, F, V>(ByRef<T, F, V>);

/// See [`last`].
#[derive(Debug, Clone, Copy)]
pub struct Last<T, F, V>(ByRef<T, F, V>);

/// What the closure gives for the record that arrived first.
///
/// **Order** that of the split's queue, which is the same in every run; in overlapping windows the parts of a
/// window come in the order of their times, and inside of a part it is that of the queue. For the first in
/// event time write [`min_by`](super::min_by)`(|r| r.at, |r| ..)`.
/// **State** one value. The closure runs for the first record only.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Login { user: String, city: String }
///
/// #[stream_job]
/// fn travels(logins: Stream<Login>) -> Stream<(String, String)> {
///     logins
///         .key_by(|l| l.user.clone())
///         .running(forever())
///         .aggregate((first(|l| l.city.clone()), last(|l| l.city.clone())))
/// }
///
/// let mut job = Harness::new(travels);
/// for city in ["Lima", "Oslo", "Rome"] {
///     job.push("logins", Login { user: "ann".to_owned(), city: city.to_owned() });
/// }
/// assert_eq!(job.take::<(String, String)>("travels").pop(), Some(("Lima".into(), "Rome".into())));
/// ```
pub fn first<T, F: Fn(&T) -> V, V: Kept<M>, M>(of: ByRef<T, F, V>) -> V::Proven<First<T, F, V>> {
    V::proven(First(of))
}

/// What the closure gives for the record that arrived last; everything else is as in [`first`], but that the
/// closure runs for every record.
pub fn last<T, F: Fn(&T) -> V, V: Kept<M>, M>(of: ByRef<T, F, V>) -> V::Proven<Last<T, F, V>> {
    V::proven(Last(of))
}

impl<T: 'static, F: Fn(&T) -> V + Send + Sync + 'static, V: Kept> Aggregate<T> for First<T, F, V> {
    type State = Option<V>;
    type Out = V;

    fn signature() -> String {
        format!("first({})", type_name::<V>())
    }

    #[inline(always)]
    fn init(&self) -> Option<V> {
        None
    }

    #[inline(always)]
    fn add(&self, state: &mut Option<V>, value: &T) {
        if state.is_none() {
            *state = Some((self.0.f)(value));
        }
    }

    fn merge(&self, state: &mut Option<V>, behind: Option<V>) {
        if state.is_none() {
            *state = behind;
        }
    }

    fn finish(&self, state: Option<V>) -> Result<V, AggregateError> {
        state.ok_or(AggregateError::Empty("first"))
    }
}

impl<T: 'static, F: Fn(&T) -> V + Send + Sync + 'static, V: Kept> Aggregate<T> for Last<T, F, V> {
    type State = Option<V>;
    type Out = V;

    const COMBINES: bool = true;

    fn signature() -> String {
        format!("last({})", type_name::<V>())
    }

    #[inline(always)]
    fn init(&self) -> Option<V> {
        None
    }

    #[inline(always)]
    fn add(&self, state: &mut Option<V>, value: &T) {
        *state = Some((self.0.f)(value));
    }

    fn merge(&self, state: &mut Option<V>, behind: Option<V>) {
        if behind.is_some() {
            *state = behind;
        }
    }

    fn finish(&self, state: Option<V>) -> Result<V, AggregateError> {
        state.ok_or(AggregateError::Empty("last"))
    }
}
