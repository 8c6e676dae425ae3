//! `flat_map`: Turns each record into any number of others, in the order of the iterator.

use crate::context::Context;
use crate::push::{Operator, Push};
use crate::record::Rec;

/// Turns each record into any number of others, in the order of the iterator.
///
/// **State** none. **Time** watermarks pass unchanged; a record keeps its event time and its key.
#[derive(Debug, Clone, Copy)]
pub struct FlatMap<F>(pub(crate) F);

impl<K: Clone, T, I, F> Operator<Rec<K, T>> for FlatMap<F>
where
    F: Fn(T) -> I,
    I: IntoIterator,
{
    type Out = Rec<K, I::Item>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        for val in (self.0)(record.val) {
            next.push(Rec { ts: record.ts, key: record.key.clone(), val }, cx);
        }
    }
}
