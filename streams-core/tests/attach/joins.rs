//! The jobs that join: each bound with each kind whose rows are read in a way of its own.

use streams_core::prelude::*;

use crate::jobs::Event;

#[record]
pub(crate) struct Pair {
    pub(crate) left: Option<u64>,
    pub(crate) right: Option<u64>,
}

fn pair(left: Option<&Event>, right: Option<&Event>) -> Pair {
    Pair { left: left.map(|e| e.amount), right: right.map(|e| e.amount) }
}

macro_rules! join_job {
    ($name:ident, $join:ident, $bound:expr, |$l:ident, $r:ident| $row:expr) => {
        #[stream_job]
        pub(crate) fn $name(left: Stream<Event>, right: Stream<Event>) -> Stream<Pair> {
            let left = left.event_time(|e| e.at, out_of_order(millis(3))).key_by(|e| e.key);
            let right = right.event_time(|e| e.at, out_of_order(millis(9))).key_by(|e| e.key);
            left.$join(right, $bound, |$l, $r| $row)
        }
    };
}

join_job!(windows_inner, join, tumbling(millis(10)), |l, r| pair(Some(l), Some(r)));
join_job!(windows_full, full_join, tumbling(millis(7)), |l, r| pair(l, r));
join_job!(hopping_left, left_join, hopping(millis(10), millis(3)), |l, r| pair(Some(l), r));
join_job!(hopping_right, right_join, hopping(millis(30), millis(5)), |l, r| pair(l, Some(r)));
join_job!(near_inner, join, within(millis(20), millis(10)), |l, r| pair(Some(l), Some(r)));
join_job!(near_left, left_join, within(millis(20), millis(10)), |l, r| pair(Some(l), r));
join_job!(near_right, right_join, within(millis(5), millis(40)), |l, r| pair(l, Some(r)));
join_job!(near_full, full_join, within(millis(10), millis(3)), |l, r| pair(l, r));
join_job!(near_before, full_join, within(days(100_000_000_000), millis(0)), |l, r| pair(l, r));
join_job!(near_at_once, full_join, within(millis(0), millis(0)), |l, r| pair(l, r));

/// Small amounts are rows of the table, others remove them.
fn change(event: Event) -> Option<Event> {
    (event.amount % 10 < 7).then_some(event)
}

#[stream_job]
pub(crate) fn table_forever(left: Stream<Event>, right: Stream<Event>) -> Stream<Pair> {
    let changes = right.key_by(|e| e.key).map(change);
    left.key_by(|e| e.key).left_join_table(changes, forever(), |l, r| pair(Some(l), r))
}

#[stream_job]
pub(crate) fn table_ttl(left: Stream<Event>, right: Stream<Event>) -> Stream<Pair> {
    let changes = right.event_time(|e| e.at, out_of_order(millis(9))).key_by(|e| e.key).map(change);
    left.event_time(|e| e.at, out_of_order(millis(3))).key_by(|e| e.key).join_table(
        changes,
        ttl(millis(20)),
        |l, r| pair(Some(l), Some(r)),
    )
}

#[record]
pub(crate) struct Sum {
    pub(crate) total: u64,
}

/// Two aggregates of one port, joined, and the pairs joined with the other port.
#[stream_job]
pub(crate) fn join_of_sums(left: Stream<Event>, right: Stream<Event>) -> Stream<Pair> {
    let timed = left.event_time(|e| e.at, out_of_order(millis(3)));
    let short =
        timed.key_by(|e| e.key).window(tumbling(millis(5))).aggregate(Sum { total: sum(|e| e.amount) });
    let long =
        timed.key_by(|e| e.key).window(tumbling(millis(10))).aggregate(Sum { total: sum(|e| e.amount) });
    let sums = short.left_join(long, within(millis(0), millis(5)), |s, l| Event {
        key: 0,
        amount: s.total * 7 + l.map_or(0, |l| l.total),
        at: 0,
    });
    let right = right.event_time(|e| e.at, out_of_order(millis(9))).key_by(|e| e.key);
    sums.full_join(right, tumbling(millis(20)), pair)
}
