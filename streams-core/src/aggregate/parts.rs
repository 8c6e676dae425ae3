//! Where an aggregate can stand: windows made of parts need states that can be merged.

use crate::aggregate::{
    Acc, ApproxCountDistinct, Avg, Collect, Count, CountDistinct, First, FoldMerge, Last, Max, MaxBy, Min,
    MinBy, Quantile, Quantiles, Reduce, Sum, TopK,
};
use crate::window::{CountWindow, Global, Hopping, Running, Session, Tumbling, Updating};

/// An aggregate whose states of two parts become that of the whole.
#[diagnostic::on_unimplemented(
    message = "a `fold` cannot stand in a window that is put together from parts",
    label = "knows how to add a record, but not how to join what was folded in two parts",
    note = "say how with `fold_merge(start, |acc, r| .., |acc, behind| ..)`, or use windows that have one part, such as `tumbling(..)`"
)]
pub trait Mergeable {}

// The one that rustc shows as an example.
impl Mergeable for Count {}

macro_rules! mergeable {
    ($($name:ident<$($parameter:ident),*>)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($parameter),*> Mergeable for $name<$($parameter),*> {}
    )*};
}

mergeable! {
    Acc<A, T, F, V> ApproxCountDistinct<T, F, V> Avg<T, F, R> Collect<T, F, V> CountDistinct<T, F, V>
    First<T, F, V> FoldMerge<T, S, F, M> Last<T, F, V> Max<T, F, R> MaxBy<T, F, K, G, V> Min<T, F, R>
    MinBy<T, F, K, G, V> Quantile<T, F, R> Reduce<T, F, V, G> Sum<T, F, R> TopK<T, F, V>
}

#[diagnostic::do_not_recommend]
impl<T, F, R, const N: usize> Mergeable for Quantiles<T, F, R, N> {}

/// Aggregates that can stand in windows of this kind.
pub trait StandsIn<W> {}

#[diagnostic::do_not_recommend]
impl<A> StandsIn<Tumbling> for A {}
#[diagnostic::do_not_recommend]
impl<A, R> StandsIn<Running<R>> for A {}
#[diagnostic::do_not_recommend]
impl<A, R> StandsIn<CountWindow<R>> for A {}
#[diagnostic::do_not_recommend]
impl<A, R> StandsIn<Global<R>> for A {}
impl<A: StandsIn<W>, W> StandsIn<Updating<W>> for A {}
// Of these the tuples are looked into, beside which `aggregate.rs` has them: what is not `Mergeable` says what to
// write.
impl StandsIn<Hopping> for () {}
impl StandsIn<Session> for () {}
