//! The jobs: one per kind of join and bound.

use streams_core::prelude::*;

#[record]
pub(crate) struct Item {
    pub(crate) key: u32,
    pub(crate) value: u32,
    pub(crate) at: i64,
}

/// `l` or `r` with the value, `-` for nobody.
pub(crate) fn show(left: Option<&Item>, right: Option<&Item>) -> String {
    let text =
        |side: &str, item: Option<&Item>| item.map_or("-".to_owned(), |i| format!("{side}{}", i.value));
    format!("{}{}", text("l", left), text("r", right))
}

macro_rules! join_job {
    ($name:ident, $join:ident, $bound:expr, |$l:ident, $r:ident| $row:expr) => {
        #[stream_job]
        pub(crate) fn $name(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
            let left = left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
            let right = right.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
            left.$join(right, $bound, |$l, $r| $row)
        }
    };
}

join_job!(inner_10, join, tumbling(millis(10)), |l, r| show(Some(l), Some(r)));
join_job!(left_10, left_join, tumbling(millis(10)), |l, r| show(Some(l), r));
join_job!(right_10, right_join, tumbling(millis(10)), |l, r| show(l, Some(r)));
join_job!(full_10, full_join, tumbling(millis(10)), |l, r| show(l, r));
join_job!(overlapping, full_join, hopping(millis(10), millis(5)), |l, r| show(l, r));
join_job!(near, join, within(millis(5), millis(3)), |l, r| show(Some(l), Some(r)));
join_job!(left_near, left_join, within(millis(5), millis(3)), |l, r| show(Some(l), r));
join_job!(right_near, right_join, within(millis(5), millis(3)), |l, r| show(l, Some(r)));
join_job!(full_near, full_join, within(millis(5), millis(3)), |l, r| show(l, r));

/// Values under ten are rows of the table, the others remove them.
fn row(item: Item) -> Option<Item> {
    (item.value < 10).then_some(item)
}

#[stream_job]
pub(crate) fn table(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
    let rows = right.key_by(|i| i.key).map(row);
    left.key_by(|i| i.key).join_table(rows, forever(), |l, r| show(Some(l), Some(r)))
}

#[stream_job]
pub(crate) fn left_table(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
    let rows = right.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key).map(row);
    left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key).left_join_table(
        rows,
        ttl(millis(10)),
        |l, r| show(Some(l), r),
    )
}

/// The same port on both sides.
#[stream_job]
pub(crate) fn itself(left: Stream<Item>) -> Stream<String> {
    let timed = left.event_time(|i| i.at, out_of_order(millis(0)));
    let even = timed.filter(|i| i.value % 2 == 0).key_by(|i| i.key);
    timed.key_by(|i| i.key).join(even, tumbling(millis(10)), |l, r| show(Some(l), Some(r)))
}

/// A keyed stream on both sides.
#[stream_job]
pub(crate) fn with_itself(left: Stream<Item>) -> Stream<String> {
    let keyed = left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    keyed.join(keyed, within(millis(2), millis(0)), |l, r| show(Some(l), Some(r)))
}

#[record]
pub(crate) struct Count {
    pub(crate) n: u64,
}

/// A record of the left port with how many of the right port were in its window.
#[stream_job]
pub(crate) fn with_counts(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
    let counts = right
        .event_time(|i| i.at, out_of_order(millis(0)))
        .key_by(|i| i.key)
        .window(tumbling(millis(10)))
        .aggregate(Count { n: count() });
    left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key).left_join(
        counts,
        tumbling(millis(10)),
        |l, c| format!("l{}n{}", l.value, c.map_or(0, |c| c.n)),
    )
}

/// A join of a join; what the closures capture is a setting.
#[stream_job]
pub(crate) fn three(
    left: Stream<Item>,
    right: Stream<Item>,
    #[arg(default = "10ms")] size: std::time::Duration,
    #[arg(default = "!")] mark: String,
) -> Stream<String> {
    let left = left.event_time(|i| i.at, out_of_order(millis(0)));
    let right = right.event_time(|i| i.at, out_of_order(millis(0)));
    let pairs = left.key_by(|i| i.key).join(right.key_by(|i| i.key), tumbling(size), |l, r| Item {
        key: l.key,
        value: l.value * 100 + r.value,
        at: l.at.max(r.at),
    });
    let again = right.filter(|i| i.value > 1).key_by(|i| i.key);
    pairs
        .named("pairs")
        .join(again, within(size, millis(0)), |l, r| format!("{mark}{}", show(Some(l), Some(r))))
}

/// Rows of a join in windows, and what came too late for them.
#[stream_job]
pub(crate) fn late_of_windows(left: Stream<Item>, right: Stream<Item>) -> (Stream<String>, Stream<String>) {
    let left = left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    let right = right.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    let pairs = left.left_join(right, tumbling(millis(10)), |l, r| show(Some(l), r));
    let late = pairs.late().map(of_side);
    (pairs, late)
}

/// The same of a join of what is near, in one stream.
#[stream_job]
pub(crate) fn late_of_near(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
    let left = left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    let right = right.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    let pairs = left.join(right, within(millis(5), millis(3)), |l, r| show(Some(l), Some(r))).named("pairs");
    pairs.late().map(of_side).union(pairs)
}

fn of_side(late: Side<Item, Item>) -> String {
    match late {
        Side::Left(item) => format!("late {}", show(Some(&item), None)),
        Side::Right(item) => format!("late {}", show(None, Some(&item))),
    }
}

/// Rows that say where they belong, in windows that overlap.
#[stream_job]
pub(crate) fn placed(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
    let left = left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    let right = right.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    left.full_join(right, hopping(millis(10), millis(5)), |l, r| {
        format!("{}@{}..{}={}", key(), window_start(), window_end(), show(l, r))
    })
}

/// The same of what is near: it has a key and no window.
#[stream_job]
pub(crate) fn placed_near(left: Stream<Item>, right: Stream<Item>) -> Stream<String> {
    let left = left.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    let right = right.event_time(|i| i.at, out_of_order(millis(0))).key_by(|i| i.key);
    left.left_join(right, within(millis(5), millis(3)), |l, r| format!("{}={}", key(), show(Some(l), r)))
}
