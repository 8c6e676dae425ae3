//! An aggregate with two ends: results and late records.

use std::marker::PhantomData;

use super::WindowAggregate;
use crate::aggregate::Aggregates;
use crate::context::Context;
use crate::key::Key;
use crate::push::{Operator, Push, System};
use crate::record::Rec;
use crate::time::Window;

/// An aggregate whose late records are a stream of their own; waits for both tails.
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

impl<K: Key, T, A, F, R, L, N, C> Push<Rec<K, T>, C> for LateEnd<WindowAggregate<K, T, A, F>, L, N>
where
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
    C: Context,
    L: Push<Rec<K, T>, C>,
    N: Push<Rec<K, R>, C>,
{
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        self.aggregate.take(record, &mut self.late, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.aggregate.advance(at_ms, &mut self.results, cx);
        self.late.watermark(at_ms, cx);
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.aggregate.hear(message, &mut self.results, cx);
        self.results.system(message, cx);
        self.late.system(message, cx);
    }
}

#[diagnostic::do_not_recommend]
impl<H, O, K: Key, T, A, F, R, L, N, C> Push<H, C> for LateChain<O, WindowAggregate<K, T, A, F>, L, N, H>
where
    O: Operator<H, Out = Rec<K, T>>,
    A: Aggregates<T>,
    F: Fn(&K, Window, A::Out) -> R,
    C: Context,
    L: Push<Rec<K, T>, C>,
    N: Push<Rec<K, R>, C>,
{
    #[inline(always)]
    fn push(&mut self, record: H, cx: &mut C) {
        self.operators.push(record, &mut self.end, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.operators.watermark(at_ms, &mut self.end, cx);
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.operators.system(message, &mut self.end, cx);
    }
}
