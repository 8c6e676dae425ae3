//! Joins with a table.

use streams_core::testing::Harness;

use crate::Step::{End, L, R};
use crate::check;
use crate::jobs::{left_table, table};

#[test]
fn a_record_finds_what_came_before_it() {
    check(
        || Harness::new(table),
        &[
            (L(1, 1, 0), ""),
            (R(1, 2, 9), ""),
            (L(1, 3, 0), "-9223372036854775808:l3r2"),
            (R(1, 4, 0), ""),
            (L(2, 5, 0), ""),
            (L(1, 6, 0), "-9223372036854775808:l6r4"),
            (R(1, 10, 0), ""),
            (L(1, 7, 0), ""),
            (End, ""),
        ],
        0,
    );
}

#[test]
fn a_row_is_forgotten() {
    check(
        || Harness::new(left_table),
        &[
            (L(1, 1, 0), "0:l1-"),
            (R(1, 2, 5), ""),
            (L(1, 3, 5), "5:l3r2"),
            (R(2, 4, 15), ""),
            (L(1, 5, 14), "14:l5r2"),
            (L(1, 6, 15), "15:l6-"),
            (R(2, 10, 15), ""),
            (L(2, 7, 15), "15:l7-"),
            (R(1, 8, 16), ""),
            (L(1, 9, 16), "16:l9r8"),
            (End, ""),
        ],
        0,
    );
}
