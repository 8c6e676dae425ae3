//! A job's graph as text, Mermaid, Graphviz and JSON: stages as groups, shuffles between them, keys, windows
//! and state shown. Draws what the compiler found; computes nothing.

mod dot;
mod json;
mod mermaid;
mod text;

use streams_core::topology::{Node, Topology};

/// A form to show a graph in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rendering {
    Text,
    Mermaid,
    Dot,
    Json,
}

impl Rendering {
    /// All of them, as they are named on the command line.
    pub(crate) const NAMES: [&'static str; 4] = ["text", "mermaid", "dot", "json"];

    /// The form with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "mermaid" => Some(Self::Mermaid),
            "dot" => Some(Self::Dot),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// The graph in that form.
pub(crate) fn render(topology: &Topology, rendering: Rendering) -> String {
    match rendering {
        Rendering::Text => text::render(topology),
        Rendering::Mermaid => mermaid::render(topology),
        Rendering::Dot => dot::render(topology),
        Rendering::Json => json::render(topology),
    }
}

/// What an operator keeps between records, for people.
fn state_of(topology: &Topology, index: usize) -> Option<&'static str> {
    let node = topology.nodes.get(index)?;
    match node.kind {
        "event_time" | "store_time" => Some("the largest time seen"),
        "processing_time" => Some("what time it was"),
        "aggregate" if reaches(topology, index, "running") => Some("one row per key"),
        "aggregate" => Some("one row per key and window"),
        "join" | "left_join" | "right_join" | "full_join" => {
            Some("the records of both sides until no partner can come")
        }
        "join_table" | "left_join_table" => Some("one row per key"),
        "union" => Some("the watermark of each input"),
        _ => None,
    }
}

/// Whether the operator reads one of this kind directly.
fn reaches(topology: &Topology, index: usize, kind: &str) -> bool {
    let node = topology.nodes.get(index);
    node.is_some_and(|node| {
        node.inputs.iter().any(|&input| topology.nodes.get(input).is_some_and(|from| from.kind == kind))
    })
}

/// Nodes by stage, in order.
fn by_stage(topology: &Topology) -> Vec<Vec<(usize, &'static Node)>> {
    let stages = topology.stages();
    let mut groups = vec![Vec::new(); stages.iter().max().map_or(0, |last| last + 1)];
    for ((index, node), stage) in topology.nodes.iter().enumerate().zip(stages) {
        if let Some(group) = groups.get_mut(stage) {
            group.push((index, node));
        }
    }
    groups
}

/// Edges as (from, to, whether records are shuffled by key on the way).
fn edges(topology: &Topology) -> Vec<(usize, usize, bool)> {
    let of = |(to, node): (usize, &'static Node)| {
        node.inputs.iter().map(move |&from| {
            let shuffled = topology.nodes.get(from).is_some_and(|node| node.kind == "key_by");
            (from, to, shuffled)
        })
    };
    topology.nodes.iter().enumerate().flat_map(of).collect()
}

/// A node's label in a picture: kind and name, then its arguments.
fn label(node: &Node) -> (String, &'static str) {
    let head = match (node.kind, node.name) {
        ("source" | "sink", name) => return (name.to_owned(), node.text),
        (kind, name) if name.is_empty() || name == kind => kind.to_owned(),
        (kind, name) => format!("{kind} {name}"),
    };
    (head, node.text)
}

#[cfg(test)]
mod tests;
