//! `filter_map`: Turns each record into another or drops it.

use crate::context::Context;
use crate::push::{Operator, Push};
use crate::record::Rec;

/// Turns each record into another or drops it.
///
/// **State** none. **Time** watermarks pass unchanged; a record keeps its event time and its key.
#[derive(Debug, Clone, Copy)]
pub struct FilterMap<F>(pub(crate) F);

impl<K, T, U, F> Operator<Rec<K, T>> for FilterMap<F>
where
    F: Fn(T) -> Option<U>,
{
    type Out = Rec<K, U>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        if let Some(val) = (self.0)(record.val) {
            next.push(Rec { ts: record.ts, key: record.key, val }, cx);
        }
    }
}
