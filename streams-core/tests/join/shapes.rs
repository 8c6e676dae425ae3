//! What a join may stand behind and in front of.

use streams_core::Job;
use streams_core::testing::Harness;

use crate::Step::{End, L, R};
use crate::check;
use crate::jobs::{itself, table, three, with_counts, with_itself};

#[test]
fn a_port_joins_itself() {
    check(
        || Harness::new(itself),
        &[
            (L(1, 1, 0), ""),
            (L(1, 2, 1), ""),
            (L(2, 4, 2), ""),
            (L(1, 6, 10), "9:l1r2 9:l2r2 9:l4r4"),
            (End, "19:l6r6"),
        ],
        0,
    );
}

#[test]
fn a_keyed_stream_joins_itself() {
    check(
        || Harness::new(with_itself),
        &[
            (L(1, 1, 0), "0:l1r1"),
            (L(1, 2, 2), "2:l2r1 2:l2r2"),
            (L(1, 3, 2), "2:l3r1 2:l3r2 2:l2r3 2:l3r3"),
            (L(1, 4, 3), "3:l4r2 3:l4r3 3:l4r4"),
            (End, ""),
        ],
        0,
    );
}

#[test]
fn a_stream_joins_an_aggregate() {
    check(
        || Harness::new(with_counts),
        &[
            (L(1, 1, 0), ""),
            (R(1, 0, 1), ""),
            (R(1, 0, 2), ""),
            (L(2, 2, 3), ""),
            (R(1, 0, 11), ""),
            (L(1, 3, 11), "9:l1n2 9:l2n0"),
            (End, "19:l3n1"),
        ],
        0,
    );
}

#[test]
fn a_join_joins() {
    check(
        || Harness::new(three),
        &[
            (L(1, 1, 0), ""),
            (R(1, 2, 3), ""),
            (R(1, 1, 4), ""),
            (R(1, 3, 10), ""),
            (L(1, 5, 10), "9:!l102r2 9:!l101r2"),
            (End, "19:!l503r3"),
        ],
        0,
    );
}

/// The topology says the stages that the machines have: one shuffle for both sides, a further one for a side that
/// was shuffled before.
#[test]
fn stages_are_counted() {
    let stages = <with_counts as Job>::TOPOLOGY.stages();
    let of = |kind: &str| {
        let nodes = <with_counts as Job>::TOPOLOGY.nodes;
        nodes.iter().position(|node| node.kind == kind).map(|node| stages[node])
    };
    assert_eq!(
        [of("source"), of("aggregate"), of("left_join"), of("sink")],
        [Some(0), Some(1), Some(2), Some(2)]
    );
    assert_eq!(<table as Job>::TOPOLOGY.stages().last(), Some(&1));
    assert_eq!(<with_itself as Job>::TOPOLOGY.stages().last(), Some(&2));
    assert_eq!(<three as Job>::TOPOLOGY.stages().last(), Some(&2));
}
