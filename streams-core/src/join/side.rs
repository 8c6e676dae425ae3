//! The tag of a record on its way to a join: which side it comes from.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::SameKey;
use crate::context::Context;
use crate::push::{Operator, Push};
use crate::record::Rec;

/// A record of one side of a join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side<A, B> {
    /// Of the stream that `join` was called on.
    Left(A),
    /// Of its argument.
    Right(B),
}

/// Tags the records of the left side.
#[derive(Debug)]
pub struct TagLeft<B>(pub(crate) PhantomData<fn() -> B>);

impl<K, A, B> Operator<Rec<K, A>> for TagLeft<B> {
    type Out = Rec<K, Side<A, B>>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, A>, next: &mut N, cx: &mut C) {
        next.push(Rec { ts: record.ts, key: record.key, val: Side::Left(record.val) }, cx);
    }
}

/// Tags the records of the right side, whose key is called as that of the left one.
#[derive(Debug)]
pub struct TagRight<K, A>(pub(crate) PhantomData<fn() -> (K, A)>);

impl<K, K2: SameKey<K>, A, B> Operator<Rec<K2, B>> for TagRight<K, A> {
    type Out = Rec<K, Side<A, B>>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K2, B>, next: &mut N, cx: &mut C) {
        next.push(Rec { ts: record.ts, key: record.key.same(), val: Side::Right(record.val) }, cx);
    }
}
