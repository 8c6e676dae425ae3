//! `state ls`: what there is of a job's state, and how much.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use streams_core::state::OperatorId;
use streams_core::topology::{Node, Topology};

use super::kept::{Kept, Layout, Tally};
use super::offsets::{self, Source};
use crate::cli::upkeep::Form;
use crate::clock::now_ms;
use crate::error::Error;
use crate::wording::{bytes, counted, elapsed, grouped};

/// Everything that is shown.
#[derive(Debug, Serialize)]
struct Listing {
    job: String,
    place: String,
    /// Of a run on files; on topics each queue counts its own.
    checkpoint: Option<u64>,
    age_ms: Option<i64>,
    inputs: Vec<Source>,
    operators: Vec<Operator>,
}

/// What one operator keeps in one worker or queue.
#[derive(Debug, Serialize)]
struct Operator {
    operator: String,
    kind: String,
    #[serde(rename = "in")]
    part: String,
    rows: u64,
    bytes: u64,
}

/// The state as a person, or a program, reads it.
pub(super) fn run(topology: &Topology, kept: &Kept, form: Form) -> Result<String, Error> {
    let (checkpoint, committed_ms) = match &kept.layout {
        Layout::Files(snapshot) => (Some(snapshot.id), snapshot.committed_ms),
        #[cfg(feature = "rocketmq")]
        Layout::Topics(topics) => (None, topics.committed_ms()),
    };
    let listing = Listing {
        job: topology.job.to_owned(),
        place: kept.place.clone(),
        checkpoint,
        age_ms: committed_ms.map(|at_ms| now_ms().saturating_sub(at_ms).max(0)),
        inputs: offsets::sources(kept)?,
        operators: operators(topology, kept)?,
    };
    match form {
        Form::Json => offsets::json(&listing),
        Form::Text => Ok(text(&listing)),
    }
}

fn operators(topology: &Topology, kept: &Kept) -> Result<Vec<Operator>, Error> {
    let parts = kept.parts();
    let named = |tally: Tally| {
        let is_meant = |node: &&Node| OperatorId::new(node.name).bytes() == tally.operator;
        let node = topology.nodes.iter().find(|node| !node.name.is_empty() && is_meant(node));
        let part = parts.iter().find(|part| part.prefix == tally.prefix);
        Operator {
            operator: node.map_or_else(|| "(between operators)".to_owned(), |node| node.name.to_owned()),
            kind: node.map_or("", |node| node.kind).to_owned(),
            part: part.map(|part| part.name.clone()).unwrap_or_default(),
            rows: tally.rows,
            bytes: tally.bytes,
        }
    };
    let mut operators: Vec<Operator> = kept.tally()?.into_iter().map(named).collect();
    operators.sort_by(|a, b| (&a.operator, &a.part).cmp(&(&b.operator, &b.part)));
    Ok(operators)
}

fn text(listing: &Listing) -> String {
    let mut out = format!("job `{}` in {}", listing.job, listing.place);
    if let Some(checkpoint) = listing.checkpoint {
        let _ = write!(out, ": checkpoint {}", grouped(checkpoint));
    }
    if let Some(age) = listing.age_ms.and_then(|age| u64::try_from(age).ok()) {
        let _ = write!(out, ", committed {} ago", elapsed(Duration::from_millis(age)));
    }
    out.push_str("\n\n");
    out.push_str(&offsets::text(&listing.inputs));
    out.push('\n');
    let row = |operator: &Operator| {
        let rows = if operator.rows == 0 { "no rows".to_owned() } else { counted(operator.rows, "row") };
        [operator.operator.clone(), operator.kind.clone(), operator.part.clone(), rows, bytes(operator.bytes)]
    };
    out.push_str(&table(&listing.operators.iter().map(row).collect::<Vec<_>>()));
    let (rows, size) = listing.operators.iter().fold((0, 0), |(r, b), o| (r + o.rows, b + o.bytes));
    let _ = writeln!(out, "together {}, {}", counted(rows, "row"), bytes(size));
    out
}

/// Cells below each other, as wide as the widest of their column.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
            let _ = write!(line, "  {cell:width$}");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
