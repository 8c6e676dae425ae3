//! Records that came too late for a join.

use streams_core::testing::Harness;

use crate::Step::{End, L, R};
use crate::check;
use crate::jobs::{Item, late_of_near, late_of_windows};

#[test]
fn what_comes_too_late_for_a_window_is_a_stream() {
    let mut job = Harness::new(late_of_windows);
    let item = |value, at| Item { key: 1, value, at };
    job.push("left", item(1, 3));
    job.push("left", item(2, 12));
    job.push("right", item(3, 20));
    assert_eq!(job.take::<String>("pairs"), ["l1-"]);
    job.restart().expect("items can be encoded");
    job.push("left", item(4, 9));
    job.push("right", item(5, 9));
    job.push("right", item(6, 10));
    assert_eq!(job.take_timed::<String>("late"), [(9, "late l4-".to_owned()), (9, "late -r5".to_owned())]);
    assert_eq!(job.late(), 2);
    job.end();
    assert_eq!(job.take::<String>("pairs"), ["l2r6"]);
}

#[test]
fn what_comes_behind_event_time_is_a_stream() {
    check(
        || Harness::new(late_of_near),
        &[
            (L(1, 1, 10), ""),
            (R(1, 2, 12), "12:l1r2"),
            (L(1, 3, 9), "9:late l3-"),
            (L(1, 4, 14), "14:l4r2"),
            (R(1, 5, 11), "11:late -r5"),
            (End, ""),
        ],
        2,
    );
}
