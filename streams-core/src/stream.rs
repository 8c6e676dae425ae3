//! `Stream`: what a job's function is written in, and the builder that collects its operators.
//!
//! The type parameters behind the value are typestate: they let the compiler refuse a window without a key or
//! without event time, on the user's own word. Inside a job they are inferred; in a signature they are left out.

use std::marker::PhantomData;
use std::time::Duration;

use crate::aggregate::{Aggregates, StandsIn, Typer};
use crate::chain::{Closed, Id, Then};
use crate::join::{SameKey, SameTime, Timed};
use crate::key::{Key, Shuffled};
use crate::layout::Queue;
use crate::op::distinct_within::DistinctWithin;
use crate::op::event_time::EventTime;
use crate::op::filter::Filter;
use crate::op::filter_map::FilterMap;
use crate::op::flat_map::FlatMap;
use crate::op::inspect::Inspect;
use crate::op::key_by::KeyBy;
use crate::op::late::ClosedLate;
use crate::op::map::Map;
use crate::op::running::Retention;
use crate::op::try_map::TryMap;
use crate::proof::{Fails, Holds, Never};
use crate::push::Operator;
use crate::record::{EventTimed, NoKey, NoTime, Rec, TimeMark};
use crate::time::{OutOfOrder, TimeBound};
use crate::window::{Closing, NoWindow, Running, WindowOver, WindowSpec, Windowed};

pub mod joins;
pub mod lookups;
pub mod times;
pub mod unions;

/// A stream of values of type `T`.
///
/// In a job's signature write `Stream<T>`; everything else is inferred.
#[derive(Debug)]
pub struct Stream<T, K = NoKey, Tm = NoTime, W = NoWindow, O = Id, H = Rec<NoKey, T>> {
    operators: O,
    window: W,
    _types: PhantomData<fn(H) -> (T, K, Tm)>,
}

/// What an operator may capture: settings and constants, but nothing that changes.
#[diagnostic::on_unimplemented(
    message = "this operator captures something that is not plain data",
    label = "captures state that would not survive a checkpoint",
    note = "operators may capture settings and constants; keep changing state in `.aggregate(..)`"
)]
pub trait Pure: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<F: Send + Sync + 'static> Pure for F {}

/// A stream that has a key.
#[diagnostic::on_unimplemented(
    message = "this stream has no key",
    label = "needs a key",
    note = "write `.key_by(|r| r.field.clone())` before it"
)]
pub trait Keyed: Key {}

#[diagnostic::do_not_recommend]
impl<K: Key> Keyed for K {}

/// A stream type in the signature of a job.
pub trait Port {
    /// Its values.
    type Item;
}

impl<T> Port for Stream<T> {
    type Item = T;
}

/// The records of an output whose type in the signature is `Stream<S>`.
#[diagnostic::on_unimplemented(
    message = "this output gives `{Self}`, but the signature says `Stream<{S}>`",
    label = "the job returns a stream of `{Self}` here",
    note = "write `Stream<{Self}>` in the signature, or turn the records into what it says with a `map`"
)]
pub trait Returned<S> {}

#[diagnostic::do_not_recommend]
impl<T> Returned<T> for T {}

impl<T> Stream<T> {
    pub(crate) fn head() -> Self {
        Self { operators: Id, window: NoWindow, _types: PhantomData }
    }
}

/// A bound of event time that a stream with key `K` and time `Tm` can have.
#[diagnostic::on_unimplemented(
    message = "`event_time` cannot have this bound here",
    label = "no bound of event time for this stream",
    note = "write `out_of_order(secs(5))`; `.at_most_ahead(..)` goes with the first `event_time` of a stream, in front of `key_by`, since it measures against the time at which a broker stored the message"
)]
pub trait BoundFor<K, Tm>: TimeBound {
    crate::proof::told_once!(BoundFor<K, Tm>);
}

#[diagnostic::do_not_recommend]
impl<K, Tm> BoundFor<K, Tm> for OutOfOrder<false> {
    crate::proof::holds!();
}
#[diagnostic::do_not_recommend]
impl<K: SameKey<NoKey>, Tm: SameTime<NoTime>> BoundFor<K, Tm> for OutOfOrder<true> {
    crate::proof::holds!();
}

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

/// Stream with one more operator.
type Next<T, K, Tm, W, O, X, H> = Stream<T, K, Tm, W, Then<O, X>, H>;

impl<T, K, Tm, W, O, H> Stream<T, K, Tm, W, O, H> {
    fn then<X, T2, K2, Tm2>(self, operator: X) -> Next<T2, K2, Tm2, W, O, X, H> {
        Stream { operators: Then(self.operators, operator), window: self.window, _types: PhantomData }
    }

