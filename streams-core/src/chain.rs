//! Operators in a row: collected forwards while types are inferred, connected to their tail afterwards.

use std::marker::PhantomData;

use crate::context::Context;
use crate::exchange::combined::Combines;
use crate::push::{Operator, Push, System};

/// No operator yet.
#[derive(Debug, Clone, Copy)]
pub struct Id;

impl<R> Operator<R> for Id {
    type Out = R;

    #[inline(always)]
    fn push<C: Context, N: Push<R, C>>(&mut self, record: R, next: &mut N, cx: &mut C) {
        next.push(record, cx);
    }

    #[inline(always)]
    fn wants<C: Context, N: Push<R, C>>(&mut self, record: &R, next: &mut N, cx: &mut C) -> bool {
        next.wants(record, cx)
    }

    #[inline(always)]
    fn push_wanted<C: Context, N: Push<R, C>>(&mut self, record: R, next: &mut N, cx: &mut C) {
        next.push_wanted(record, cx);
    }
}

/// `A`, then `B`.
#[derive(Debug, Clone, Copy)]
pub struct Then<A, B>(pub(crate) A, pub(crate) B);

/// `B` in front of `N`, borrowed for one call.
struct Behind<'a, B, N> {
    operator: &'a mut B,
    next: &'a mut N,
}

impl<R, B: Operator<R>, N, C> Push<R, C> for Behind<'_, B, N>
where
    C: Context,
    N: Push<B::Out, C>,
{
    #[inline(always)]
    fn push(&mut self, record: R, cx: &mut C) {
        self.operator.push(record, self.next, cx);
    }

    #[inline(always)]
    fn wants(&mut self, record: &R, cx: &mut C) -> bool {
        self.operator.wants(record, self.next, cx)
    }

    #[inline(always)]
    fn push_wanted(&mut self, record: R, cx: &mut C) {
        self.operator.push_wanted(record, self.next, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.operator.watermark(at_ms, self.next, cx);
    }

    #[inline(always)]
    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.operator.system(message, self.next, cx);
    }
}

impl<R, A: Operator<R>, B: Operator<A::Out>> Operator<R> for Then<A, B> {
    type Out = B::Out;

    #[inline(always)]
    fn push<C: Context, N: Push<B::Out, C>>(&mut self, record: R, next: &mut N, cx: &mut C) {
        self.0.push(record, &mut Behind { operator: &mut self.1, next }, cx);
    }

    #[inline(always)]
    fn wants<C: Context, N: Push<B::Out, C>>(&mut self, record: &R, next: &mut N, cx: &mut C) -> bool {
        self.0.wants(record, &mut Behind { operator: &mut self.1, next }, cx)
    }

    #[inline(always)]
    fn push_wanted<C: Context, N: Push<B::Out, C>>(&mut self, record: R, next: &mut N, cx: &mut C) {
        self.0.push_wanted(record, &mut Behind { operator: &mut self.1, next }, cx);
    }

    #[inline(always)]
    fn watermark<C: Context, N: Push<B::Out, C>>(&mut self, at_ms: i64, next: &mut N, cx: &mut C) {
        self.0.watermark(at_ms, &mut Behind { operator: &mut self.1, next }, cx);
    }

    #[inline(always)]
    fn system<C: Context, N: Push<B::Out, C>>(&mut self, message: &mut System<'_>, next: &mut N, cx: &mut C) {
        self.0.system(message, &mut Behind { operator: &mut self.1, next }, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.1.set_id(id);
    }
}

/// Finds the first operator of a row.
pub trait Front {
    /// It, or an `X` that stands behind the row where there is none.
    type First<X>;

    /// See [`Self::First`].
    fn first<'a, X>(&'a self, behind: &'a X) -> &'a Self::First<X>;
}

impl Front for Id {
    type First<X> = X;

    fn first<'a, X>(&'a self, behind: &'a X) -> &'a X {
        behind
    }
}

impl<A: Front, B> Front for Then<A, B> {
    type First<X> = A::First<B>;

    fn first<'a, X>(&'a self, _behind: &'a X) -> &'a A::First<B> {
        self.0.first(&self.1)
    }
}

/// A finished row of operators that waits for its tail; `H` is what it takes.
#[derive(Debug)]
pub struct Closed<O, H> {
    pub(crate) operators: O,
    pub(crate) _head: PhantomData<fn(H)>,
}

impl<O, H> Closed<O, H> {
    /// The node: the operators in front of `tail`.
    #[inline(always)]
    pub fn connect<N>(self, tail: N) -> Chain<O, N, H> {
        Chain { operators: self.operators, tail, _head: PhantomData }
    }
}

/// Operators and their tail: a node.
#[derive(Debug)]
pub struct Chain<O, N, H> {
    operators: O,
    tail: N,
    _head: PhantomData<fn(H)>,
}

/// A node that begins with an operator of its own.
pub trait Fronted<R> {
    /// That operator.
    type First: Combines<R>;

    /// It.
    fn front(&self) -> &Self::First;
}

impl<O, N, H> Fronted<H> for Chain<O, N, H>
where
    O: Front,
    O::First<N>: Combines<H>,
{
    type First = O::First<N>;

    fn front(&self) -> &O::First<N> {
        self.operators.first(&self.tail)
    }
}

#[diagnostic::do_not_recommend]
impl<H, O: Operator<H>, N, C> Push<H, C> for Chain<O, N, H>
where
    C: Context,
    N: Push<O::Out, C>,
{
    #[inline(always)]
    fn push(&mut self, record: H, cx: &mut C) {
        self.operators.push(record, &mut self.tail, cx);
    }

    #[inline(always)]
    fn wants(&mut self, record: &H, cx: &mut C) -> bool {
        self.operators.wants(record, &mut self.tail, cx)
    }

    #[inline(always)]
    fn push_wanted(&mut self, record: H, cx: &mut C) {
        self.operators.push_wanted(record, &mut self.tail, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.operators.watermark(at_ms, &mut self.tail, cx);
    }

    #[inline]
    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.operators.system(message, &mut self.tail, cx);
    }
}
