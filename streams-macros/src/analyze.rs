//! Fourth pass: how the graph becomes owned chains. It cannot fail.
//!
//! A segment is a row of operators with one end; it ends where its records get a second owner or leave
//! the stage.
//! Operators in a union's downstream are reached through the machine's context, because two chains
//! cannot own them.
//! What rustc does for a segment grows with the square of its length, so a long one is continued in another.
//! No tokens here.

use crate::ir::{Call, Job, NodeId, Step};
use crate::ops::Form;

/// Index into [`Analysis::segments`]; segments are numbered in the order of their ends.
pub(crate) type SegmentId = usize;

/// How many operators a segment has at most, in front of the one that ends it.
const MOST_OPERATORS: usize = 32;

/// The facts that the expansion is made of.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// All segments that end.
    pub(crate) segments: Vec<Segment>,
    /// What happens at each node, by number.
    pub(crate) nodes: Vec<NodePlan>,
    /// What happens at each output.
    pub(crate) outputs: Vec<OutputPlan>,
    /// Number of unions and joins.
    pub(crate) n_unions: usize,
}

/// A row of operators.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Where its records come from.
    pub(crate) start: Start,
    /// Where they go.
    pub(crate) end: End,
    /// How many unions its context reaches.
    pub(crate) level: usize,
}

/// The beginning of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// An input port.
    Port(usize),
    /// Downstream of a union or of a join's sides, by its number.
    Union(usize),
    /// Behind the end of another segment.
    Inner,
}

/// The end of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An output port.
    Port(usize),
    /// A shuffle, and the segment behind it.
    Border(SegmentId),
    /// The same, right in front of an aggregate.
    Combining(SegmentId),
    /// Fan-out to these segments, in the order of their uses.
    Tee(Vec<SegmentId>),
    /// An aggregate or a join with latecomers.
    Late {
        /// The segment of the late records.
        late: SegmentId,
        /// The segment of the rows.
        rows: SegmentId,
    },
    /// The segment that continues it, because it is long.
    More(SegmentId),
    /// An input of a union or of a join.
    Union {
        /// Its number; 1 lies furthest downstream.
        union: usize,
        /// 0 for the receiver, 1 for the argument.
        input: usize,
    },
}

/// How a stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// It has one reader, which takes it.
    Whole(NodeId),
    /// It has several, each of which takes a fork.
    Fork(NodeId),
}

/// What happens at a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodePlan {
    /// How its inputs are read.
    pub(crate) reads: Vec<Read>,
    /// The segments that end in it: one per input of a union; of a join also the one that both sides share, and the
    /// one that ends in the join itself where its latecomers are read.
    pub(crate) ends: Vec<SegmentId>,
    /// The segment that ends in front of it, because it is long.
    pub(crate) pause: Option<SegmentId>,
    /// The segment that ends in its fan-out.
    pub(crate) tee: Option<SegmentId>,
    /// The number of a union or a join.
    pub(crate) union: Option<usize>,
}

/// What happens at an output.
#[derive(Clone, Debug)]
pub(crate) struct OutputPlan {
    /// How the stream is read.
    pub(crate) read: Read,
    /// The segment that ends in it.
    pub(crate) segment: SegmentId,
}

/// Splits a checked job into segments.
///
/// For a job with errors the plans of nodes still hold, the segments may not.
pub(crate) fn job(job: &Job) -> Analysis {
    let mut walk = Walk::new(job);
    for step in &job.steps {
        if let Step::Node(node) = step {
            walk.node(*node);
        }
    }
    for (number, output) in job.outputs.iter().enumerate() {
        let read = walk.read(output.node);
        let open = walk.take(output.node);
        let segment = walk.close(open, OpenEnd::Port(number));
        walk.outputs.push(OutputPlan { read, segment });
    }
    walk.finish()
}

/// The `key_by`s that need no shuffle of their own: nobody but a join reads what they key, and nothing in
/// between looks at more than one record.
fn deferred(job: &Job, uses: &[usize]) -> Vec<NodeId> {
    let joins = job.nodes.iter().filter(|node| node.op.form == Form::Join);
    let sides = joins.flat_map(|join| join.inputs.iter().copied());
    let found = sides.filter_map(|side| {
        let mut at = side;
        loop {
            let node = job.nodes.get(at).filter(|_| uses.get(at) == Some(&1))?;
            match node.op.form {
                Form::Cut => return Some(at),
                _ if node.op.is_stateless() => at = *node.inputs.first()?,
                _ => return None,
            }
        }
    });
    found.collect()
}

