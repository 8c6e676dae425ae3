//! Unions of streams: what the expansion calls in the place of `union`.

use super::{Stream, restart};
use crate::chain::{Closed, Id};
use crate::record::Rec;
use crate::window::NoWindow;

/// Two streams, whatever they are of.
pub trait Sides {
    /// The records of the first.
    type Left;
    /// The records of the second.
    type Right;
}

impl<T, U, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb> Sides
    for (Stream<T, K, Tm, NoWindow, Oa, Ha>, Stream<U, K2, Tm2, NoWindow, Ob, Hb>)
{
    type Left = T;
    type Right = U;
}

/// Two streams that differ in nothing but their records.
#[diagnostic::on_unimplemented(
    message = "the two streams of this union have different keys, or only one of them has event time",
    label = "its streams differ in more than their records",
    note = "write `.key_by(..)` behind the union, or in front of it on both sides with keys of one type; write `.event_time(..)` on both sides, or behind the union"
)]
pub trait Alike {
    /// The ends of both, and the stream behind them.
    type Ended;

    /// Ends both.
    fn end(self) -> Self::Ended;
}

#[diagnostic::do_not_recommend]
impl<T, U, K, Tm, Oa, Ha, Ob, Hb> Alike
    for (Stream<T, K, Tm, NoWindow, Oa, Ha>, Stream<U, K, Tm, NoWindow, Ob, Hb>)
{
    type Ended = (Closed<Oa, Ha>, Closed<Ob, Hb>, Stream<T, K, Tm, NoWindow, Id, Rec<K, T>>);

    fn end(self) -> Self::Ended {
        (self.0.close(), self.1.close(), restart())
    }
}

/// Two streams with records of one type.
#[diagnostic::on_unimplemented(
    message = "the two streams of this union have records of different types: `{T}` and `{U}`",
    label = "`{T}` and `{U}` in one stream",
    note = "write `.map(..)` behind one of the two, which turns its records into those of the other"
)]
pub trait Unites<T, U> {
    crate::proof::told_once!(Unites<T, U>);
}

#[diagnostic::do_not_recommend]
impl<T, K, K2, Tm, Tm2, Oa, Ha, Ob, Hb> Unites<T, T>
    for (Stream<T, K, Tm, NoWindow, Oa, Ha>, Stream<T, K2, Tm2, NoWindow, Ob, Hb>)
{
    crate::proof::holds!();
}

/// Ends two streams in front of what they share.
///
/// They come as one argument: rustc would take the second of two for what it knows of the first, and say how it is not.
pub fn union<P, T, U>(streams: P) -> P::Proven<P::Ended>
where
    P: Sides<Left = T, Right = U> + Alike + Unites<T, U>,
{
    P::proven(streams.end())
}
