//! `inspect`: Looks at each record and passes it on.

use crate::context::Context;
use crate::push::{Operator, Push};
use crate::record::Rec;

/// Looks at each record and passes it on.
///
/// **State** none. **Time** watermarks pass unchanged; a record keeps its event time and its key.
#[derive(Debug, Clone, Copy)]
pub struct Inspect<F>(pub(crate) F);

impl<K, T, F> Operator<Rec<K, T>> for Inspect<F>
where
    F: Fn(&T),
{
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        (self.0)(&record.val);
        next.push(record, cx);
    }

    #[inline(always)]
    fn wants<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        record: &Rec<K, T>,
        next: &mut N,
        cx: &mut C,
    ) -> bool {
        (self.0)(&record.val);
        next.wants(record, cx)
    }

    #[inline(always)]
    fn push_wanted<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        record: Rec<K, T>,
        next: &mut N,
        cx: &mut C,
    ) {
        next.push_wanted(record, cx);
    }
}
