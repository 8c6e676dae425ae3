//! What becomes of a pair, and of a record that stays alone: the four kinds of a join, each with a closure that takes
//! its records alone and with one that takes in front of them where they belong.

use crate::stream::Pure;

/// Where rows belong: their key and, where there is one, their window.
#[derive(Debug)]
pub struct At<'a, K, S> {
    /// The key of both sides.
    pub(crate) key: &'a K,
    /// The window; nothing where there is none.
    pub(crate) span: S,
}

impl<K, S: Copy> Clone for At<'_, K, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, S: Copy> Copy for At<'_, K, S> {}

/// The result of a join, as the user's closure over one or two records.
pub trait Pairing<K, S, A, B>: Pure {
    /// A row.
    type Out;
    /// Whether a left record that stays alone gives a row.
    const KEEPS_LEFT: bool;
    /// Whether a right record that stays alone gives a row.
    const KEEPS_RIGHT: bool;

    /// The row of a pair.
    fn both(&self, at: At<'_, K, S>, left: &A, right: &B) -> Self::Out;
    /// The row of a left record that stayed alone.
    fn left(&self, at: At<'_, K, S>, left: &A) -> Option<Self::Out>;
    /// The row of a right record that stayed alone.
    fn right(&self, at: At<'_, K, S>, right: &B) -> Option<Self::Out>;
}

/// A closure that asks for the key and the window in front of its records.
#[derive(Debug, Clone, Copy)]
pub struct Placed<F>(pub(crate) F);

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

impl<K, S: Copy, A, B, R, F: Fn(&A, &B) -> R + Pure> Pairing<K, S, A, B> for Inner<F> {
    type Out = R;
    const KEEPS_LEFT: bool = false;
    const KEEPS_RIGHT: bool = false;

    #[inline(always)]
    fn both(&self, _: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0)(left, right)
    }

    #[inline(always)]
    fn left(&self, _: At<'_, K, S>, _: &A) -> Option<R> {
        None
    }

    #[inline(always)]
    fn right(&self, _: At<'_, K, S>, _: &B) -> Option<R> {
        None
    }
}

impl<K, S: Copy, A, B, R, F: Fn(&K, S, &A, &B) -> R + Pure> Pairing<K, S, A, B> for Inner<Placed<F>> {
    type Out = R;
    const KEEPS_LEFT: bool = false;
    const KEEPS_RIGHT: bool = false;

    #[inline(always)]
    fn both(&self, at: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0.0)(at.key, at.span, left, right)
    }

    #[inline(always)]
    fn left(&self, _: At<'_, K, S>, _: &A) -> Option<R> {
        None
    }

    #[inline(always)]
    fn right(&self, _: At<'_, K, S>, _: &B) -> Option<R> {
        None
    }
}

impl<K, S: Copy, A, B, R, F: Fn(&A, Option<&B>) -> R + Pure> Pairing<K, S, A, B> for LeftOuter<F> {
    type Out = R;
    const KEEPS_LEFT: bool = true;
    const KEEPS_RIGHT: bool = false;

    #[inline(always)]
    fn both(&self, _: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0)(left, Some(right))
    }

    #[inline(always)]
    fn left(&self, _: At<'_, K, S>, left: &A) -> Option<R> {
        Some((self.0)(left, None))
    }

    #[inline(always)]
    fn right(&self, _: At<'_, K, S>, _: &B) -> Option<R> {
        None
    }
}

impl<K, S: Copy, A, B, R, F: Fn(&K, S, &A, Option<&B>) -> R + Pure> Pairing<K, S, A, B>
    for LeftOuter<Placed<F>>
{
    type Out = R;
    const KEEPS_LEFT: bool = true;
    const KEEPS_RIGHT: bool = false;

    #[inline(always)]
    fn both(&self, at: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0.0)(at.key, at.span, left, Some(right))
    }

    #[inline(always)]
    fn left(&self, at: At<'_, K, S>, left: &A) -> Option<R> {
        Some((self.0.0)(at.key, at.span, left, None))
    }

    #[inline(always)]
    fn right(&self, _: At<'_, K, S>, _: &B) -> Option<R> {
        None
    }
}

impl<K, S: Copy, A, B, R, F: Fn(Option<&A>, &B) -> R + Pure> Pairing<K, S, A, B> for RightOuter<F> {
    type Out = R;
    const KEEPS_LEFT: bool = false;
    const KEEPS_RIGHT: bool = true;

    #[inline(always)]
    fn both(&self, _: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0)(Some(left), right)
    }

    #[inline(always)]
    fn left(&self, _: At<'_, K, S>, _: &A) -> Option<R> {
        None
    }

    #[inline(always)]
    fn right(&self, _: At<'_, K, S>, right: &B) -> Option<R> {
        Some((self.0)(None, right))
    }
}

impl<K, S: Copy, A, B, R, F: Fn(&K, S, Option<&A>, &B) -> R + Pure> Pairing<K, S, A, B>
    for RightOuter<Placed<F>>
{
    type Out = R;
    const KEEPS_LEFT: bool = false;
    const KEEPS_RIGHT: bool = true;

    #[inline(always)]
    fn both(&self, at: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0.0)(at.key, at.span, Some(left), right)
    }

    #[inline(always)]
    fn left(&self, _: At<'_, K, S>, _: &A) -> Option<R> {
        None
    }

    #[inline(always)]
    fn right(&self, at: At<'_, K, S>, right: &B) -> Option<R> {
        Some((self.0.0)(at.key, at.span, None, right))
    }
}

impl<K, S: Copy, A, B, R, F: Fn(Option<&A>, Option<&B>) -> R + Pure> Pairing<K, S, A, B> for Full<F> {
    type Out = R;
    const KEEPS_LEFT: bool = true;
    const KEEPS_RIGHT: bool = true;

    #[inline(always)]
    fn both(&self, _: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0)(Some(left), Some(right))
    }

    #[inline(always)]
    fn left(&self, _: At<'_, K, S>, left: &A) -> Option<R> {
        Some((self.0)(Some(left), None))
    }

    #[inline(always)]
    fn right(&self, _: At<'_, K, S>, right: &B) -> Option<R> {
        Some((self.0)(None, Some(right)))
    }
}

impl<K, S: Copy, A, B, R, F: Fn(&K, S, Option<&A>, Option<&B>) -> R + Pure> Pairing<K, S, A, B>
    for Full<Placed<F>>
{
    type Out = R;
    const KEEPS_LEFT: bool = true;
    const KEEPS_RIGHT: bool = true;

    #[inline(always)]
    fn both(&self, at: At<'_, K, S>, left: &A, right: &B) -> R {
        (self.0.0)(at.key, at.span, Some(left), Some(right))
    }

    #[inline(always)]
    fn left(&self, at: At<'_, K, S>, left: &A) -> Option<R> {
        Some((self.0.0)(at.key, at.span, Some(left), None))
    }

    #[inline(always)]
    fn right(&self, at: At<'_, K, S>, right: &B) -> Option<R> {
        Some((self.0.0)(at.key, at.span, None, Some(right)))
    }
}
