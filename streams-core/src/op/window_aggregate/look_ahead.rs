//! Which rows records to come will need, while a split is loaded.

use super::WindowAggregate;
use super::tags::pane_tag;
use crate::aggregate::Aggregates;
use crate::ahead::Ahead;
use crate::key::Key;

impl<K: Key, T, A: Aggregates<T>, F> WindowAggregate<K, T, A, F> {
    /// The rows that records to come will need and that are not here.
    pub(super) fn look_ahead(&mut self, ahead: &mut Ahead<'_>) {
        let Some(unread_ms) = self.unread_ms else { return };
        self.cool();
        for (key, ts) in ahead.keys::<K>() {
            let start = self.spans.pane(*ts);
            let is_here = self.panes.get(&start).is_some_and(|pane| pane.rows.contains_key(key));
            if start >= unread_ms && !is_here {
                ahead.want(self.id, &pane_tag(start), key);
            }
        }
    }
}
