//! The graph for Mermaid, which many forges draw inside Markdown.

use super::Topology;
use super::drawing::{by_stage, edges, label, state_of, title};

pub(super) fn render(topology: &Topology) -> String {
    let mut out = String::from("flowchart TD\n");
    for (stage, nodes) in by_stage(topology).iter().enumerate() {
        out.push_str(&format!(
            "  subgraph stage{n} [\"stage {n}: {}\"]\n",
            title(topology, stage),
            n = stage + 1
        ));
        for (index, node) in nodes {
            let (head, text) = label(node);
            let mut body = format!("<b>{}</b>", escaped(&head));
            if !text.is_empty() {
                body.push_str(&format!("<br/>{}", escaped(text)));
            }
            if let Some(state) = state_of(topology, *index) {
                body.push_str(&format!("<br/><i>keeps {}</i>", escaped(state)));
            }
            if let Some(reason) = node.impure {
                body.push_str(&format!("<br/><i>may break replay: {}</i>", escaped(reason)));
            }
            let (open, close) = match (node.kind, state_of(topology, *index)) {
                ("source" | "sink", _) => ("([", "])"),
                (_, Some(_)) => ("[(", ")]"),
                _ => ("[", "]"),
            };
            out.push_str(&format!("    n{index}{open}\"{body}\"{close}\n"));
        }
        out.push_str("  end\n");
    }
    for (from, to, shuffled) in edges(topology) {
        let arrow = if shuffled { "== by key ==>" } else { "-->" };
        out.push_str(&format!("  n{from} {arrow} n{to}\n"));
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '#' => out.push_str("#35;"),
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            '\\' => out.push_str("#92;"),
            c => out.push(c),
        }
    }
    out
}
