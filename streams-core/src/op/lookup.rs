//! `lookup(table, ..)` and `left_lookup`: each record with the row of its key in a table beside the job.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::context::Context;
use crate::error::StateError;
use crate::join::{At, Pairing};
use crate::lookup::{Content, KeyOf, NotFetched, Shared, TableKey, TableRow};
use crate::push::{Operator, Push, System};
use crate::record::Rec;

/// Joins each record with the row of its key; the row is the one that the table had when the driver last said that
/// machines may look again, in front of a batch.
///
/// **Shape** `Stream<T, K>` and a table of `V` to `Stream<R, K>`. **State** none: rows are kept beside the machine,
/// shared by all of a job, so the stage is held. **Time** a record keeps its event time; watermarks pass unchanged.
pub struct Lookup<K, V, F, P> {
    id: &'static str,
    address: Arc<str>,
    key: F,
    key_of: KeyOf<K, V>,
    pairing: P,
    /// Once a driver has said where rows are.
    shared: Option<Arc<Shared<K, V>>>,
    version: u64,
    content: Content<K, V>,
    _types: PhantomData<fn() -> (K, V)>,
}

impl<K, V, F, P> std::fmt::Debug for Lookup<K, V, F, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").field("id", &self.id).field("address", &self.address).finish_non_exhaustive()
    }
}

impl<K: 'static, V: 'static, F, P> Lookup<K, V, F, P> {
    pub(crate) fn new(
        id: &'static str,
        address: Arc<str>,
        key: F,
        key_of: impl Fn(&V) -> K + Send + Sync + 'static,
        pairing: P,
    ) -> Self {
        let key_of: KeyOf<K, V> = Arc::new(key_of);
        let content = Content::default();
        Self { id, address, key, key_of, pairing, shared: None, version: 0, content, _types: PhantomData }
    }
}

impl<K: TableKey, V: TableRow, F, P> Lookup<K, V, F, P> {
    fn look_again(&mut self) {
        if let Some((version, content)) = self.shared.as_ref().and_then(|shared| shared.newer(self.version)) {
            (self.version, self.content) = (version, content);
        }
    }

    /// The result for a record, if there is one.
    #[inline(always)]
    fn joined<T, C: Context>(&self, val: &T, cx: &mut C) -> Option<P::Out>
    where
        F: Fn(&T) -> K,
        P: Pairing<K, (), T, V>,
    {
        let key = (self.key)(val);
        let at = At { key: &key, span: () };
        match &self.content {
            Content::Whole(rows) => match rows.get(&key) {
                Some(row) => Some(self.pairing.both(at, val, row)),
                None => self.pairing.left(at, val),
            },
            Content::Each(each) => match each.row(&key) {
                Ok(Some(row)) => Some(self.pairing.both(at, val, row.as_ref())),
                Ok(None) => self.pairing.left(at, val),
                Err(NotFetched::Bad(why)) => {
                    cx.base().reject(self.id, why, None);
                    None
                }
                Err(NotFetched::Away(why)) => cx.base().fail(StateError::Away(why)),
            },
        }
    }
}

impl<K0, T, K, V, F, P> Operator<Rec<K0, T>> for Lookup<K, V, F, P>
where
    K: TableKey,
    V: TableRow,
    F: Fn(&T) -> K,
    P: Pairing<K, (), T, V>,
{
    type Out = Rec<K0, P::Out>;

    #[inline(always)]
    fn push<C: Context, N: Push<Self::Out, C>>(&mut self, record: Rec<K0, T>, next: &mut N, cx: &mut C) {
        let Rec { ts, key, val } = record;
        if let Some(val) = self.joined(&val, cx) {
            next.push(Rec { ts, key, val }, cx);
        }
    }

    fn system<C: Context, N: Push<Self::Out, C>>(
        &mut self,
        message: &mut System<'_>,
        next: &mut N,
        cx: &mut C,
    ) {
        match message {
            System::Tables(tables) => {
                self.shared = Some(tables.bind(self.id, &self.address, &self.key_of));
                self.look_again();
            }
            System::Refresh => self.look_again(),
            System::Reach(reach) => {
                reach.tables.insert(Arc::clone(&self.address));
            }
            _ => {}
        }
        next.system(message, cx);
    }

    fn set_id(&mut self, id: &'static str) {
        self.id = id;
    }
}
