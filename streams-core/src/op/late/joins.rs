//! The joins as operators with latecomers: a record of either side, with its tag.

use super::LateOperator;
use crate::context::Context;
use crate::join::{Pairing, Side};
use crate::key::{Key, Shuffled};
use crate::op::interval_join::IntervalJoin;
use crate::op::window_join::WindowJoin;
use crate::push::{Operator, Push};
use crate::record::Rec;
use crate::time::Window;

impl<K: Key, A: Shuffled, B: Shuffled, P: Pairing<K, Window, A, B>> LateOperator<Rec<K, Side<A, B>>>
    for WindowJoin<K, A, B, P>
{
    #[inline]
    fn push_late<C, L, N>(&mut self, record: Rec<K, Side<A, B>>, late: &mut L, _next: &mut N, cx: &mut C)
    where
        C: Context,
        L: Push<Rec<K, Side<A, B>>, C>,
        N: Push<<Self as Operator<Rec<K, Side<A, B>>>>::Out, C>,
    {
        if let Some(record) = self.take(record) {
            late.push(record, cx);
        }
    }
}

impl<K: Key, A: Shuffled, B: Shuffled, P: Pairing<K, (), A, B>> LateOperator<Rec<K, Side<A, B>>>
    for IntervalJoin<K, A, B, P>
{
    #[inline]
    fn push_late<C, L, N>(&mut self, record: Rec<K, Side<A, B>>, late: &mut L, next: &mut N, cx: &mut C)
    where
        C: Context,
        L: Push<Rec<K, Side<A, B>>, C>,
        N: Push<<Self as Operator<Rec<K, Side<A, B>>>>::Out, C>,
    {
        if let Some(record) = self.take(record, next, cx) {
            late.push(record, cx);
        }
    }
}
