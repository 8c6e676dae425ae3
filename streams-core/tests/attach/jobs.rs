//! The jobs: each operator that keeps rows, alone and in rows, with the bounds that are hard.

use streams_core::prelude::*;

#[record]
pub(crate) struct Event {
    pub(crate) key: u32,
    pub(crate) amount: u64,
    pub(crate) at: i64,
}

#[record]
pub(crate) struct Sum {
    pub(crate) key: u32,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) n: u64,
    pub(crate) total: u64,
    pub(crate) biggest: u64,
}

macro_rules! window_job {
    ($name:ident, $window:expr) => {
        #[stream_job]
        pub(crate) fn $name(events: Stream<Event>) -> (Stream<Sum>, Stream<Event>) {
            let sums = events
                .event_time(|e| e.at, out_of_order(millis(3)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate(Sum {
                    key: key(),
                    from: window_start(),
                    to: window_end(),
                    n: count(),
                    total: sum(|e| e.amount % 1_000),
                    biggest: max(|e| e.amount),
                });
            let late = sums.late();
            (sums, late)
        }
    };
}

window_job!(tumbling_10, tumbling(millis(10)));
window_job!(tumbling_1, tumbling(millis(1)));
window_job!(tumbling_7, tumbling(millis(7)));
window_job!(hopping_10_2, hopping(millis(10), millis(2)));
window_job!(hopping_10_3, hopping(millis(10), millis(3)));
window_job!(hopping_12_8, hopping(millis(12), millis(8)));
window_job!(hopping_30_5, hopping(millis(30), millis(5)));
window_job!(hopping_9_6, hopping(millis(9), millis(6)));
window_job!(tumbling_huge, tumbling(days(100_000_000_000)));
window_job!(hopping_huge, hopping(days(90_000_000_000), days(30_000_000_000)));

macro_rules! updating_job {
    ($name:ident, $window:expr) => {
        #[stream_job]
        pub(crate) fn $name(events: Stream<Event>) -> (Stream<Sum>, Stream<Event>) {
            let sums = events
                .event_time(|e| e.at, out_of_order(millis(3)))
                .key_by(|e| e.key)
                .window($window)
                .aggregate(Sum {
                    key: key(),
                    from: window_start(),
                    to: window_end(),
                    n: count(),
                    total: sum(|e| e.amount % 1_000),
                    biggest: fired() as u64,
                });
            let late = sums.late();
            (sums, late)
        }
    };
}

updating_job!(late_10_15, tumbling(millis(10)).lateness(millis(15)));
updating_job!(late_7_100, tumbling(millis(7)).offset(millis(2)).lateness(millis(100)));
updating_job!(early_10_4, tumbling(millis(10)).early(millis(4)));
updating_job!(early_late, tumbling(millis(10)).early(millis(3)).lateness(millis(20)));
updating_job!(discarding, tumbling(millis(10)).early(millis(3)).lateness(millis(20)).discarding());
updating_job!(discarding_late, tumbling(millis(5)).lateness(millis(30)).discarding());
updating_job!(hopping_late, hopping(millis(10), millis(3)).lateness(millis(12)));
updating_job!(hopping_early, hopping(millis(12), millis(8)).offset_back(millis(1)).early(millis(5)));
updating_job!(session_1, session(millis(1)));
updating_job!(session_6, session(millis(6)));
updating_job!(session_40, session(millis(40)));
updating_job!(session_huge, session(days(100_000_000_000)));
updating_job!(session_late, session(millis(5)).lateness(millis(20)));
updating_job!(session_early, session(millis(9)).early(millis(4)));
updating_job!(session_both, session(millis(9)).early(millis(6)).lateness(millis(15)));
updating_job!(session_discarding, session(millis(9)).early(millis(6)).lateness(millis(15)).discarding());
updating_job!(hopping_both, hopping(millis(10), millis(2)).early(millis(7)).lateness(millis(9)));

macro_rules! global_job {
    ($name:ident, $window:expr) => {
        #[stream_job]
        pub(crate) fn $name(events: Stream<Event>) -> Stream<Sum> {
            events.event_time(|e| e.at, out_of_order(millis(3))).key_by(|e| e.key).window($window).aggregate(
                Sum {
                    key: key(),
                    from: min(|e| e.at),
                    to: max(|e| e.at),
                    n: count(),
                    total: sum(|e| e.amount % 1_000),
                    biggest: fired() as u64,
                },
            )
        }
    };
}

global_job!(count_3, count_window(3, forever()));
global_job!(count_1_ttl, count_window(1, ttl(millis(9))));
global_job!(count_4_ttl, count_window(4, ttl(millis(30))));
global_job!(count_early, count_window(5, ttl(millis(30))).early(millis(7)).discarding());
global_job!(all_forever, global(forever()));
global_job!(all_ttl, global(ttl(millis(12))));
global_job!(all_every, global(ttl(millis(20))).every(3).early(millis(8)));
global_job!(all_discarding, global(ttl(millis(20))).every(4).discarding().early(millis(15)));

#[stream_job]
pub(crate) fn run_forever(events: Stream<Event>) -> Stream<Sum> {
    events.event_time(|e| e.at, out_of_order(millis(3))).key_by(|e| e.key).running(forever()).aggregate(Sum {
        key: key(),
        from: min(|e| e.at),
        to: max(|e| e.at),
        n: count(),
        total: sum(|e| e.amount % 1_000),
        biggest: max(|e| e.amount),
    })
}

macro_rules! ttl_job {
    ($name:ident, $ms:expr) => {
        #[stream_job]
        pub(crate) fn $name(events: Stream<Event>) -> Stream<Sum> {
            events
                .event_time(|e| e.at, out_of_order(millis(3)))
                .key_by(|e| e.key)
                .running(ttl(millis($ms)))
                .aggregate(Sum {
                    key: key(),
                    from: min(|e| e.at),
                    to: max(|e| e.at),
                    n: count(),
                    total: sum(|e| e.amount % 1_000),
                    biggest: max(|e| e.amount),
                })
        }
    };
}
ttl_job!(ttl_0, 0);
ttl_job!(ttl_1, 1);
ttl_job!(ttl_20, 20);

/// What is not repeated, and the sums of it; the second operator sees other records than the first.
#[stream_job]
pub(crate) fn not_repeated(events: Stream<Event>) -> (Stream<Event>, Stream<u64>) {
    let once =
        events.event_time(|e| e.at, out_of_order(millis(5))).key_by(|e| e.key).distinct_within(millis(7));
    let sums = once
        .key_by(|e| e.key % 3)
        .distinct_within(millis(3))
        .running(ttl(millis(20)))
        .aggregate(sum(|e| e.amount % 1_000));
    (once, sums)
}

/// Two windows on one key, one behind the other, and late records of both.
#[stream_job]
pub(crate) fn two_windows(events: Stream<Event>) -> (Stream<Sum>, Stream<Sum>, Stream<Event>) {
    let first = events
        .event_time(|e| e.at, out_of_order(millis(3)))
        .key_by(|e| e.key)
        .window(hopping(millis(10), millis(5)))
        .aggregate(Sum {
            key: key(),
            from: window_start(),
            to: window_end(),
            n: count(),
            total: sum(|e| e.amount % 1_000),
            biggest: max(|e| e.amount),
        });
    let late = first.late();
    let second = first.key_by(|s| s.key % 3).window(hopping(millis(20), millis(15))).aggregate(Sum {
        key: key(),
        from: window_start(),
        to: window_end(),
        n: sum(|s| s.n),
        total: sum(|s| s.total),
        biggest: max(|s| s.biggest),
    });
    let late_sums = second.late();
    (second, late_sums, late)
}

/// A window, and what runs over its results; fan-out.
#[stream_job]
pub(crate) fn window_then_running(events: Stream<Event>) -> (Stream<Sum>, Stream<Sum>) {
    let first = events
        .event_time(|e| e.at, out_of_order(millis(5)))
        .key_by(|e| e.key)
        .window(tumbling(millis(5)))
        .aggregate(Sum {
            key: key(),
            from: window_start(),
            to: window_end(),
            n: count(),
            total: sum(|e| e.amount % 1_000),
            biggest: max(|e| e.amount),
        });
    let running = first.key_by(|s| s.key % 4).running(ttl(millis(20))).aggregate(Sum {
        key: key(),
        from: min(|s| s.from),
        to: max(|s| s.to),
        n: sum(|s| s.n),
        total: sum(|s| s.total),
        biggest: max(|s| s.biggest),
    });
    (first, running)
}

/// What runs, and a window over each of its results.
#[stream_job]
pub(crate) fn running_then_window(events: Stream<Event>) -> Stream<Sum> {
    events
        .event_time(|e| e.at, out_of_order(millis(5)))
        .key_by(|e| e.key)
        .running(forever())
        .aggregate(Sum {
            key: key(),
            from: min(|e| e.at),
            to: max(|e| e.at),
            n: count(),
            total: sum(|e| e.amount % 1_000),
            biggest: max(|e| e.amount),
        })
        .key_by(|s| s.key % 3)
        .window(hopping(millis(12), millis(8)))
        .aggregate(Sum {
            key: key(),
            from: window_start(),
            to: window_end(),
            n: sum(|s| s.n),
            total: sum(|s| s.total),
            biggest: max(|s| s.biggest),
        })
}

#[stream_job]
pub(crate) fn united(left: Stream<Event>, right: Stream<Event>) -> (Stream<Sum>, Stream<Event>) {
    let left = left.event_time(|e| e.at, out_of_order(millis(3))).filter(|e| e.amount % 7 > 0);
    let right = right.event_time(|e| e.at, out_of_order(millis(9)));
    let sums = left.union(right).key_by(|e| e.key).window(hopping(millis(10), millis(5))).aggregate(Sum {
        key: key(),
        from: window_start(),
        to: window_end(),
        n: count(),
        total: sum(|e| e.amount % 1_000),
        biggest: max(|e| e.amount),
    });
    let late = sums.late();
    (sums, late)
}

/// A second event time with a bound ahead.
#[stream_job]
pub(crate) fn renewed(events: Stream<Event>) -> (Stream<Sum>, Stream<Sum>) {
    let sums = events
        .event_time(|e| e.at, out_of_order(millis(3)).at_most_ahead(millis(60)))
        .key_by(|e| e.key)
        .window(hopping(millis(10), millis(5)))
        .aggregate(Sum {
            key: key(),
            from: window_start(),
            to: window_end(),
            n: count(),
            total: sum(|e| e.amount % 1_000),
            biggest: max(|e| e.amount),
        })
        .event_time(|s| s.from, out_of_order(millis(0)))
        .key_by(|s| s.key % 3)
        .window(tumbling(millis(20)))
        .aggregate(Sum {
            key: key(),
            from: window_start(),
            to: window_end(),
            n: sum(|s| s.n),
            total: sum(|s| s.total),
            biggest: max(|s| s.biggest),
        });
    let late = sums.late();
    (sums, late)
}

// --- ports
