//! An aggregate or a join with two ends: results and late records.

mod joins;

use std::marker::PhantomData;

use crate::chain::{Front, Fronted};
use crate::context::Context;
use crate::exchange::combined::Combines;
use crate::push::{Operator, Push, System};

/// An operator whose records can come too late. As an [`Operator`] it drops those; they are counted all the same.
pub trait LateOperator<R>: Operator<R> {
    /// One record, which goes to `late` when its time is over.
    fn push_late<C, L, N>(&mut self, record: R, late: &mut L, next: &mut N, cx: &mut C)
    where
        C: Context,
        L: Push<R, C>,
        N: Push<Self::Out, C>;
}

/// Takes late records that nobody asked for.
pub(crate) struct Nowhere;

impl<R, C: Context> Push<R, C> for Nowhere {
    #[inline(always)]
    fn push(&mut self, _record: R, _cx: &mut C) {}

    #[inline(always)]
    fn watermark(&mut self, _at_ms: i64, _cx: &mut C) {}

    #[inline(always)]
    fn system(&mut self, _message: &mut System<'_>, _cx: &mut C) {}
}

/// An aggregate or a join whose late records are a stream of their own; waits for both tails.
#[derive(Debug)]
pub struct ClosedLate<O, X, H> {
    pub(crate) operators: O,
    pub(crate) aggregate: X,
    pub(crate) _head: PhantomData<fn(H)>,
}

impl<O, X, H> ClosedLate<O, X, H> {
    /// The node: the operators and the aggregate in front of the tail for late records and the one for results.
    pub fn connect_late<L, N>(self, late: L, results: N) -> LateChain<O, X, L, N, H> {
        LateChain {
            operators: self.operators,
            end: LateEnd { aggregate: self.aggregate, late, results },
            _head: PhantomData,
        }
    }
}

/// Operators that end in an aggregate with a late stream: a node.
#[derive(Debug)]
pub struct LateChain<O, X, L, N, H> {
    operators: O,
    end: LateEnd<X, L, N>,
    _head: PhantomData<fn(H)>,
}

#[derive(Debug)]
struct LateEnd<X, L, N> {
    aggregate: X,
    late: L,
    results: N,
}

impl<R, X, L, N, C> Push<R, C> for LateEnd<X, L, N>
where
    X: LateOperator<R>,
    C: Context,
    L: Push<R, C>,
    N: Push<X::Out, C>,
{
    #[inline(always)]
    fn push(&mut self, record: R, cx: &mut C) {
        self.aggregate.push_late(record, &mut self.late, &mut self.results, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.aggregate.watermark(at_ms, &mut self.results, cx);
        self.late.watermark(at_ms, cx);
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.aggregate.system(message, &mut self.results, cx);
        self.late.system(message, cx);
    }
}

impl<O, X, L, N, H> Fronted<H> for LateChain<O, X, L, N, H>
where
    O: Front,
    O::First<X>: Combines<H>,
{
    type First = O::First<X>;

    fn front(&self) -> &O::First<X> {
        self.operators.first(&self.end.aggregate)
    }
}

#[diagnostic::do_not_recommend]
impl<H, O, X, L, N, C> Push<H, C> for LateChain<O, X, L, N, H>
where
    O: Operator<H>,
    X: LateOperator<O::Out>,
    C: Context,
    L: Push<O::Out, C>,
    N: Push<X::Out, C>,
{
    #[inline(always)]
    fn push(&mut self, record: H, cx: &mut C) {
        self.operators.push(record, &mut self.end, cx);
    }

    #[inline(always)]
    fn wants(&mut self, record: &H, cx: &mut C) -> bool {
        self.operators.wants(record, &mut self.end, cx)
    }

    #[inline(always)]
    fn push_wanted(&mut self, record: H, cx: &mut C) {
        self.operators.push_wanted(record, &mut self.end, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.operators.watermark(at_ms, &mut self.end, cx);
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.operators.system(message, &mut self.end, cx);
    }
}
