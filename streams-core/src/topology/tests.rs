//! Pictures of a small graph with a fan-out and a union.

use super::{Node, Rendering, Topology};

const NODES: &[Node] = &[
    Node::new("source", "flows", &[], "Flow", 1),
    Node::new("filter", "", &[0], "|f| f.name == \"a\"", 2),
    Node::new("key_by", "", &[1], "|f| f.host.clone()", 3),
    Node::new("window", "", &[2], "tumbling(secs(10))", 4),
    Node::new("aggregate", "totals", &[3], "Total { n: count() }", 5),
    Node::new("sink", "small", &[0], "Flow", 6),
    Node::new("sink", "totals", &[4], "Total", 7),
];
const JOB: Topology = Topology {
    job: "t",
    doc: " Adds up.",
    file: "a.rs",
    line: 1,
    settings: &[],
    nodes: NODES,
    fingerprint: 0,
};

#[test]
fn as_text() {
    let expect = "\
job t  (a.rs:1)
Adds up.

stage 1: reads the inputs
  0  source flows      Flow
  1  filter            |f| f.name == \"a\"
  2  key_by            |f| f.host.clone()
  5  sink small        Flow  ← 0

stage 2: records arrive by key
  3  window            tumbling(secs(10))
  4  aggregate totals  Total { n: count() }  [state: one row per key and window]
  6  sink totals       Total  ← 4
";
    assert_eq!(JOB.render(Rendering::Text), expect);
}

#[test]
fn as_mermaid() {
    let text = JOB.render(Rendering::Mermaid);
    assert!(text.contains("    n1[\"<b>filter</b><br/>|f| f.name == #quot;a#quot;\"]\n"), "{text}");
    assert!(text.contains("  n2 == by key ==> n3\n"), "{text}");
    assert!(text.contains("  n0 --> n5\n"), "{text}");
}

#[test]
fn as_dot() {
    let text = JOB.render(Rendering::Dot);
    assert!(text.contains("n1 [label=\"filter\\n|f| f.name == \\\"a\\\"\"];"), "{text}");
    assert!(text.contains("n2 -> n3 [label=\"by key\", style=bold];"), "{text}");
}

#[test]
fn as_json() {
    let value: serde_json::Value = serde_json::from_str(&JOB.render(Rendering::Json)).unwrap();
    assert_eq!(value["nodes"][4]["state"], "one row per key and window");
    assert_eq!(value["nodes"][4]["stage"], 2);
    assert_eq!(value["shuffles"][0]["from"], 2);
}

#[test]
fn as_svg() {
    let text = JOB.render(Rendering::Svg);
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
    assert!(text.contains(">stage 2: records arrive by key<"), "{text}");
    assert!(text.contains(">|f| f.name == &quot;a&quot;<"), "{text}");
    assert!(text.contains(">keeps one row per key and window<"), "{text}");
    // Two inputs of boxes, one shuffle, and everything has a place of its own.
    assert_eq!(text.matches("<path class=\"key\" d=\"M").count(), 2, "the shuffle and the legend\n{text}");
    let mut places: Vec<&str> = text.lines().filter(|line| line.starts_with("<rect class=\"")).collect();
    let n = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), n);
}

#[test]
fn what_may_break_replay_is_seen_in_every_form() {
    const NODES: &[Node] =
        &[Node::new("source", "a", &[], "A", 1), Node::new("map", "", &[0], "stamp", 2).impure("a stamp")];
    let job = Topology { nodes: NODES, ..JOB };
    for name in Rendering::NAMES {
        let text = job.render(Rendering::named(name).unwrap());
        assert!(text.contains("a stamp"), "{text}");
    }
    assert!(job.may_break_replay() && !JOB.may_break_replay());
    assert!(job.render(Rendering::Text).contains("results leave with the commit"));
}

#[test]
fn a_stage_that_looks_rows_up_is_held() {
    const NODES: &[Node] = &[
        Node::new("source", "a", &[], "A", 1),
        Node::new("key_by", "", &[0], "|a| a.n", 2),
        Node::new("lookup", "", &[1], "rows", 3),
        Node::new("sink", "b", &[2], "B", 4),
    ];
    let job = Topology { nodes: NODES, ..JOB };
    assert_eq!((job.is_held(0), job.is_held(1)), (false, true), "{:?}", job.stages());
    assert_eq!(job.render(Rendering::Text).matches("results leave with the commit").count(), 1);
}