/// The `key_by`s whose only reader is the aggregate of a window: it may bring records together before their shuffle,
/// unless it gives the late ones out one by one.
fn combining(job: &Job, uses: &[usize]) -> Vec<NodeId> {
    let aggregates =
        job.nodes.iter().filter(|node| matches!(&node.call, Call::Aggregate(call) if call.late.is_none()));
    let found = aggregates.filter_map(|aggregate| {
        let read_once = |at: NodeId, form: Form| {
            job.nodes.get(at).filter(|node| node.op.form == form && uses.get(at) == Some(&1))
        };
        let window = read_once(*aggregate.inputs.first()?, Form::Window)?;
        let key_by = *window.inputs.first()?;
        read_once(key_by, Form::Cut).map(|_| key_by)
    });
    found.collect()
}

/// A segment under construction; its number is known when it ends.
type OpenId = usize;

#[derive(Clone, Debug)]
enum OpenEnd {
    Port(usize),
    Border(OpenId),
    Combining(OpenId),
    More(OpenId),
    Tee(Vec<OpenId>),
    Late { late: OpenId, rows: OpenId },
    Union { union: usize, input: usize },
}

#[derive(Debug)]
struct Open {
    start: Start,
    level: usize,
    n_operators: usize,
    /// Its number and its end, once it has one.
    closed: Option<(SegmentId, OpenEnd)>,
}

struct Walk<'a> {
    job: &'a Job,
    uses: Vec<usize>,
    /// The `key_by`s whose shuffle is that of the join behind them.
    deferred: Vec<NodeId>,
    /// The `key_by`s right in front of an aggregate.
    combining: Vec<NodeId>,
    n_unions: usize,
    n_unions_met: usize,
    n_closed: usize,
    opens: Vec<Open>,
    /// For each node, the segments that its readers continue, next one last.
    waiting: Vec<Vec<OpenId>>,
    nodes: Vec<NodePlan>,
    outputs: Vec<OutputPlan>,
}

impl<'a> Walk<'a> {
    fn new(job: &'a Job) -> Self {
        let n_unions = job.nodes.iter().filter(|node| node.op.merges()).count();
        let uses = job.uses();
        Self {
            job,
            deferred: deferred(job, &uses),
            combining: combining(job, &uses),
            uses,
            n_unions,
            n_unions_met: 0,
            n_closed: 0,
            opens: Vec::new(),
            waiting: vec![Vec::new(); job.nodes.len()],
            nodes: vec![NodePlan::default(); job.nodes.len()],
            outputs: Vec::new(),
        }
    }

    fn node(&mut self, number: NodeId) {
        let Some(node) = self.job.nodes.get(number) else { return };
        let mut plan = NodePlan {
            reads: node.inputs.iter().map(|input| self.read(*input)).collect(),
            ..NodePlan::default()
        };
        let inputs: &[NodeId] = &node.inputs;
        let open = match (&node.call, node.op.form) {
            (Call::Port(_, port), _) => self.open(Start::Port(*port), self.n_unions),
            // The aggregate has already opened it.
            (_, Form::Late) => self.take(number),
            (_, form @ (Form::Union | Form::Join)) => {
                // The last union met lies furthest downstream and is number 1.
                let union = self.n_unions - self.n_unions_met;
                self.n_unions_met += 1;
                plan.union = Some(union);
                for (input, read) in inputs.iter().enumerate() {
                    let open = self.take(*read);
                    plan.ends.push(self.close(open, OpenEnd::Union { union, input }));
                }
                let shared = self.open(Start::Union(union), union - 1);
                if form == Form::Union {
                    shared
                } else {
                    let behind = self.open(Start::Inner, union - 1);
                    plan.ends.push(self.close(shared, OpenEnd::Border(behind)));
                    match &node.call {
                        Call::Join(join) if join.late.is_some() => self.split(behind, join.late, &mut plan),
                        _ => behind,
                    }
                }
            }
            (_, form) => {
                let before = self.take(inputs.first().copied().unwrap_or(number));
                let level = self.level(before);
                let before = self.lengthen(before, level, &mut plan);
                match (&node.call, form) {
                    (_, Form::Cut) if !self.deferred.contains(&number) => {
                        let behind = self.open(Start::Inner, level);
                        let combines = self.combining.contains(&number);
                        let end = if combines { OpenEnd::Combining(behind) } else { OpenEnd::Border(behind) };
                        plan.ends.push(self.close(before, end));
                        behind
                    }
                    (Call::Aggregate(aggregate), _) if aggregate.late.is_some() => {
                        self.split(before, aggregate.late, &mut plan)
                    }
                    _ => before,
                }
            }
        };
        self.fan_out(number, open, &mut plan);
        if let Some(slot) = self.nodes.get_mut(number) {
            *slot = plan;
        }
    }

