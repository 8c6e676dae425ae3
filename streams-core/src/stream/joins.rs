//! The joins of [`Stream`]: what a job calls, and what the expansion calls in its place.

use std::marker::PhantomData;

use super::{Keyed, Pure, Stream, restart};
use crate::chain::{Closed, Id, Then};
use crate::join::{
    Change, Full, Inner, JoinBound, Joinable, LeftOuter, Placed, RightOuter, SameKey, SameTime, Side,
    TagLeft, TagRight, Timed,
};
use crate::layout::Queue;
use crate::op::late::ClosedLate;
use crate::op::running::Retention;
use crate::op::table_join::TableJoin;
use crate::record::{NoKey, Rec};
use crate::window::NoWindow;

/// The two sides, what they meet in, the shuffle behind it, and the joined stream.
pub type Joined<A, B, R, K, Tm, Oa, Ha, Ob, Hb, X> = (
    Closed<Then<Oa, TagLeft<B>>, Ha>,
    Closed<Then<Ob, TagRight<K, A>>, Hb>,
    Closed<Id, Rec<K, Side<A, B>>>,
    Queue<K, Side<A, B>>,
    Stream<R, K, Tm, NoWindow, Then<Id, X>, Rec<K, Side<A, B>>>,
);

/// [`Joined`] with a table.
type WithTable<A, B, R, K, Tm, Oa, Ha, Ob, Hb, P> =
    Joined<A, B, R, K, Tm, Oa, Ha, Ob, Hb, TableJoin<K, <B as Change>::Row, P>>;

/// Ends both streams in front of the operator that joins them.
fn meet<A, B, R, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb, X>(
    left: Stream<A, K, Tm, NoWindow, Oa, Ha>,
    right: Stream<B, K2, Tm2, NoWindow, Ob, Hb>,
    operator: X,
) -> Joined<A, B, R, K, Tm, Oa, Ha, Ob, Hb, X> {
    (
        Closed { operators: Then(left.operators, TagLeft(PhantomData)), _head: PhantomData },
        Closed { operators: Then(right.operators, TagRight(PhantomData)), _head: PhantomData },
        Closed { operators: Id, _head: PhantomData },
        Queue { _type: PhantomData },
        Stream { operators: Then(Id, operator), window: NoWindow, _types: PhantomData },
    )
}

/// `J` where both sides can be joined; see [`crate::proof`].
type Told<A, B, K, K2, M, N, J> =
    <A as Joinable<M>>::Proven<<B as Joinable<N>>::Proven<<K2 as SameKey<K>>::Proven<J>>>;

fn told<A: Joinable<M>, B: Joinable<N>, K, K2: SameKey<K>, M, N, J>(joined: J) -> Told<A, B, K, K2, M, N, J> {
    <A as Joinable<M>>::proven(<B as Joinable<N>>::proven(K2::proven(joined)))
}

