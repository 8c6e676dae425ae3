//! How the stages of a job are laid out over machines: a compile-time choice, so that fused stages pay
//! nothing for the other one.

use std::marker::PhantomData;

use crate::context::Context;
use crate::effects::Parcel;
use crate::key::{self, Key, Shuffled};
use crate::machine::{ExchangeEntry, Shipped};
use crate::plan::{Assembly, Queue};
use crate::push::{Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// What stands where a shuffle separates two stages.
pub trait Layout: Sized + Send + 'static {
    /// The end of the upstream stage.
    type Border<K: Key, T: Shuffled, C: Context, N: Push<Rec<K, T>, C> + Send + 'static>: Push<Rec<K, T>, C>
        + Send
        + 'static;

    /// Builds a border in front of `next`. `lift` makes an entry of the machine out of `next`, for layouts in
    /// which it is one: a node deep inside unions sees only the inner part of the machine's context.
    fn border<K, T, C, I, N, E>(
        assembly: &mut Assembly<Self, C>,
        queue: Queue<K, T>,
        next: N,
        lift: fn(N) -> E,
    ) -> Self::Border<K, T, I, N>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        E: Push<Rec<K, T>, C> + Send + 'static;
}

/// The whole job is one machine: a border is nothing at all.
#[derive(Debug, Clone, Copy)]
pub struct Fused;

impl Layout for Fused {
    type Border<K: Key, T: Shuffled, C: Context, N: Push<Rec<K, T>, C> + Send + 'static> = N;

    fn border<K, T, C, I, N, E>(
        _assembly: &mut Assembly<Self, C>,
        _queue: Queue<K, T>,
        next: N,
        _lift: fn(N) -> E,
    ) -> N
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        next
    }
}

/// Several machines in one process share the job by key: a border sends each record to the machine that owns
/// its key.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged {
    /// How many machines there are.
    pub n_machines: usize,
}

impl Layout for Exchanged {
    type Border<K: Key, T: Shuffled, C: Context, N: Push<Rec<K, T>, C> + Send + 'static> = Outbox<K, T>;

    fn border<K, T, C, I, N, E>(
        assembly: &mut Assembly<Self, C>,
        _queue: Queue<K, T>,
        next: N,
        lift: fn(N) -> E,
    ) -> Outbox<K, T>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        let n_machines = assembly.layout.n_machines;
        let exchange = assembly.exchanges.len();
        assembly.exchanges.push(Box::new(ExchangeEntry {
            id: OperatorId::exchange(exchange),
            watermark_ms: UNTIMED,
            node: lift(next),
            _type: PhantomData::<fn() -> (K, T)>,
        }));
        let mut bins = Vec::new();
        bins.resize_with(n_machines, Vec::new);
        Outbox { exchange, bins, watermark_ms: UNTIMED, scratch: Vec::new() }
    }
}

/// The writing end of a shuffle: one bin per machine, emptied into parcels at each drain.
#[derive(Debug)]
pub struct Outbox<K, T> {
    exchange: usize,
    bins: Vec<Shipped<K, T>>,
    watermark_ms: i64,
    scratch: Vec<u8>,
}

impl<K: Key, T: Shuffled, C: Context> Push<Rec<K, T>, C> for Outbox<K, T> {
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        match key::owner(&record.key, self.bins.len(), &mut self.scratch) {
            Ok(owner) => {
                if let Some(bin) = self.bins.get_mut(owner) {
                    bin.push((self.watermark_ms, record));
                }
            }
            Err(error) => cx.base().reject("key_by", format!("the key cannot be encoded: {error}"), None),
        }
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, _cx: &mut C) {
        self.watermark_ms = at_ms;
    }

    fn system(&mut self, message: &mut System<'_>, _cx: &mut C) {
        // The stage behind hears system messages through its own entry, in order with its own input.
        if let System::Drain(effects) = message {
            let parcels = self.bins.iter_mut().map(|bin| {
                let records = std::mem::take(bin);
                bin.reserve(records.len());
                Parcel { len: records.len(), records: Box::new(records), watermark_ms: self.watermark_ms }
            });
            effects.set_parcels(self.exchange, parcels.collect());
        }
    }
}
