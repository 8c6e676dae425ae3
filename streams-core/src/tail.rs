//! The ends of a chain: ports, fan-out, and the ways into what several chains share.

use crate::context::Context;
use crate::ports::End;
use crate::push::{Push, System};
use crate::record::Rec;

/// Gives each result to the end of an output port.
#[derive(Debug)]
pub struct ToPort<E> {
    pub(crate) index: usize,
    pub(crate) end: E,
}

#[diagnostic::do_not_recommend]
impl<K, T, E: End<K, T>, C: Context> Push<Rec<K, T>, C> for ToPort<E> {
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        self.end.accept(record, cx.base());
    }

    #[inline(always)]
    fn watermark(&mut self, _at_ms: i64, _cx: &mut C) {}

    #[inline]
    fn system(&mut self, message: &mut System<'_>, _cx: &mut C) {
        match message {
            System::Drain(effects) => self.end.drain(effects.output(self.index)),
            System::Reach(reach) => {
                reach.outputs.insert(self.index);
            }
            _ => {}
        }
    }
}

/// Fan-out: everything goes to `first`, then to `second`.
#[derive(Debug)]
pub struct Tee<A, B> {
    first: A,
    second: B,
    /// Who wants the record that [`Push::wants`] has asked about.
    wanted: (bool, bool),
}

impl<A, B> Tee<A, B> {
    /// A fan-out of two.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second, wanted: (false, false) }
    }

    #[inline(always)]
    fn ask<R, C: Context>(&mut self, record: &R, cx: &mut C) -> (bool, bool)
    where
        A: Push<R, C>,
        B: Push<R, C>,
    {
        (self.first.wants(record, cx), self.second.wants(record, cx))
    }

    // Filtered streams mostly part, and what one of them alone wants is not copied. Each is called at one place, since
    // all that is behind it is compiled there.
    #[inline(always)]
    fn hand_out<R: Clone, C: Context>(&mut self, record: R, wanted: (bool, bool), cx: &mut C)
    where
        A: Push<R, C>,
        B: Push<R, C>,
    {
        let (first, second) = match wanted {
            (true, true) => (Some(record.clone()), Some(record)),
            (true, false) => (Some(record), None),
            (false, _) => (None, Some(record)),
        };
        if let Some(record) = first {
            self.first.push_wanted(record, cx);
        }
        if let Some(record) = second {
            self.second.push_wanted(record, cx);
        }
    }
}

#[diagnostic::do_not_recommend]
impl<K: Clone, T: Clone, A, B, C> Push<Rec<K, T>, C> for Tee<A, B>
where
    C: Context,
    A: Push<Rec<K, T>, C>,
    B: Push<Rec<K, T>, C>,
{
    #[inline(always)]
    fn push(&mut self, mut record: Rec<K, T>, cx: &mut C) {
        // It stays where it is while filters look at it: LLVM would take a wide one apart, for every record.
        std::hint::black_box(&mut record);
        let wanted = self.ask(&record, cx);
        if wanted != (false, false) {
            self.hand_out(record, wanted, cx);
        }
    }

    #[inline(always)]
    fn wants(&mut self, record: &Rec<K, T>, cx: &mut C) -> bool {
        self.wanted = self.ask(record, cx);
        self.wanted != (false, false)
    }

    #[inline(always)]
    fn push_wanted(&mut self, record: Rec<K, T>, cx: &mut C) {
        self.hand_out(record, self.wanted, cx);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.first.watermark(at_ms, cx);
        self.second.watermark(at_ms, cx);
    }

    #[inline]
    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.first.system(message, cx);
        self.second.system(message, cx);
    }
}

/// The operators behind a long row of them, so that neither rustc nor its user meets a type of hundreds.
///
/// A record pays one indirect call for it.
pub struct Boxed<R, C>(Box<dyn Push<R, C> + Send>);

impl<R, C: Context> Boxed<R, C> {
    /// Keeps a node behind a pointer.
    pub fn new<N: Push<R, C> + Send + 'static>(node: N) -> Self {
        Self(Box::new(node))
    }
}

impl<R, C> std::fmt::Debug for Boxed<R, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Boxed").finish_non_exhaustive()
    }
}

#[diagnostic::do_not_recommend]
impl<R, C: Context> Push<R, C> for Boxed<R, C> {
    #[inline]
    fn push(&mut self, record: R, cx: &mut C) {
        self.0.push(record, cx);
    }

    #[inline]
    fn wants(&mut self, record: &R, cx: &mut C) -> bool {
        self.0.wants(record, cx)
    }

    #[inline]
    fn push_wanted(&mut self, record: R, cx: &mut C) {
        self.0.push_wanted(record, cx);
    }

    #[inline]
    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.0.watermark(at_ms, cx);
    }

    #[inline]
    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        self.0.system(message, cx);
    }
}

/// A leaf of a union: input number `.0` of the [`crate::merge::Merge`] that lies outermost in the context.
///
/// It wants every record: what is behind it may be reached by several branches of one fan-out, and is asked once each.
#[derive(Debug)]
pub struct Shared(pub usize);

#[diagnostic::do_not_recommend]
impl<R, N, C> Push<R, (crate::merge::Merge<N>, C)> for Shared
where
    C: Context,
    N: Push<R, C> + Send + 'static,
{
    #[inline(always)]
    fn push(&mut self, record: R, cx: &mut (crate::merge::Merge<N>, C)) {
        cx.0.next.push(record, &mut cx.1);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut (crate::merge::Merge<N>, C)) {
        cx.0.watermark(self.0, at_ms, &mut cx.1);
    }

    #[inline]
    fn system(&mut self, message: &mut System<'_>, cx: &mut (crate::merge::Merge<N>, C)) {
        cx.0.system(self.0, message, &mut cx.1);
    }
}

/// A node that sees the context without its outermost union.
#[derive(Debug)]
pub struct Up<N>(pub N);

#[diagnostic::do_not_recommend]
impl<R, N, M, C> Push<R, (M, C)> for Up<N>
where
    M: Send + 'static,
    C: Context,
    N: Push<R, C>,
{
    #[inline(always)]
    fn push(&mut self, record: R, cx: &mut (M, C)) {
        self.0.push(record, &mut cx.1);
    }

    #[inline(always)]
    fn wants(&mut self, record: &R, cx: &mut (M, C)) -> bool {
        self.0.wants(record, &mut cx.1)
    }

    #[inline(always)]
    fn push_wanted(&mut self, record: R, cx: &mut (M, C)) {
        self.0.push_wanted(record, &mut cx.1);
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, cx: &mut (M, C)) {
        self.0.watermark(at_ms, &mut cx.1);
    }

    #[inline]
    fn system(&mut self, message: &mut System<'_>, cx: &mut (M, C)) {
        self.0.system(message, &mut cx.1);
    }
}
