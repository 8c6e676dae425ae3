//! The graph for programs. The field names are an interface; new fields may be added.

use serde_json::json;

use super::Topology;
use super::drawing::{edges, state_of};

pub(super) fn render(topology: &Topology) -> String {
    let stages = topology.stages();
    let nodes = topology.nodes.iter().enumerate().zip(&stages).map(|((index, node), stage)| {
        json!({
            "id": index,
            "kind": node.kind,
            "name": node.name,
            "text": node.text,
            "line": node.line,
            "stage": stage + 1,
            "inputs": node.inputs,
            "state": state_of(topology, index),
            "impure": node.impure,
        })
    });
    let settings = topology.settings.iter().map(|spec| {
        json!({ "name": spec.name, "type": spec.placeholder, "default": spec.default, "doc": spec.doc.trim() })
    });
    let shuffles = edges(topology).into_iter().filter(|(_, _, shuffled)| *shuffled);
    let value = json!({
        "job": topology.job,
        "doc": topology.doc.trim(),
        "source": format!("{}:{}", topology.file, topology.line),
        "fingerprint": format!("{:016x}", topology.fingerprint),
        "nodes": nodes.collect::<Vec<_>>(),
        "shuffles": shuffles.map(|(from, to, _)| json!({ "from": from, "to": to })).collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&value).expect("texts and numbers always have a JSON form");
    text.push('\n');
    text
}