    /// The segment that takes one more operator: this one, or where it is long the one that continues it.
    fn lengthen(&mut self, before: OpenId, level: usize, plan: &mut NodePlan) -> OpenId {
        let mut segment = before;
        if self.opens.get(before).is_some_and(|open| open.n_operators == MOST_OPERATORS) {
            segment = self.open(Start::Inner, level);
            plan.pause = Some(self.close(before, OpenEnd::More(segment)));
        }
        if let Some(open) = self.opens.get_mut(segment) {
            open.n_operators += 1;
        }
        segment
    }

    /// Ends a segment in an operator whose latecomers are the stream `late`; what its rows continue.
    fn split(&mut self, before: OpenId, late: Option<NodeId>, plan: &mut NodePlan) -> OpenId {
        let level = self.level(before);
        let (rows, latecomers) = (self.open(Start::Inner, level), self.open(Start::Inner, level));
        plan.ends.push(self.close(before, OpenEnd::Late { late: latecomers, rows }));
        self.give(late, vec![latecomers]);
        rows
    }

    /// Leaves the segment behind a node to its readers.
    fn fan_out(&mut self, number: NodeId, open: OpenId, plan: &mut NodePlan) {
        let uses = self.uses.get(number).copied().unwrap_or(0);
        if uses < 2 {
            self.give(Some(number), vec![open]);
            return;
        }
        let level = self.level(open);
        let mut forks: Vec<OpenId> = (0..uses).map(|_| self.open(Start::Inner, level)).collect();
        plan.tee = Some(self.close(open, OpenEnd::Tee(forks.clone())));
        forks.reverse();
        self.give(Some(number), forks);
    }

    fn give(&mut self, node: Option<NodeId>, opens: Vec<OpenId>) {
        if let Some(slot) = node.and_then(|node| self.waiting.get_mut(node)) {
            *slot = opens;
        }
    }

    fn read(&self, node: NodeId) -> Read {
        if self.uses.get(node).is_some_and(|uses| *uses > 1) { Read::Fork(node) } else { Read::Whole(node) }
    }

    fn take(&mut self, node: NodeId) -> OpenId {
        let waiting = self.waiting.get_mut(node).and_then(Vec::pop);
        // Only a job with errors reads a stream more often than it was counted.
        waiting.unwrap_or_else(|| self.open(Start::Inner, self.n_unions))
    }

    fn open(&mut self, start: Start, level: usize) -> OpenId {
        self.opens.push(Open { start, level, n_operators: 0, closed: None });
        self.opens.len() - 1
    }

    fn level(&self, open: OpenId) -> usize {
        self.opens.get(open).map_or(0, |open| open.level)
    }

    fn close(&mut self, open: OpenId, end: OpenEnd) -> SegmentId {
        let number = self.n_closed;
        if let Some(open) = self.opens.get_mut(open) {
            open.closed = Some((number, end));
            self.n_closed += 1;
        }
        number
    }

    fn finish(self) -> Analysis {
        // A segment without an end exists only in a job with errors; its number names nothing.
        let number = |open: &OpenId| {
            let closed = self.opens.get(*open).and_then(|open| open.closed.as_ref());
            closed.map_or(usize::MAX, |(number, _)| *number)
        };
        let mut segments: Vec<(SegmentId, Segment)> = Vec::new();
        for open in &self.opens {
            let Some((segment, end)) = &open.closed else { continue };
            let end = match end {
                OpenEnd::Port(output) => End::Port(*output),
                OpenEnd::Border(behind) => End::Border(number(behind)),
                OpenEnd::Combining(behind) => End::Combining(number(behind)),
                OpenEnd::More(behind) => End::More(number(behind)),
                OpenEnd::Tee(forks) => End::Tee(forks.iter().map(number).collect()),
                OpenEnd::Late { late, rows } => End::Late { late: number(late), rows: number(rows) },
                OpenEnd::Union { union, input } => End::Union { union: *union, input: *input },
            };
            segments.push((*segment, Segment { start: open.start, end, level: open.level }));
        }
        segments.sort_by_key(|(segment, _)| *segment);
        Analysis {
            segments: segments.into_iter().map(|(_, segment)| segment).collect(),
            nodes: self.nodes,
            outputs: self.outputs,
            n_unions: self.n_unions,
        }
    }
}

#[cfg(test)]
mod tests;
