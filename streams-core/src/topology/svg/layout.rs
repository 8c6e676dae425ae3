//! Where the boxes of a picture stand: rows from top to bottom, each behind all that it reads, in the band of its
//! stage; what goes past a row gets a gap in it.
//!
//! No words here but those inside the boxes, whose lengths are needed.

use super::super::Topology;
use super::super::drawing::{edges, label, state_of};
use super::chars;

/// The width of a character.
pub(super) const CHAR: i32 = 8;
/// The height of a line of text.
pub(super) const LINE: i32 = 16;
/// Between two boxes of a row.
const GAP: i32 = 28;
/// Between two rows.
const ROW_GAP: i32 = 34;
/// Around the rows of a stage.
const BAND_TOP: i32 = 30;
const BAND_BOTTOM: i32 = 16;
const BAND_GAP: i32 = 40;
/// Room for the heading, and at the sides.
const TOP: i32 = 56;
const SIDE: i32 = 30;
/// How wide the gap is through which an edge passes a row.
const LANE: i32 = 14;

/// A box.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    head: String,
    text: String,
    pub(super) keeps: Option<&'static str>,
    pub(super) impure: Option<&'static str>,
    pub(super) is_port: bool,
}

impl Placed {
    /// The lines in it, each with the class of its words.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("h", self.head.clone())];
        lines.extend((!self.text.is_empty()).then(|| ("", self.text.clone())));
        lines.extend(self.keeps.map(|keeps| ("k", format!("keeps {keeps}"))));
        lines.extend(self.impure.map(|reason| ("w", format!("may break replay: {reason}"))));
        lines
    }
}

/// A line between two boxes.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) points: Vec<(i32, i32)>,
    pub(super) shuffled: bool,
}

/// The room of a stage.
#[derive(Debug)]
pub(super) struct Band {
    pub(super) top: i32,
    pub(super) bottom: i32,
}

/// Everything with its place.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Placed>,
    pub(super) edges: Vec<Edge>,
    pub(super) bands: Vec<Band>,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// What stands in a row: a box, or an edge on its way.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// The node, where it is one.
    node: Option<usize>,
    width: i32,
    x: i32,
}

impl Item {
    fn middle(self) -> i32 {
        self.x + self.width / 2
    }
}

impl Layout {
    pub(super) fn of(topology: &Topology) -> Self {
        let mut boxes: Vec<Placed> =
            (0..topology.nodes.len()).filter_map(|index| unplaced(topology, index)).collect();
        let stages = topology.stages();
        let rows_of = rows(topology, &stages);
        let n_rows = rows_of.iter().max().map_or(0, |last| last + 1);
        let edges = edges(topology);
        let mut rows: Vec<Vec<Item>> = vec![Vec::new(); n_rows];
        // For each edge the item that it passes in each row, from its box to the other one.
        let mut paths: Vec<Vec<(usize, usize)>> = vec![Vec::new(); edges.len()];
        for row in 0..n_rows {
            place(topology, &boxes, &rows_of, &edges, row, &mut rows, &mut paths);
        }
        above_readers(&edges, &paths, &mut rows);
        let width = rows.iter().flatten().map(|item| item.x + item.width).max().unwrap_or(0) + SIDE;
        let (bands, tops, height) = heights(&mut boxes, &rows_of, &stages, n_rows);
        for item in rows.iter().flatten() {
            if let Some(placed) = item.node.and_then(|node| boxes.get_mut(node)) {
                placed.x = item.x;
            }
        }
        let edges = edges.iter().zip(&paths).map(|(&(from, to, shuffled), path)| {
            let mut points = Vec::new();
            if let Some(from) = boxes.get(from) {
                points.push((from.x + from.width / 2, from.y + from.height));
            }
            for &(row, item) in path {
                let item = rows.get(row).and_then(|row| row.get(item)).filter(|item| item.node.is_none());
                if let (Some(item), Some(&(top, bottom))) = (item, tops.get(row)) {
                    points.extend([(item.middle(), top - 6), (item.middle(), bottom + 6)]);
                }
            }
            points.extend(boxes.get(to).map(|to| (to.x + to.width / 2, to.y - 1)));
            Edge { points, shuffled }
        });
        let edges = edges.collect();
        Self { boxes, edges, bands, width, height }
    }
}

/// A box with its words and its size, and no place.
fn unplaced(topology: &Topology, index: usize) -> Option<Placed> {
    let node = topology.nodes.get(index)?;
    let (head, text) = label(node);
    let is_port = matches!(node.kind, "source" | "sink");
    let mut placed = Placed {
        x: 0,
        y: 0,
        width: 0,
        height: 0,
        head,
        text: text.to_owned(),
        keeps: state_of(topology, index),
        impure: node.impure,
        is_port,
    };
    let lines = placed.lines();
    let longest = lines.iter().map(|(_, line)| chars(line)).max().unwrap_or(0);
    placed.height = LINE * i32::try_from(lines.len()).unwrap_or(1) + 10;
    placed.width = CHAR * longest + if is_port { placed.height } else { 18 };
    Some(placed)
}

/// The row of each node: behind those that it reads, and behind all of the stages before.
fn rows(topology: &Topology, stages: &[usize]) -> Vec<usize> {
    let n_stages = stages.iter().max().map_or(0, |last| last + 1);
    let mut rows = vec![0; topology.nodes.len()];
    let mut first = 0;
    for stage in 0..n_stages {
        let mut next = first;
        for (index, node) in
            topology.nodes.iter().enumerate().filter(|(index, _)| stages.get(*index) == Some(&stage))
        {
            let behind = node.inputs.iter().filter_map(|input| rows.get(*input).map(|row| row + 1)).max();
            let row = behind.unwrap_or(0).max(first);
            next = next.max(row + 1);
            if let Some(slot) = rows.get_mut(index) {
                *slot = row;
            }
        }
        first = next;
    }
    rows
}

