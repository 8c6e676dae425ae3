//! The protocol of fused operators.
//!
//! A job is a tree of nodes, each owning the ones behind it, so that a record runs through the whole chain in
//! one inlined call. Three things flow, in order: records, watermarks and system messages.
//!
//! Grammar of the calls to one node: `NewSplit (push | watermark | Clock | Idle | Active | Refresh | CheckPoint | Drain |
//! Page | Combined)* End? Drain* RemoveSplit?`, with `Loaded` behind the last `Page`; behind `Idle` nothing but messages
//! comes before `Active`. Watermarks never fall. A node passes every watermark and every system message but `Combined`
//! on, after it has acted on it.

use crate::ahead::Ahead;
use crate::context::Context;
use crate::effects::{Effects, Gauges, Reach};
use crate::exchange::combined::Combined;
use crate::inspect::Inquiry;
use crate::lookup::Tables;
use crate::state::{Loader, Page, Saver};

/// A message that every operator hears, in order with the data.
#[derive(Debug)]
pub enum System<'a> {
    /// Before the first record: load the split's state, or be ready to read it when it is needed.
    NewSplit(Loader<'a>),
    /// Rows that were read in the background: those that are in memory are newer.
    Page(Page<'a>),
    /// All rows have come.
    Loaded,
    /// The split was taken away: drop its state.
    RemoveSplit,
    /// Write what changed since the last checkpoint.
    CheckPoint(Saver<'a>),
    /// The input has ended: every open window fires. Event time itself does not move, so that a source that
    /// grows later goes on where it was.
    End,
    /// Nothing has come in here for a while: a union holds event time back for it no longer.
    Idle,
    /// Something comes in here again.
    Active,
    /// The driver says what time it is ([`crate::context::Cx`] has it), for processing time alone.
    Clock,
    /// Tells operators that look rows up where they are.
    Tables(&'a Tables),
    /// Rows of tables may be newer now.
    Refresh,
    /// Nothing will ever come in here: in a machine for one split, the other ways in have no records. A union
    /// then waits for its remaining inputs alone.
    Absent,
    /// Say which ends can be reached from here.
    Reach(Reach),
    /// Hand over what has gathered at the ends: outputs, shuffled records, counts.
    Drain(Effects),
    /// Report watermarks, for people to look at and to carry over a stop.
    Observe(Gauges),
    /// What the [`Combiner`](crate::exchange::combined::Combiner) of this node has brought together; it is no other's,
    /// and not passed on.
    Combined(Combined<'a>),
    /// Say which rows the records of these keys will need that are not in memory.
    Ahead(Ahead<'a>),
    /// Show what is kept of a key.
    Inspect(Inquiry<'a>),
}

/// A node that takes records of type `R` in a machine whose context is `C`.
#[diagnostic::on_unimplemented(
    message = "this job cannot be built because of the errors above",
    label = "a stage of this job"
)]
pub trait Push<R, C: Context> {
    /// One record.
    fn push(&mut self, record: R, cx: &mut C);
    /// Whether it takes this record, as far as filters say that stand in front. If so [`Self::push_wanted`] with it
    /// is the next call, and what stands in front does not look again; if not, it hears nothing of the record.
    #[inline(always)]
    fn wants(&mut self, _record: &R, _cx: &mut C) -> bool {
        true
    }
    /// A record that it wants.
    #[inline(always)]
    fn push_wanted(&mut self, record: R, cx: &mut C) {
        self.push(record, cx);
    }
    /// Event time has reached `at_ms`: no record with a smaller time is expected.
    fn watermark(&mut self, at_ms: i64, cx: &mut C);
    /// A message for every operator.
    fn system(&mut self, message: &mut System<'_>, cx: &mut C);
}

/// An operator with one input and one output, written without knowing what comes behind it.
///
/// The defaults pass watermarks and messages on, which is all that a stateless operator does with them.
pub trait Operator<R> {
    /// What it gives to the next one.
    type Out;

    /// One record.
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: R, next: &mut N, cx: &mut C);

    /// Whether it takes this record, see [`Push::wants`].
    #[inline(always)]
    fn wants<C: Context, N: Push<Self::Out, C>>(&mut self, _record: &R, _next: &mut N, _cx: &mut C) -> bool {
        true
    }

    /// A record that it wants.
    #[inline(always)]
    fn push_wanted<C: Context, N: Push<Self::Out, C>>(&mut self, record: R, next: &mut N, cx: &mut C) {
        self.push(record, next, cx);
    }

    /// Event time has reached `at_ms`.
    #[inline(always)]
    fn watermark<C: Context, N: Push<Self::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        next.watermark(at_ms, cx);
    }

    /// A message for every operator.
    #[inline(always)]
    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        next.system(message, cx);
    }

    /// Gives the operator its id, under which its state is kept; stateless ones have none.
    fn set_id(&mut self, _id: &'static str) {}
}
