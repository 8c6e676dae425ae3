//! A record is kept once, however many windows it is in.

use super::*;
use crate::aggregate::{Count, count};
use crate::context::Cx;

const SECOND: i64 = 1_000;

type Counts = WindowAggregate<u32, u64, (Count,), fn(&u32, Window, (u64,)) -> u64>;

/// The rows of one key with a record every second for an hour and a half, in windows of an hour every second.
#[test]
fn an_hour_by_the_second_keeps_a_row_a_second() {
    let cut = Cut { size_ms: 3_600 * SECOND, slide_ms: SECOND, offset_ms: 0 };
    let mut counts: Counts = WindowAggregate::new("counts", cut, (count(),), |_, _, (n,)| n);
    let mut cx = Cx::new();
    for second in 0..5_400 {
        let ts = second * SECOND + 999;
        Operator::<Rec<u32, u64>>::watermark(&mut counts, ts, &mut Nowhere, &mut cx);
        counts.push(Rec { ts, key: 7, val: 1 }, &mut Nowhere, &mut cx);
    }
    let rows = |pane: &Pane<u32, (u64,)>| pane.rows.len() + pane.in_order.len();
    let rows = counts.panes.values().map(rows).sum::<usize>() + counts.hot.len();
    // 3,600 seconds are in windows that are open, where copies would be 3,600 times as many.
    assert!((3_600..3_605).contains(&rows), "{rows} rows");
}
