//! Joins in windows.

use streams_core::testing::Harness;

use crate::Step::{End, L, R};
use crate::check;
use crate::jobs::{full_10, inner_10, left_10, overlapping, placed, right_10};

#[test]
fn pairs_come_when_the_window_closes() {
    check(
        || Harness::new(inner_10),
        &[
            (L(2, 1, 9), ""),
            (R(2, 2, 0), ""),
            (L(1, 3, 4), ""),
            (R(1, 4, 3), ""),
            (R(1, 5, 2), ""),
            (L(2, 6, 8), ""),
            // Behind the end for one side only.
            (L(1, 7, 12), ""),
            // By key, then as the left record came, then as the right one came.
            (R(1, 8, 10), "9:l3r4 9:l3r5 9:l1r2 9:l6r2"),
            (End, "19:l7r8"),
        ],
        0,
    );
}

#[test]
fn who_stays_alone_comes_once() {
    let script = |rows: [&'static str; 2]| {
        [
            (L(1, 1, 0), ""),
            (L(2, 2, 1), ""),
            (R(2, 3, 2), ""),
            (R(3, 4, 3), ""),
            (L(1, 5, 10), ""),
            (R(1, 6, 20), rows[0]),
            // Late on either side.
            (L(1, 7, 9), ""),
            (R(1, 8, 9), ""),
            (End, rows[1]),
        ]
    };
    check(|| Harness::new(left_10), &script(["9:l1- 9:l2r3", "19:l5-"]), 2);
    check(|| Harness::new(right_10), &script(["9:l2r3 9:-r4", "29:-r6"]), 2);
    check(|| Harness::new(full_10), &script(["9:l1- 9:l2r3 9:-r4", "19:l5- 29:-r6"]), 2);
    check(|| Harness::new(inner_10), &script(["9:l2r3", ""]), 2);
}

#[test]
fn an_overlap_pairs_in_each_window() {
    check(
        || Harness::new(overlapping),
        &[
            (L(1, 1, 6), ""),
            (R(1, 2, 12), ""),
            (L(1, 3, 11), "9:l1-"),
            (R(1, 4, 7), ""),
            (End, "14:l1r2 14:l1r4 14:l3r2 14:l3r4 19:l3r2"),
        ],
        0,
    );
}

#[test]
fn a_row_may_name_its_key_and_window() {
    check(
        || Harness::new(placed),
        &[
            (L(7, 1, 6), ""),
            (R(7, 2, 12), ""),
            (L(7, 3, 11), "9:7@0..10=l1-"),
            (End, "14:7@5..15=l1r2 14:7@5..15=l3r2 19:7@10..20=l3r2"),
        ],
        0,
    );
}