/// Places one row: each item below the middle of what it comes from, as far as there is room.
fn place(
    topology: &Topology,
    boxes: &[Placed],
    rows_of: &[usize],
    edges: &[(usize, usize, bool)],
    row: usize,
    rows: &mut [Vec<Item>],
    paths: &mut [Vec<(usize, usize)>],
) {
    // Where an edge is in the row before this one.
    let above = |edge: usize, from: usize| -> Option<i32> {
        let at = paths.get(edge).and_then(|path| path.last().copied());
        let item = match at {
            Some((row, item)) => rows.get(row)?.get(item)?,
            None => rows.get(*rows_of.get(from)?)?.iter().find(|item| item.node == Some(from))?,
        };
        Some(item.middle())
    };
    // (the wished middle, the item, the edge that it is a part of)
    let mut wishes: Vec<(i32, Item, Option<usize>)> = Vec::new();
    for node in (0..topology.nodes.len()).filter(|node| rows_of.get(*node) == Some(&row)) {
        let into = edges.iter().enumerate().filter(|(_, (_, to, _))| *to == node);
        let from: Vec<i32> = into.filter_map(|(edge, (from, ..))| above(edge, *from)).collect();
        let n = i32::try_from(from.len()).unwrap_or(1).max(1);
        // Without an input it stands to the right of what is there.
        let wish = if from.is_empty() { i32::MAX / 4 } else { from.iter().sum::<i32>() / n };
        let width = boxes.get(node).map_or(0, |placed| placed.width);
        wishes.push((wish, Item { node: Some(node), width, x: 0 }, None));
    }
    for (edge, (from, to, _)) in edges.iter().enumerate() {
        let passes = rows_of.get(*from).is_some_and(|from| *from < row)
            && rows_of.get(*to).is_some_and(|to| *to > row);
        if let (true, Some(middle)) = (passes, above(edge, *from)) {
            wishes.push((middle, Item { node: None, width: LANE, x: 0 }, Some(edge)));
        }
    }
    wishes.sort_by_key(|(wish, ..)| *wish);
    let mut right = SIDE;
    let mut placed: Vec<Item> = Vec::new();
    for (wish, item, edge) in &wishes {
        let x = if *wish >= i32::MAX / 4 { right } else { (wish - item.width / 2).max(right) };
        if let Some(path) = edge.and_then(|edge| paths.get_mut(edge)) {
            path.push((row, placed.len()));
        }
        placed.push(Item { x, ..*item });
        right = x + item.width + GAP;
    }
    // What was pushed to the right pulls its neighbors back to where there is room.
    let mut left = i32::MAX;
    for (item, (wish, ..)) in placed.iter_mut().zip(&wishes).rev() {
        if *wish < i32::MAX / 4 {
            let wished = wish - item.width / 2;
            item.x = item.x.min(left.saturating_sub(item.width + GAP)).max(SIDE.max(wished.min(item.x)));
        }
        left = item.x;
    }
    if let Some(slot) = rows.get_mut(row) {
        *slot = placed;
    }
}

/// Inputs stand above what reads them first, as far as there is room on the right.
fn above_readers(edges: &[(usize, usize, bool)], paths: &[Vec<(usize, usize)>], rows: &mut [Vec<Item>]) {
    let Some((first, others)) = rows.split_first_mut() else { return };
    let mut left = i32::MAX;
    for item in first.iter_mut().rev() {
        let edge = edges.iter().zip(paths).find(|((from, ..), _)| item.node == Some(*from));
        let reader = edge.and_then(|(&(_, to, _), path)| match path.first() {
            Some(&(row, at)) => others.get(row.checked_sub(1)?)?.get(at),
            None => others.iter().flatten().find(|item| item.node == Some(to)),
        });
        let room = left.saturating_sub(item.width + GAP);
        if let Some(reader) = reader {
            item.x = item.x.max((reader.middle() - item.width / 2).min(room));
        }
        left = item.x;
    }
}

/// The bands, the upper and lower end of each row, and the end of everything.
fn heights(
    boxes: &mut [Placed],
    rows_of: &[usize],
    stages: &[usize],
    n_rows: usize,
) -> (Vec<Band>, Vec<(i32, i32)>, i32) {
    let mut bands: Vec<Band> = Vec::new();
    let mut ends = Vec::new();
    let mut y = TOP;
    let mut stage = usize::MAX;
    for row in 0..n_rows {
        let here = rows_of.iter().zip(stages).find(|(at, _)| **at == row).map_or(stage, |(_, stage)| *stage);
        if here != stage {
            stage = here;
            y += if bands.is_empty() { 0 } else { BAND_GAP - ROW_GAP + BAND_BOTTOM };
            bands.push(Band { top: y, bottom: y });
            y += BAND_TOP;
        }
        let in_row = rows_of.iter().enumerate().filter(|(_, at)| **at == row).map(|(node, _)| node);
        let mut height = 0;
        for node in in_row {
            if let Some(placed) = boxes.get_mut(node) {
                placed.y = y;
                height = height.max(placed.height);
            }
        }
        ends.push((y, y + height));
        if let Some(band) = bands.last_mut() {
            band.bottom = y + height + BAND_BOTTOM;
        }
        y += height + ROW_GAP;
    }
    let height = bands.last().map_or(y, |band| band.bottom) + 6;
    (bands, ends, height)
}
