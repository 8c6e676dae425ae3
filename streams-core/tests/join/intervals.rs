//! Joins of what is near in time: five ms before to three ms after.

use streams_core::testing::Harness;

use crate::Step::{End, L, R};
use crate::check;
use crate::jobs::{full_near, left_near, near, placed_near, right_near};

#[test]
fn both_ends_are_inside() {
    check(
        || Harness::new(near),
        &[
            (R(1, 1, 94), ""),
            (R(1, 2, 95), ""),
            (R(1, 3, 103), ""),
            (R(1, 4, 104), ""),
            (R(2, 5, 100), ""),
            (L(1, 1, 100), "100:l1r2 103:l1r3"),
            (L(1, 2, 101), "103:l2r3 104:l2r4"),
            (R(1, 6, 104), "104:l2r6"),
            (L(1, 3, 104), "104:l3r3 104:l3r4 104:l3r6"),
            (End, ""),
        ],
        0,
    );
}

#[test]
fn who_is_behind_event_time_is_late() {
    check(
        || Harness::new(near),
        &[
            (L(1, 1, 100), ""),
            (R(1, 2, 100), "100:l1r2"),
            (R(1, 3, 99), ""),
            (L(1, 4, 99), ""),
            (R(1, 5, 100), "100:l1r5"),
            (R(1, 6, 103), "103:l1r6"),
            // Event time is that of the slower side.
            (L(1, 7, 101), "101:l7r2 101:l7r5 103:l7r6"),
        ],
        2,
    );
}

#[test]
fn who_stays_alone_comes_when_event_time_has_passed() {
    let script = |rows: [&'static str; 3]| {
        [
            (L(1, 1, 10), ""),
            (R(2, 2, 8), ""),
            (R(1, 3, 13), "13:l1r3"),
            (L(2, 4, 14), ""),
            (R(2, 5, 14), rows[0]),
            (R(3, 6, 30), ""),
            (L(3, 7, 18), ""),
            (L(4, 8, 25), rows[1]),
            (End, rows[2]),
        ]
    };
    check(|| Harness::new(full_near), &script(["13:-r2 14:l4r5", "21:l7-", "28:l8- 35:-r6"]), 0);
    check(|| Harness::new(left_near), &script(["14:l4r5", "21:l7-", "28:l8-"]), 0);
    check(|| Harness::new(right_near), &script(["13:-r2 14:l4r5", "", "35:-r6"]), 0);
    check(|| Harness::new(near), &script(["14:l4r5", "", ""]), 0);
}

#[test]
fn a_row_may_name_its_key() {
    check(
        || Harness::new(placed_near),
        &[
            (L(7, 1, 6), ""),
            (R(7, 2, 8), "8:7=l1r2"),
            (L(8, 3, 6), ""),
            (L(9, 4, 20), ""),
            (End, "9:8=l3- 23:9=l4-"),
        ],
        0,
    );
}
