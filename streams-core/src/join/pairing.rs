//! What becomes of a pair, and of a record that stays alone: the four kinds of a join.

use crate::stream::Pure;

/// The result of a join, as the user's closure over one or two records.
pub trait Pairing<A, B>: Pure {
    /// A row.
    type Out;
    /// Whether a left record that stays alone gives a row.
    const KEEPS_LEFT: bool;
    /// Whether a right record that stays alone gives a row.
    const KEEPS_RIGHT: bool;

    /// The row of a pair.
    fn both(&self, left: &A, right: &B) -> Self::Out;
    /// The row of a left record that stayed alone.
    fn left(&self, left: &A) -> Option<Self::Out>;
    /// The row of a right record that stayed alone.
    fn right(&self, right: &B) -> Option<Self::Out>;
}

/// Pairs only.
#[derive(Debug, Clone, Copy)]
pub struct Inner<F>(pub(crate) F);

/// Pairs, and left records that stay alone.
#[derive(Debug, Clone, Copy)]
pub struct LeftOuter<F>(pub(crate) F);

/// Pairs, and right records that stay alone.
#[derive(Debug, Clone, Copy)]
pub struct RightOuter<F>(pub(crate) F);

/// Pairs, and records of either side that stay alone.
#[derive(Debug, Clone, Copy)]
pub struct Full<F>(pub(crate) F);

impl<A, B, R, F: Fn(&A, &B) -> R + Pure> Pairing<A, B> for Inner<F> {
    type Out = R;
    const KEEPS_LEFT: bool = false;
    const KEEPS_RIGHT: bool = false;

    #[inline(always)]
    fn both(&self, left: &A, right: &B) -> R {
        (self.0)(left, right)
    }

    fn left(&self, _: &A) -> Option<R> {
        None
    }

    fn right(&self, _: &B) -> Option<R> {
        None
    }
}

impl<A, B, R, F: Fn(&A, Option<&B>) -> R + Pure> Pairing<A, B> for LeftOuter<F> {
    type Out = R;
    const KEEPS_LEFT: bool = true;
    const KEEPS_RIGHT: bool = false;

    #[inline(always)]
    fn both(&self, left: &A, right: &B) -> R {
        (self.0)(left, Some(right))
    }

    fn left(&self, left: &A) -> Option<R> {
        Some((self.0)(left, None))
    }

    fn right(&self, _: &B) -> Option<R> {
        None
    }
}

impl<A, B, R, F: Fn(Option<&A>, &B) -> R + Pure> Pairing<A, B> for RightOuter<F> {
    type Out = R;
    const KEEPS_LEFT: bool = false;
    const KEEPS_RIGHT: bool = true;

    #[inline(always)]
    fn both(&self, left: &A, right: &B) -> R {
        (self.0)(Some(left), right)
    }

    fn left(&self, _: &A) -> Option<R> {
        None
    }

    fn right(&self, right: &B) -> Option<R> {
        Some((self.0)(None, right))
    }
}

impl<A, B, R, F: Fn(Option<&A>, Option<&B>) -> R + Pure> Pairing<A, B> for Full<F> {
    type Out = R;
    const KEEPS_LEFT: bool = true;
    const KEEPS_RIGHT: bool = true;

    #[inline(always)]
    fn both(&self, left: &A, right: &B) -> R {
        (self.0)(Some(left), Some(right))
    }

    fn left(&self, left: &A) -> Option<R> {
        Some((self.0)(Some(left), None))
    }

    fn right(&self, right: &B) -> Option<R> {
        Some((self.0)(None, Some(right)))
    }
}