    /// Says when a record happened, in ms since the Unix epoch, and how far records may be out of order. The
    /// watermark follows the largest time seen at that distance. Behind another `event_time` it begins a new
    /// time, with a watermark of its own.
    pub fn event_time<F: Fn(&T) -> i64 + Pure, B: BoundFor<K, Tm>>(
        self,
        at_ms: F,
        bound: B,
    ) -> B::Proven<Next<T, K, EventTimed, W, O, EventTime<F, B>, H>>
    where
        Tm: TimeMark,
    {
        B::proven(self.then(EventTime::new(at_ms, bound, Tm::TIMED)))
    }

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
    pub fn through<A: TakenFrom<T>, U, X, P>(self, part: P) -> A::Proven<Next<U, K, Tm, W, O, X, H>>
    where
        P: FnOnce(Stream<A, K, Tm, NoWindow, Id, Rec<K, A>>) -> Stream<U, K, Tm, NoWindow, X, Rec<K, A>>,
        X: Operator<Rec<K, A>, Out = Rec<K, U>>,
    {
        let part = part(restart());
        A::proven(self.then(part.operators))
    }

    /// Gives each record a key; what comes behind sees all records of one key in one place, in order.
    pub fn key_by<K2: Key<M>, F: Fn(&T) -> K2 + Pure, M>(
        self,
        key: F,
    ) -> K2::Proven<Next<T, K2, Tm, W, O, KeyBy<F, K2>, H>> {
        K2::proven(self.then(KeyBy(key, PhantomData)))
    }

    /// Keeps the first of the records of a key that are less than `length` of event time apart: what is repeated
    /// is held back and counted. A `length` of zero holds nothing back.
    ///
    /// # Examples
    /// ```
    /// use streams_core::{prelude::*, testing::Harness};
    ///
    /// #[record]
    /// struct Alarm { host: String, at: i64 }
    ///
    /// #[stream_job]
    /// fn quiet(alarms: Stream<Alarm>) -> Stream<Alarm> {
    ///     alarms
    ///         .event_time(|a| a.at, out_of_order(secs(5)))
    ///         .key_by(|a| a.host.clone())
    ///         .distinct_within(mins(1))
    /// }
    ///
    /// let mut job = Harness::new(quiet);
    /// for at in [0, 2_000, 59_999, 60_000, 61_000] {
    ///     job.push("alarms", Alarm { host: "h".to_owned(), at });
    /// }
    /// let times: Vec<i64> = job.take::<Alarm>("quiet").iter().map(|alarm| alarm.at).collect();
    /// assert_eq!((times, job.repeated()), (vec![0, 60_000], 3));
    /// ```
    pub fn distinct_within(self, length: Duration) -> Next<T, K, Tm, W, O, DistinctWithin<K, T>, H>
    where
        K: Keyed,
        Tm: Timed,
    {
        self.then(DistinctWithin::new(length))
    }

    /// Cuts the records of each key into windows, for an aggregate.
    pub fn window<S: WindowSpec + WindowOver<Tm>>(self, spec: S) -> Stream<T, K, Tm, S, O, H>
    where
        K: Keyed,
    {
        Stream { operators: self.operators, window: spec, _types: PhantomData }
    }

    /// Aggregates without a window: one result per record, over all records of its key so far.
    pub fn running<R: Retention<Tm>>(self, retention: R) -> Stream<T, K, Tm, Running<Option<i64>>, O, H>
    where
        K: Keyed,
    {
        Stream { operators: self.operators, window: Running(retention.ttl_ms()), _types: PhantomData }
    }

    /// Gathers the records of each key and window into one result: a struct literal (or any expression) whose
    /// values may be aggregates ([`crate::aggregate`] lists them), `key()`, `window_start()`, `window_end()`,
    /// `fired()` and arithmetic over them.
    #[expect(clippy::needless_pass_by_value, reason = "only the signature is ever used")]
    pub fn aggregate<R>(self, result: R) -> Stream<R, K, Tm>
    where
        W: Windowed,
    {
        let _ = result;
        unreachable!("`#[stream_job]` turns this call into one of `__private::aggregate`")
    }

    /// The records that came too late for every window of this aggregate; of a join of two streams, those of either
    /// side that came too late for any partner, each as a [`Side`](crate::join::Side).
    pub fn late(&self) -> Stream<T, K, Tm> {
        unreachable!("`#[stream_job]` turns this call into the second end of the aggregate or the join")
    }

