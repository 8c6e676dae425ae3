//! Segments, levels and fan-outs as text.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::testing::{DAG, TRAFFIC, lowered, with_body};

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    let (job, errors) = lowered(source);
    assert_eq!(errors, "");
    let analysis = super::job(&job);
    let mut out = String::new();
    for (number, segment) in analysis.segments.iter().enumerate() {
        let _ = writeln!(
            out,
            "segment {number} level {}: {:?} to {:?}",
            segment.level, segment.start, segment.end
        );
    }
    expected.assert_eq(&out);
}

#[test]
fn a_straight_job_is_cut_at_its_key() {
    check(
        TRAFFIC,
        expect![[r#"
            segment 0 level 0: Port(0) to Combining(1)
            segment 1 level 0: Inner to Port(0)
        "#]],
    );
}

#[test]
fn a_graph() {
    check(
        DAG,
        expect![[r#"
        segment 0 level 1: Port(0) to Tee([1, 2])
        segment 1 level 1: Inner to Union { union: 1, input: 0 }
        segment 2 level 1: Inner to Union { union: 1, input: 1 }
        segment 3 level 0: Union(1) to Border(4)
        segment 4 level 0: Inner to Late { late: 6, rows: 5 }
        segment 5 level 0: Inner to Port(0)
        segment 6 level 0: Inner to Port(1)
    "#]],
    );
}

#[test]
fn a_port_can_go_straight_to_an_output() {
    check(
        &with_body("flows"),
        expect![[r#"
        segment 0 level 0: Port(0) to Port(0)
    "#]],
    );
}

#[test]
fn a_stream_meets_itself() {
    check(
        &with_body("flows.union(flows)"),
        expect![[r#"
        segment 0 level 1: Port(0) to Tee([1, 2])
        segment 1 level 1: Inner to Union { union: 1, input: 0 }
        segment 2 level 1: Inner to Union { union: 1, input: 1 }
        segment 3 level 0: Union(1) to Port(0)
    "#]],
    );
}

#[test]
fn unions_are_numbered_from_downstream() {
    check(
        "fn job(a: Stream<A>, b: Stream<A>, c: Stream<A>) -> Stream<A> {
            let ab = a.union(b).key_by(|f| f.h);
            ab.union(c.key_by(|f| f.h)).filter(|f| f.ok)
        }",
        expect![[r#"
            segment 0 level 2: Port(0) to Union { union: 2, input: 0 }
            segment 1 level 2: Port(1) to Union { union: 2, input: 1 }
            segment 2 level 1: Union(2) to Border(4)
            segment 3 level 2: Port(2) to Border(5)
            segment 4 level 1: Inner to Union { union: 1, input: 0 }
            segment 5 level 2: Inner to Union { union: 1, input: 1 }
            segment 6 level 0: Union(1) to Port(0)
        "#]],
    );
}

#[test]
fn keyed_streams_fork_behind_the_border() {
    check(
        "fn job(a: Stream<A>) -> (Stream<B>, Stream<B>) {
            let keyed = a.key_by(|f| f.h);
            let x = keyed.running(forever()).aggregate(count());
            let y = keyed.running(forever()).aggregate(count());
            (x, y)
        }",
        expect![[r#"
            segment 0 level 0: Port(0) to Border(1)
            segment 1 level 0: Inner to Tee([2, 3])
            segment 2 level 0: Inner to Port(0)
            segment 3 level 0: Inner to Port(1)
        "#]],
    );
}

#[test]
fn late_records_fork() {
    check(
        "fn job(a: Stream<A>) -> (Stream<B>, Stream<A>, Stream<A>) {
            let rows = a.key_by(|f| f.h).window(w()).aggregate(count());
            let late = rows.late();
            let big = rows.late().filter(|f| f.big);
            (rows, late, big)
        }",
        expect![[r#"
            segment 0 level 0: Port(0) to Border(1)
            segment 1 level 0: Inner to Late { late: 2, rows: 3 }
            segment 2 level 0: Inner to Tee([5, 4])
            segment 3 level 0: Inner to Port(0)
            segment 4 level 0: Inner to Port(1)
            segment 5 level 0: Inner to Port(2)
        "#]],
    );
}

#[test]
fn the_sides_of_a_join_share_one_border() {
    check(
        "fn job(a: Stream<A>, b: Stream<B>) -> Stream<C> {
            let a = a.key_by(|f| f.h).filter(|f| f.ok);
            a.join(b.key_by(|f| f.h), w(), |a, b| c(a, b)).map(|c| c)
        }",
        expect![[r#"
            segment 0 level 1: Port(0) to Union { union: 1, input: 0 }
            segment 1 level 1: Port(1) to Union { union: 1, input: 1 }
            segment 2 level 0: Union(1) to Border(3)
            segment 3 level 0: Inner to Port(0)
        "#]],
    );
}

#[test]
fn a_stream_joins_itself() {
    check(
        "fn job(a: Stream<A>) -> Stream<C> {
            let keyed = a.key_by(|f| f.h);
            let other = a.key_by(|f| f.i);
            let both = keyed.join(keyed, w(), |a, b| c(a, b));
            other.join(both, w(), |a, b| c(a, b))
        }",
        expect![[r#"
            segment 0 level 2: Port(0) to Tee([1, 6])
            segment 1 level 2: Inner to Border(2)
            segment 2 level 2: Inner to Tee([3, 4])
            segment 3 level 2: Inner to Union { union: 2, input: 0 }
            segment 4 level 2: Inner to Union { union: 2, input: 1 }
            segment 5 level 1: Union(2) to Border(7)
            segment 6 level 2: Inner to Union { union: 1, input: 0 }
            segment 7 level 1: Inner to Union { union: 1, input: 1 }
            segment 8 level 0: Union(1) to Border(9)
            segment 9 level 0: Inner to Port(0)
        "#]],
    );
}

/// What is kept by key must see all records of a key.
#[test]
fn a_key_keeps_its_shuffle_in_front_of_what_is_kept_by_key() {
    check(
        "fn job(a: Stream<A>, b: Stream<B>) -> Stream<C> {
            let once = a.key_by(|f| f.h).distinct_within(secs(9));
            once.join(b.key_by(|f| f.h), w(), |a, b| c(a, b))
        }",
        expect![[r#"
            segment 0 level 1: Port(0) to Border(1)
            segment 1 level 1: Inner to Union { union: 1, input: 0 }
            segment 2 level 1: Port(1) to Union { union: 1, input: 1 }
            segment 3 level 0: Union(1) to Border(4)
            segment 4 level 0: Inner to Port(0)
        "#]],
    );
}

#[test]
fn a_long_row_goes_on_in_another_segment() {
    check(
        &with_body(&format!("flows{}", ".filter(|f| f.ok)".repeat(32))),
        expect![[r#"
        segment 0 level 0: Port(0) to Port(0)
    "#]],
    );
    check(
        &with_body(&format!("flows{}", ".filter(|f| f.ok)".repeat(65))),
        expect![[r#"
        segment 0 level 0: Port(0) to More(1)
        segment 1 level 0: Inner to More(2)
        segment 2 level 0: Inner to Port(0)
    "#]],
    );
    let row = ".filter(|f| f.ok)".repeat(30);
    check(
        &with_body(&format!(
            "let a = flows{row}; let b = a{row}; a.union(b){row}.filter(|f| f.ok).map(|f| f).map(|f| f)"
        )),
        expect![[r#"
            segment 0 level 1: Port(0) to Tee([2, 1])
            segment 1 level 1: Inner to Union { union: 1, input: 0 }
            segment 2 level 1: Inner to Union { union: 1, input: 1 }
            segment 3 level 0: Union(1) to More(4)
            segment 4 level 0: Inner to Port(0)
        "#]],
    );
}
