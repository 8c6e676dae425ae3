//! What all forms of a job's graph show: stages as groups, shuffles between them, keys, windows, state, and what may
//! break replay.
//!
//! Draws what the compiler found; computes nothing.

use super::{Node, Topology, dot, json, mermaid, svg, text};

/// A form to show a graph in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// For a terminal.
    Text,
    /// Mermaid, which many forges draw inside Markdown.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// A picture that browsers and documents show.
    Svg,
    /// For programs.
    Json,
}

impl Rendering {
    /// All of them, as they are named on the command line.
    pub const NAMES: [&'static str; 5] = ["text", "mermaid", "dot", "svg", "json"];

    /// The form with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "mermaid" => Some(Self::Mermaid),
            "dot" => Some(Self::Dot),
            "svg" => Some(Self::Svg),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

impl Topology {
    /// The graph in that form, with a line break at its end.
    #[must_use]
    pub fn render(&self, rendering: Rendering) -> String {
        match rendering {
            Rendering::Text => text::render(self),
            Rendering::Mermaid => mermaid::render(self),
            Rendering::Dot => dot::render(self),
            Rendering::Svg => svg::render(self),
            Rendering::Json => json::render(self),
        }
    }
}

/// What an operator keeps between records, for people.
pub(super) fn state_of(topology: &Topology, index: usize) -> Option<&'static str> {
    let node = topology.nodes.get(index)?;
    match node.kind {
        "event_time" | "store_time" => Some("the largest time seen"),
        "processing_time" => Some("what time it was"),
        "distinct_within" => Some("the last time of each key"),
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
pub(super) fn by_stage(topology: &Topology) -> Vec<Vec<(usize, &'static Node)>> {
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
pub(super) fn edges(topology: &Topology) -> Vec<(usize, usize, bool)> {
    let deferred = topology.deferred();
    let of = |(to, node): (usize, &'static Node)| {
        let shuffled = |from: usize| {
            let keyed = topology.nodes.get(from).is_some_and(|node| node.kind == "key_by");
            node.is_join() || keyed && !deferred.contains(&from)
        };
        node.inputs.iter().map(|&from| (from, to, shuffled(from))).collect::<Vec<_>>()
    };
    topology.nodes.iter().enumerate().flat_map(of).collect()
}

/// What stands on the border of a stage.
pub(super) fn title(topology: &Topology, stage: usize) -> String {
    let mut title = match stage {
        0 => "reads the inputs".to_owned(),
        _ => "records arrive by key".to_owned(),
    };
    if topology.is_held(stage) {
        title.push_str(", results leave with the commit");
    }
    title
}

/// A node's label in a picture: kind and name, then its arguments.
pub(super) fn label(node: &Node) -> (String, &'static str) {
    let head = match (node.kind, node.name) {
        ("source" | "sink", name) => return (name.to_owned(), node.text),
        (kind, name) if name.is_empty() || name == kind => kind.to_owned(),
        (kind, name) => format!("{kind} {name}"),
    };
    (head, node.text)
}
