//! The operators that look at one record at a time, which are those of parts.

use super::written::Collected;
use super::{Next, Pure, Stream, restart};
use crate::chain::Id;
use crate::op::filter::Filter;
use crate::op::filter_map::FilterMap;
use crate::op::flat_map::FlatMap;
use crate::op::inspect::Inspect;
use crate::op::map::Map;
use crate::op::try_map::TryMap;
use crate::proof::{Fails, Holds, Never};
use crate::push::Operator;
use crate::record::Rec;
use crate::window::NoWindow;

/// What a part takes, where it is given a stream of `T`.
#[diagnostic::on_unimplemented(
    message = "this part takes a stream of `{Self}`, but gets one of `{T}`",
    label = "takes `{Self}`",
    note = "turn the records into `{Self}` with a `map` in front of `.through(..)`, or choose a part that takes `{T}`"
)]
pub trait TakenFrom<T> {
    crate::proof::told_once!(TakenFrom<T>);
}

#[diagnostic::do_not_recommend]
impl<T> TakenFrom<T> for T {
    crate::proof::holds!();
}

/// What `through` takes: from a stream of `A` to one of `U`, whatever its key and its time.
#[diagnostic::on_unimplemented(
    message = "`.through(..)` takes a part, and this is none",
    label = "no part of a job",
    note = "put `#[stream_part]` on the function: it goes from one stream to one, `fn part(s: Stream<A>) -> Stream<B>`"
)]
pub trait Part<A, U, K, Tm, O, M = Holds> {
    crate::proof::told_once!(Part<A, U, K, Tm, O, M>);

    /// Its operators.
    fn operators(self) -> O;
}

#[diagnostic::do_not_recommend]
impl<P, A, U, K, Tm, O> Part<A, U, K, Tm, O, Holds> for P
where
    P: FnOnce(Stream<A, K, Tm, NoWindow, Id, Rec<K, A>>) -> Stream<U, K, Tm, NoWindow, O, Rec<K, A>>,
{
    crate::proof::holds!();

    fn operators(self) -> O {
        self(restart()).operators
    }
}

#[diagnostic::do_not_recommend]
impl<P: Never, A, U, K, Tm, O: Never> Part<A, U, K, Tm, O, Fails> for P {
    crate::proof::holds!();

    fn operators(self) -> O {
        unreachable!("nothing is a `Never`")
    }
}

impl<T, K, Tm, W, O: Collected, H> Stream<T, K, Tm, W, O, H> {
    /// Turns each record into another.
    pub fn map<U, F: Fn(T) -> U + Pure>(self, f: F) -> Next<U, K, Tm, W, O, Map<F>, H> {
        self.then(Map(f))
    }

    /// Keeps the records for which the closure says `true`.
    pub fn filter<F: Fn(&T) -> bool + Pure>(self, keep: F) -> Next<T, K, Tm, W, O, Filter<F>, H> {
        self.then(Filter(keep))
    }

    /// Turns each record into another or drops it.
    pub fn filter_map<U, F: Fn(T) -> Option<U> + Pure>(self, f: F) -> Next<U, K, Tm, W, O, FilterMap<F>, H> {
        self.then(FilterMap(f))
    }

    /// Turns each record into any number of others, in the order of the iterator.
    pub fn flat_map<I: IntoIterator, F: Fn(T) -> I + Pure>(
        self,
        f: F,
    ) -> Next<I::Item, K, Tm, W, O, FlatMap<F>, H> {
        self.then(FlatMap(f))
    }

    /// Turns each record into another or fails; a failed record becomes a dead letter with the reason, and its
    /// neighbours go on.
    pub fn try_map<U, E: std::fmt::Display, F: Fn(&T) -> Result<U, E> + Pure>(
        self,
        f: F,
    ) -> Next<U, K, Tm, W, O, TryMap<F>, H> {
        self.then(TryMap { id: "try_map", f })
    }

    /// Looks at each record and passes it on.
    pub fn inspect<F: Fn(&T) + Pure>(self, look: F) -> Next<T, K, Tm, W, O, Inspect<F>, H> {
        self.then(Inspect(look))
    }

    /// Sends the records through a part: a chain of operators with a name, which `#[stream_part]` makes of a function
    /// from a stream to a stream, in this crate or another.
    ///
    /// **Shape** `Stream<T, K>` -> `Stream<U, K>`, whatever the key and the time.
    /// **State** none: what keeps state or moves records between machines stands in the job, where it is seen.
    /// **Time** watermarks pass unchanged.
    ///
    /// # Examples
    /// ```
    /// use streams_core::{prelude::*, testing::Harness};
    ///
    /// #[record] struct Line { text: String }
    /// #[record] struct Hit { host: String, bytes: u64 }
    ///
    /// /// The lines that are hits.
    /// #[stream_part]
    /// fn hits(lines: Stream<Line>) -> Stream<Hit> {
    ///     lines.filter(|l| !l.text.starts_with('#')).filter_map(|l| {
    ///         let (host, bytes) = l.text.split_once(' ')?;
    ///         Some(Hit { host: host.to_owned(), bytes: bytes.parse().ok()? })
    ///     })
    /// }
    ///
    /// #[stream_job]
    /// fn volume(lines: Stream<Line>) -> Stream<u64> {
    ///     lines.through(hits).key_by(|h| h.host.clone()).running(forever()).aggregate(sum(|h| h.bytes))
    /// }
    ///
    /// let mut job = Harness::new(volume);
    /// for text in ["# log", "a 3", "b x", "a 4"] {
    ///     job.push("lines", Line { text: text.to_owned() });
    /// }
    /// assert_eq!(job.take::<u64>("volume"), [3, 7]);
    /// ```
    pub fn through<A: TakenFrom<T>, U, X, P: Part<A, U, K, Tm, X, M>, M>(
        self,
        part: P,
    ) -> P::Proven<A::Proven<Next<U, K, Tm, W, O, X, H>>>
    where
        X: Operator<Rec<K, A>, Out = Rec<K, U>>,
    {
        let operators = part.operators();
        P::proven(A::proven(self.then(operators)))
    }

    /// Names the operator before it; its state is kept under this name, so that it survives changes around it.
    #[must_use]
    pub fn named(mut self, id: &'static str) -> Self
    where
        O: Operator<H>,
    {
        self.operators.set_id(id);
        self
    }
}
