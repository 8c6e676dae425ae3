//! Jobs of many operators in a row: they compile without raising rustc's limit on recursion, and give what their
//! operators say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use streams_core::prelude::*;
use streams_core::testing::Harness;

/// A job whose body is a beginning, operators that are repeated so many times, and an end.
macro_rules! long {
    ([] fn $job:ident($($port:ident),+: $record:ty) -> $row:ty { [$($begin:tt)*] [$($ops:tt)*] [$($end:tt)*] }) => {
        #[stream_job]
        fn $job($($port: Stream<$record>),+) -> Stream<$row> {
            $($begin)* $($ops)* $($end)*
        }
    };
    ([twice $($times:ident)*] fn $job:ident($($port:ident),+: $record:ty) -> $row:ty {
        [$($begin:tt)*] [$($ops:tt)*] [$($end:tt)*]
    }) => {
        long!([$($times)*] fn $job($($port),+: $record) -> $row { [$($begin)*] [$($ops)* $($ops)*] [$($end)*] });
    };
    ([five $($times:ident)*] fn $job:ident($($port:ident),+: $record:ty) -> $row:ty {
        [$($begin:tt)*] [$($ops:tt)*] [$($end:tt)*]
    }) => {
        long!([$($times)*] fn $job($($port),+: $record) -> $row {
            [$($begin)*] [$($ops)* $($ops)* $($ops)* $($ops)* $($ops)*] [$($end)*]
        });
    };
}

long!([five twice five twice] fn two_hundred(numbers: u64) -> u64 {
    [numbers] [.map(|n| n + 1).filter(|n| n % 1_000 != 0)] []
});

#[record]
struct Hit {
    host: String,
    bytes: u64,
    at: i64,
}

// Behind a union, in front of a shuffle, and behind it in front of a window: a long row in each place.
long!([five twice five] fn through_everything(left, right: Hit) -> (String, u64) {
    [left.union(right).event_time(|h| h.at, out_of_order(secs(0)))]
    [.map(|h| Hit { bytes: h.bytes + 1, ..h })]
    [.key_by(|h| h.host.clone())
        .filter(|h| h.bytes != 1).filter(|h| h.bytes != 2).filter(|h| h.bytes != 3).filter(|h| h.bytes != 4)
        .filter(|h| h.bytes != 5).filter(|h| h.bytes != 6).filter(|h| h.bytes != 7).filter(|h| h.bytes != 8)
        .filter(|h| h.bytes != 9).filter(|h| h.bytes != 10).filter(|h| h.bytes != 11).filter(|h| h.bytes != 12)
        .filter(|h| h.bytes != 13).filter(|h| h.bytes != 14).filter(|h| h.bytes != 15).filter(|h| h.bytes != 16)
        .filter(|h| h.bytes != 17).filter(|h| h.bytes != 18).filter(|h| h.bytes != 19).filter(|h| h.bytes != 20)
        .filter(|h| h.bytes != 21).filter(|h| h.bytes != 22).filter(|h| h.bytes != 23).filter(|h| h.bytes != 24)
        .filter(|h| h.bytes != 25).filter(|h| h.bytes != 26).filter(|h| h.bytes != 27).filter(|h| h.bytes != 28)
        .filter(|h| h.bytes != 29).filter(|h| h.bytes != 30).filter(|h| h.bytes != 31)
        .window(tumbling(secs(10)))
        .aggregate((key(), sum(|h| h.bytes)))]
});

#[test]
fn two_hundred_operators() {
    let mut job = Harness::new(two_hundred);
    // The last meets 1,000 on its way.
    job.push_all("numbers", vec![0_u64, 7, 1_500, 950]);
    assert_eq!(job.take::<u64>("two_hundred"), [100, 107, 1_600]);
}

#[test]
fn state_behind_long_rows_is_kept_and_watermarks_pass_them() {
    let hit = |host: &str, bytes, at| Hit { host: host.to_owned(), bytes, at };
    let mut job = Harness::new(through_everything);
    job.push("left", hit("a", 10, 1_000));
    job.push("right", hit("b", 5, 2_000));
    job.push("right", hit("a", 1, 9_999));
    job.restart().unwrap();
    assert_eq!(job.take::<(String, u64)>("through_everything"), []);
    job.push("left", hit("a", 0, 10_000));
    job.push("right", hit("b", 0, 10_000));
    let totals = [("a".to_owned(), 111), ("b".to_owned(), 55)];
    assert_eq!(job.take::<(String, u64)>("through_everything"), totals);
}
