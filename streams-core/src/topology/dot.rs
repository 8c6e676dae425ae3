//! The graph for Graphviz.

use super::Topology;
use super::drawing::{by_stage, edges, label, state_of, title};

pub(super) fn render(topology: &Topology) -> String {
    let mut out = format!("digraph \"{}\" {{\n", escaped(topology.job));
    out.push_str("  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (stage, nodes) in by_stage(topology).iter().enumerate() {
        out.push_str(&format!(
            "  subgraph cluster_{stage} {{\n    label=\"stage {}: {}\";\n",
            stage + 1,
            escaped(&title(topology, stage))
        ));
        for (index, node) in nodes {
            let (head, text) = label(node);
            let mut body = escaped(&head);
            if !text.is_empty() {
                body.push_str(&format!("\\n{}", escaped(text)));
            }
            let state = state_of(topology, *index);
            if let Some(state) = state {
                body.push_str(&format!("\\nkeeps {}", escaped(state)));
            }
            if let Some(reason) = node.impure {
                body.push_str(&format!("\\nmay break replay: {}", escaped(reason)));
            }
            let shape = match (node.kind, state) {
                ("source" | "sink", _) => ", shape=oval",
                (_, Some(_)) => ", shape=cylinder",
                _ => "",
            };
            out.push_str(&format!("    n{index} [label=\"{body}\"{shape}];\n"));
        }
        out.push_str("  }\n");
    }
    for (from, to, shuffled) in edges(topology) {
        let style = if shuffled { " [label=\"by key\", style=bold]" } else { "" };
        out.push_str(&format!("  n{from} -> n{to}{style};\n"));
    }
    out.push_str("}\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