macro_rules! join {
    ($(#[$doc:meta])* $name:ident, $placed:ident, $kind:ident, $left:ty, $right:ty) => {
        $(#[$doc])*
        pub fn $name<A, B, R, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb, S, F, M, N>(
            id: &'static str,
            left: Stream<A, K, Tm, NoWindow, Oa, Ha>,
            right: Stream<B, K2, Tm2, NoWindow, Ob, Hb>,
            bound: S,
            row: F,
        ) -> Told<A, B, K, K2, M, N, Joined<A, B, R, K, Tm, Oa, Ha, Ob, Hb, S::Join<K, A, B, $kind<F>>>>
        where
            K: Keyed,
            K2: SameKey<K>,
            Tm: Timed,
            Tm2: Timed,
            A: Joinable<M>,
            B: Joinable<N>,
            S: JoinBound,
            F: Fn($left, $right) -> R + Pure,
        {
            told::<A, B, K, K2, M, N, _>(meet(left, right, bound.join(id, $kind(row))))
        }

        $(#[$doc])*
        /// The row asks for its key and its window.
        pub fn $placed<A, B, R, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb, S, F, M, N>(
            id: &'static str,
            left: Stream<A, K, Tm, NoWindow, Oa, Ha>,
            right: Stream<B, K2, Tm2, NoWindow, Ob, Hb>,
            bound: S,
            row: F,
        ) -> Told<A, B, K, K2, M, N, Joined<A, B, R, K, Tm, Oa, Ha, Ob, Hb, S::Join<K, A, B, $kind<Placed<F>>>>>
        where
            K: Keyed,
            K2: SameKey<K>,
            Tm: Timed,
            Tm2: Timed,
            A: Joinable<M>,
            B: Joinable<N>,
            S: JoinBound,
            F: Fn(&K, S::Span, $left, $right) -> R + Pure,
        {
            told::<A, B, K, K2, M, N, _>(meet(left, right, bound.join(id, $kind(Placed(row)))))
        }
    };
}

join!(
    /// The pairs.
    join, join_at, Inner, &A, &B
);
join!(
    /// The pairs and left records that stay alone.
    left_join, left_join_at, LeftOuter, &A, Option<&B>
);
join!(
    /// The pairs and right records that stay alone.
    right_join, right_join_at, RightOuter, Option<&A>, &B
);
join!(
    /// The pairs and all records that stay alone.
    full_join, full_join_at, Full, Option<&A>, Option<&B>
);

/// The right side of a table join, which must be changes of a table.
pub fn changes<B, K, Tm, O, H>(
    changes: Stream<B, K, Tm, NoWindow, O, H>,
) -> <B as Change>::Proven<Stream<B, K, Tm, NoWindow, O, H>>
where
    B: Change,
{
    <B as Change>::proven(changes)
}

/// The end of a joined stream, its rows, and the late records of both sides.
pub type Parted<A, B, R, K, Tm, X> = (
    ClosedLate<Id, X, Rec<K, Side<A, B>>>,
    Stream<R, K, Tm, NoWindow, Id, Rec<K, R>>,
    Stream<Side<A, B>, K, Tm, NoWindow, Id, Rec<K, Side<A, B>>>,
);

/// The join as the end of its stream, whose late records are a stream of their own.
pub fn join_late<A, B, R, K, Tm, X>(
    stream: Stream<R, K, Tm, NoWindow, Then<Id, X>, Rec<K, Side<A, B>>>,
) -> Parted<A, B, R, K, Tm, X> {
    let Then(operators, join) = stream.operators;
    (ClosedLate { operators, aggregate: join, _head: PhantomData }, restart(), restart())
}

/// Each left record with the row of its key in a table.
pub fn join_table<A, B, R, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb, S, F, M, N>(
    id: &'static str,
    left: Stream<A, K, Tm, NoWindow, Oa, Ha>,
    changes: Stream<B, K2, Tm2, NoWindow, Ob, Hb>,
    retention: S,
    row: F,
) -> Told<A, B, K, K2, M, N, WithTable<A, B, R, K, Tm, Oa, Ha, Ob, Hb, Inner<F>>>
where
    K: Keyed,
    K2: SameKey<K>,
    Tm2: SameTime<Tm>,
    A: Joinable<M>,
    B: Change + Joinable<N>,
    S: Retention<Tm>,
    F: Fn(&A, &B::Row) -> R + Pure,
{
    told::<A, B, K, K2, M, N, _>(meet(left, changes, TableJoin::new(id, retention.ttl_ms(), Inner(row))))
}

/// Each left record with the row of its key in a table, or with none.
pub fn left_join_table<A, B, R, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb, S, F, M, N>(
    id: &'static str,
    left: Stream<A, K, Tm, NoWindow, Oa, Ha>,
    changes: Stream<B, K2, Tm2, NoWindow, Ob, Hb>,
    retention: S,
    row: F,
) -> Told<A, B, K, K2, M, N, WithTable<A, B, R, K, Tm, Oa, Ha, Ob, Hb, LeftOuter<F>>>
where
    K: Keyed,
    K2: SameKey<K>,
    Tm2: SameTime<Tm>,
    A: Joinable<M>,
    B: Change + Joinable<N>,
    S: Retention<Tm>,
    F: Fn(&A, Option<&B::Row>) -> R + Pure,
{
    told::<A, B, K, K2, M, N, _>(meet(left, changes, TableJoin::new(id, retention.ttl_ms(), LeftOuter(row))))
}

/// What the functions below never do.
const REPLACED: &str = "`#[stream_job]` turns this call into one of a function of `__private`";

impl<A, K, Tm> Stream<A, K, Tm, NoWindow, Id, Rec<NoKey, A>> {
    /// The pairs of a record of this stream and one of `right` that have the same key and belong together in
    /// time: `tumbling` and `hopping` pair what lies in one window, when the window closes; `within(before,
    /// after)` pairs a record at `t` with those of `right` in `[t - before, t + after]`, ends included, as soon as
    /// both are there. The closure may say `key()` and, in windows, `window_start()` and `window_end()`.
    ///
    /// **Shape** `Stream<A, K>`, `Stream<B, K>` -> `Stream<R, K>`.
    /// **State** the records of both sides until their time is over: the end of the last window, or the last
    /// time at which a partner may come.
    /// **Time** event time behind a join is the smaller of its sides'. Rows of a window are in the order of its
    /// end, the key, the arrival of the left record, then of the right one, and have the time `end - 1 ms`. Pairs
    /// of `within` are in the order in which the second record of each came, then of the first one's time, and
    /// have the larger of both times. A record is late, and counted, when all its windows have closed, or, with
    /// `within`, when it is behind event time.
    ///
    /// # Errors
    /// A record that cannot be encoded is a dead letter where the join crosses a shuffle.
    ///
    /// # Examples
    /// ```
    /// use streams_core::prelude::*;
    /// use streams_core::testing::Harness;
    ///
    /// #[record] struct Order { id: u64, item: String, at: i64 }
    /// #[record] struct Payment { order: u64, cents: u64, at: i64 }
    /// #[record] #[derive(Debug, PartialEq)] struct Paid { item: String, cents: u64 }
    ///
    /// #[stream_job]
    /// fn paid(orders: Stream<Order>, payments: Stream<Payment>) -> Stream<Paid> {
    ///     let orders = orders.event_time(|o| o.at, out_of_order(secs(1))).key_by(|o| o.id);
    ///     let payments = payments.event_time(|p| p.at, out_of_order(secs(1))).key_by(|p| p.order);
    ///     orders.join(payments, within(secs(0), mins(10)), |o, p| Paid { item: o.item.clone(), cents: p.cents })
    /// }
    ///
    /// let mut harness = Harness::new(paid);
    /// harness.push("orders", Order { id: 7, item: "tea".into(), at: 1_000 });
    /// harness.push("payments", Payment { order: 7, cents: 350, at: 601_000 });
    /// harness.push("payments", Payment { order: 7, cents: 350, at: 601_001 });
    /// assert_eq!(harness.take::<Paid>("paid"), [Paid { item: "tea".into(), cents: 350 }]);
    /// ```
    pub fn join<B, R, K2, Tm2, S: JoinBound, F: Fn(&A, &B) -> R>(
        self,
        right: Stream<B, K2, Tm2>,
        bound: S,
        row: F,
    ) -> Stream<R, K, Tm> {
        let _ = (right, bound, row);
        unreachable!("{REPLACED}")
    }

    /// As [`join`](Self::join), and a row for each record of this stream that stays alone: once in each window in
    /// which it is alone, when that closes; with `within` when event time has passed the last time `t` at which a
    /// partner could have come, as a row of that time.
    pub fn left_join<B, R, K2, Tm2, S: JoinBound, F: Fn(&A, Option<&B>) -> R>(
        self,
        right: Stream<B, K2, Tm2>,
        bound: S,
        row: F,
    ) -> Stream<R, K, Tm> {
        let _ = (right, bound, row);
        unreachable!("{REPLACED}")
    }

    /// As [`left_join`](Self::left_join), with the records of `right` in the place of those of this stream.
    pub fn right_join<B, R, K2, Tm2, S: JoinBound, F: Fn(Option<&A>, &B) -> R>(
        self,
        right: Stream<B, K2, Tm2>,
        bound: S,
        row: F,
    ) -> Stream<R, K, Tm> {
        let _ = (right, bound, row);
        unreachable!("{REPLACED}")
    }

    /// As [`join`](Self::join), and a row for each record of either side that stays alone, as in
    /// [`left_join`](Self::left_join). With `within`, rows of one time are in the order of the key, left ones
    /// first, then of arrival.
    pub fn full_join<B, R, K2, Tm2, S: JoinBound, F: Fn(Option<&A>, Option<&B>) -> R>(
        self,
        right: Stream<B, K2, Tm2>,
        bound: S,
        row: F,
    ) -> Stream<R, K, Tm> {
        let _ = (right, bound, row);
        unreachable!("{REPLACED}")
    }

    /// Each record of this stream with the row of its key in a table, which `changes` make: `Some(row)` sets the
    /// row of its key, `None` removes it. A record without a row gives nothing.
    ///
    /// **Shape** `Stream<A, K>`, `Stream<Option<B>, K>` -> `Stream<R, K>`.
    /// **State** a row per key, kept `forever()`, or until event time has passed its last change by a
    /// `ttl(..)`.
    /// **Time** a record finds what came in before it, whatever the event times say; it keeps its own time.
    /// Either both streams have event time or neither.
    ///
    /// # Errors
    /// A record that cannot be encoded is a dead letter where the join crosses a shuffle.
    ///
    /// # Examples
    /// ```
    /// use streams_core::prelude::*;
    /// use streams_core::testing::Harness;
    ///
    /// #[record] struct Login { user: u64 }
    /// #[record] struct User { id: u64, name: String, gone: bool }
    ///
    /// #[stream_job]
    /// fn names(logins: Stream<Login>, users: Stream<User>) -> Stream<String> {
    ///     let users = users.key_by(|u| u.id).map(|u| if u.gone { None } else { Some(u) });
    ///     logins.key_by(|l| l.user).join_table(users, forever(), |_, user| user.name.clone())
    /// }
    ///
    /// let mut harness = Harness::new(names);
    /// harness.push("logins", Login { user: 1 });
    /// harness.push("users", User { id: 1, name: "ann".into(), gone: false });
    /// harness.push("logins", Login { user: 1 });
    /// harness.push("users", User { id: 1, name: "ann".into(), gone: true });
    /// harness.push("logins", Login { user: 1 });
    /// assert_eq!(harness.take::<String>("names"), ["ann"]);
    /// ```
    pub fn join_table<B, R, K2, Tm2, S, F: Fn(&A, &B) -> R>(
        self,
        changes: Stream<Option<B>, K2, Tm2>,
        retention: S,
        row: F,
    ) -> Stream<R, K, Tm> {
        let _ = (changes, retention, row);
        unreachable!("{REPLACED}")
    }

    /// As [`join_table`](Self::join_table), and a row for each record whose key has no row in the table.
    pub fn left_join_table<B, R, K2, Tm2, S, F: Fn(&A, Option<&B>) -> R>(
        self,
        changes: Stream<Option<B>, K2, Tm2>,
        retention: S,
        row: F,
    ) -> Stream<R, K, Tm> {
        let _ = (changes, retention, row);
        unreachable!("{REPLACED}")
    }
}
