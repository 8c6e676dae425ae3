//! `try_map`: a map that may fail; what fails becomes a dead letter and its neighbours go on.

use std::fmt::Display;

use serde::Serialize;

use crate::context::Context;
use crate::effects::Origin;
use crate::push::{Operator, Push};
use crate::record::Rec;

/// Turns each record into another; an `Err` is a dead letter with the record and the reason.
///
/// **State** none. **Time** watermarks pass unchanged; a record keeps its event time and its key.
#[derive(Debug, Clone, Copy)]
pub struct TryMap<F> {
    pub(crate) id: &'static str,
    pub(crate) f: F,
}

impl<K, T, U, E, F> Operator<Rec<K, T>> for TryMap<F>
where
    T: Serialize,
    E: Display,
    F: Fn(&T) -> Result<U, E>,
{
    type Out = Rec<K, U>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K, T>, next: &mut N, cx: &mut C) {
        match (self.f)(&record.val) {
            Ok(val) => next.push(Rec { ts: record.ts, key: record.key, val }, cx),
            Err(error) => {
                let cx = cx.base();
                // The source's own bytes say more than what became of them; without them, the value does.
                let value = match cx.origin {
                    Origin::Batch(_) => None,
                    Origin::None => serde_json::to_string(&record.val).ok(),
                };
                cx.reject(self.id, error.to_string(), value);
            }
        }
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = id;
    }
}
