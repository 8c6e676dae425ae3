//! The graph for a terminal: one line an operator, grouped by stage.

use super::Topology;
use super::drawing::{by_stage, state_of, title as stage_title};

pub(super) fn render(topology: &Topology) -> String {
    let mut out = format!("job {}", topology.job);
    if !topology.file.is_empty() {
        out.push_str(&format!("  ({}:{})", topology.file, topology.line));
    }
    out.push('\n');
    if let Some(first) = topology.doc.trim().lines().next() {
        out.push_str(&format!("{}\n", first.trim()));
    }
    let groups = by_stage(topology);
    let shown = topology.nodes.iter().map(|node| title(node.kind, node.name).chars().count());
    let width = shown.max().unwrap_or(0);
    let digits = topology.nodes.len().saturating_sub(1).to_string().len();
    for (stage, nodes) in groups.iter().enumerate() {
        let note = stage_title(topology, stage);
        out.push_str(&format!("\nstage {}: {note}\n", stage + 1));
        for (index, node) in nodes {
            let title = title(node.kind, node.name);
            let mut line = format!("  {index:digits$}  {title:width$}  {}", node.text);
            // A chain reads downwards; only where it does not, the inputs are named.
            let chain = matches!(node.inputs, [only] if only + 1 == *index) || node.inputs.is_empty();
            if !chain {
                let from: Vec<String> = node.inputs.iter().map(ToString::to_string).collect();
                line.push_str(&format!("  ← {}", from.join(", ")));
            }
            if let Some(state) = state_of(topology, *index) {
                line.push_str(&format!("  [state: {state}]"));
            }
            if let Some(reason) = node.impure {
                line.push_str(&format!("  [may break replay: {reason}]"));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    if !topology.settings.is_empty() {
        out.push_str("\nsettings\n");
        for spec in topology.settings {
            let default =
                spec.default.map_or_else(|| "required".to_owned(), |text| format!("default {text}"));
            out.push_str(&format!("  {}  {}, {default}\n", spec.name, spec.placeholder));
        }
    }
    out
}

fn title(kind: &str, name: &str) -> String {
    if name.is_empty() || name == kind { kind.to_owned() } else { format!("{kind} {name}") }
}
