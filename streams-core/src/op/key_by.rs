//! `key_by`: gives each record a key; behind it the stream is partitioned by that key.

use std::marker::PhantomData;

use crate::context::Context;
use crate::push::{Operator, Push};
use crate::record::Rec;

/// Gives each record a key and ends the stage: records of one key meet in one machine, in order.
///
/// **State** none. **Time** watermarks pass unchanged; a record keeps its event time.
#[derive(Debug, Clone, Copy)]
pub struct KeyBy<F, K>(pub(crate) F, pub(crate) PhantomData<fn() -> K>);

impl<K0, K, T, F: Fn(&T) -> K> Operator<Rec<K0, T>> for KeyBy<F, K> {
    type Out = Rec<K, T>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K0, T>, next: &mut N, cx: &mut C) {
        let key = (self.0)(&record.val);
        next.push(Rec { ts: record.ts, key, val: record.val }, cx);
    }
}