    /// Both streams as one; event time is the smaller of the two.
    #[expect(clippy::needless_pass_by_value, reason = "only the signature is ever used")]
    pub fn union(self, other: Self) -> Self {
        let _ = other;
        unreachable!("`#[stream_job]` turns this call into one of `__private::union`")
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

    #[doc(hidden)]
    pub fn typer(&self) -> Typer<T> {
        Typer(PhantomData)
    }

    pub(crate) fn close(self) -> Closed<O, H> {
        Closed { operators: self.operators, _head: PhantomData }
    }
}

/// Ends the stage behind a `key_by`: its end, what crosses the border, the stream behind it.
#[expect(clippy::type_complexity, reason = "three things leave here, each with its own type")]
pub fn cut<T: Shuffled<M>, K, Tm, O, H, M>(
    stream: Stream<T, K, Tm, NoWindow, O, H>,
) -> T::Proven<(Closed<O, H>, Queue<K, T>, Stream<T, K, Tm, NoWindow, Id, Rec<K, T>>)> {
    T::proven((stream.close(), Queue { _type: PhantomData }, restart()))
}

/// Ends a long row of operators: its end, and the stream that goes on behind it.
pub fn pause<T, K, Tm, W, O, H>(
    stream: Stream<T, K, Tm, W, O, H>,
) -> (Closed<O, H>, Stream<T, K, Tm, W, Id, Rec<K, T>>) {
    let behind = Stream { operators: Id, window: stream.window, _types: PhantomData };
    (Closed { operators: stream.operators, _head: PhantomData }, behind)
}

fn restart<T, K, Tm>() -> Stream<T, K, Tm, NoWindow, Id, Rec<K, T>> {
    Stream { operators: Id, window: NoWindow, _types: PhantomData }
}

/// A stream that is used more than once: each use is a [`fork`] of it.
#[derive(Debug)]
pub struct Forks<T, K, Tm, W> {
    window: W,
    _types: PhantomData<fn() -> (T, K, Tm)>,
}

/// A stream whose records can go to several places.
#[diagnostic::on_unimplemented(
    message = "this stream is used more than once but `{T}` is not `Clone`",
    label = "each use gets its own copy of `{T}`",
    note = "add `#[derive(Clone)]` to `{T}`, or use the stream once"
)]
pub trait Forkable<T, M = Holds> {
    crate::proof::told_once!(Forkable<T, M>);
}

#[diagnostic::do_not_recommend]
impl<T: Clone, K: Clone, Tm, W, O, H> Forkable<T, Holds> for Stream<T, K, Tm, W, O, H> {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<T: Never, K, Tm, W, O, H> Forkable<T, Fails> for Stream<T, K, Tm, W, O, H> {
    crate::proof::holds!();
}

/// Ends the stream in front of a fan-out.
pub fn tee<T, K, Tm, W, O, H, M>(
    stream: Stream<T, K, Tm, W, O, H>,
) -> <Stream<T, K, Tm, W, O, H> as Forkable<T, M>>::Proven<(Closed<O, H>, Forks<T, K, Tm, W>)>
where
    Stream<T, K, Tm, W, O, H>: Forkable<T, M>,
{
    let forks = Forks { window: stream.window, _types: PhantomData };
    let closed = Closed { operators: stream.operators, _head: PhantomData };
    <Stream<T, K, Tm, W, O, H> as Forkable<T, M>>::proven((closed, forks))
}

/// One use of a stream behind a fan-out.
pub fn fork<T, K, Tm, W: Copy>(forks: &Forks<T, K, Tm, W>) -> Stream<T, K, Tm, W, Id, Rec<K, T>> {
    Stream { operators: Id, window: forks.window, _types: PhantomData }
}

/// The aggregate as an operator.
pub fn aggregate<T: 'static, K, Tm, W, O, H, A, F, R>(
    id: &'static str,
    aggregates: A,
    stream: Stream<T, K, Tm, W, O, H>,
    finish: F,
) -> Next<R, K, Tm, NoWindow, O, W::Aggregate<K, T, A, F>, H>
where
    W: Windowed,
    K: Keyed,
    A: Aggregates<T> + StandsIn<W>,
    F: Fn(&K, W::Span, A::Out) -> R + Pure,
{
    let operator = stream.window.aggregate(id, aggregates, finish);
    Stream { operators: Then(stream.operators, operator), window: NoWindow, _types: PhantomData }
}

/// The aggregate as the end of its stream: the end, the results, the late records.
#[expect(clippy::type_complexity, reason = "three streams leave here, each with its own type")]
pub fn aggregate_late<T: 'static, K, Tm, W, O, H, A, F, R>(
    id: &'static str,
    aggregates: A,
    stream: Stream<T, K, Tm, W, O, H>,
    finish: F,
) -> W::Proven<(
    ClosedLate<O, W::Aggregate<K, T, A, F>, H>,
    Stream<R, K, Tm, NoWindow, Id, Rec<K, R>>,
    Stream<T, K, Tm, NoWindow, Id, Rec<K, T>>,
)>
where
    W: Closing,
    K: Keyed,
    A: Aggregates<T> + StandsIn<W>,
    F: Fn(&K, W::Span, A::Out) -> R + Pure,
{
    let aggregate = stream.window.aggregate(id, aggregates, finish);
    let closed = ClosedLate { operators: stream.operators, aggregate, _head: PhantomData };
    W::proven((closed, restart(), restart()))
}
