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
use crate::op::key_by::KeyBy;
use crate::op::late::ClosedLate;
use crate::op::running::Retention;
use crate::proof::{Fails, Holds, Never};
use crate::record::{EventTimed, NoKey, NoTime, Rec, TimeMark};
use crate::time::{OutOfOrder, TimeBound};
use crate::window::{Closing, NoWindow, Running, WindowOver, WindowSpec, Windowed};

pub mod joins;
pub mod lookups;
pub mod straight;
pub mod times;
pub mod unions;
pub mod written;

use written::Written;

/// A stream of values of type `T`.
///
/// In a job's signature write `Stream<T>`; everything else is inferred.
#[derive(Debug)]
pub struct Stream<T, K = NoKey, Tm = NoTime, W = NoWindow, O = Written, H = Written> {
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

/// A stream that comes in, without an operator yet.
pub type Head<T> = Stream<T, NoKey, NoTime, NoWindow, Id, Rec<NoKey, T>>;

impl<T> Head<T> {
    pub(crate) fn head() -> Self {
        restart()
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
