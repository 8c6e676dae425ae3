//! How the stages of a job are laid out over machines: a compile-time choice, so that fused stages pay
//! nothing for the other one.

use std::marker::PhantomData;

use crate::codec;
use crate::context::Context;
use crate::effects::{Parcel, Run};
use crate::error::CodecError;
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

/// Makes `node` an entry of the machine and gives its number.
fn add_exchange<L, C, K, T, N>(assembly: &mut Assembly<L, C>, _queue: Queue<K, T>, node: N) -> usize
where
    C: Context,
    K: Key,
    T: Shuffled,
    N: Push<Rec<K, T>, C> + Send + 'static,
{
    let exchange = assembly.exchanges.len();
    assembly.exchanges.push(Box::new(ExchangeEntry {
        id: OperatorId::exchange(exchange),
        watermark_ms: UNTIMED,
        node,
        _type: PhantomData::<fn() -> (K, T)>,
    }));
    exchange
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
        queue: Queue<K, T>,
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
        let exchange = add_exchange(assembly, queue, lift(next));
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
        if let System::Reach(reach) = message {
            reach.exchanges.insert(self.exchange);
        }
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

/// Every stage is a machine of its own for each queue of its topic: a border encodes each record for the queue
/// that its key belongs to.
#[derive(Debug, Clone)]
pub struct Sharded {
    /// How many queues each shuffle has, by the number of the exchange; a missing number is one queue.
    pub n_queues: Vec<usize>,
}

impl Layout for Sharded {
    type Border<K: Key, T: Shuffled, C: Context, N: Push<Rec<K, T>, C> + Send + 'static> = Letterbox<K, T>;

    fn border<K, T, C, I, N, E>(
        assembly: &mut Assembly<Self, C>,
        queue: Queue<K, T>,
        next: N,
        lift: fn(N) -> E,
    ) -> Letterbox<K, T>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        let exchange = add_exchange(assembly, queue, lift(next));
        let n_queues = assembly.layout.n_queues.get(exchange).copied().unwrap_or(1).max(1);
        let runs = vec![Run::default(); n_queues];
        Letterbox { exchange, runs, watermark_ms: UNTIMED, scratch: Vec::new(), _type: PhantomData }
    }
}

/// The writing end of a shuffle through a topic: one run of encoded records per queue, emptied at each drain.
///
/// A record is its watermark and event time (8 bytes each, little endian), its key and its value.
#[derive(Debug)]
pub struct Letterbox<K, T> {
    exchange: usize,
    runs: Vec<Run>,
    watermark_ms: i64,
    scratch: Vec<u8>,
    _type: PhantomData<fn(K, T)>,
}

impl<K: Key, T: Shuffled> Letterbox<K, T> {
    fn post(&mut self, record: &Rec<K, T>) -> Result<(), CodecError> {
        let owner = key::owner(&record.key, self.runs.len(), &mut self.scratch)?;
        let Some(run) = self.runs.get_mut(owner) else { return Ok(()) };
        let start = run.bytes.len();
        run.bytes.extend_from_slice(&[0; 4]);
        run.bytes.extend_from_slice(&self.watermark_ms.to_le_bytes());
        run.bytes.extend_from_slice(&record.ts.to_le_bytes());
        run.bytes.extend_from_slice(&(self.scratch.len() as u32).to_le_bytes());
        run.bytes.extend_from_slice(&self.scratch);
        if let Err(error) = codec::to_vec(&record.val, &mut run.bytes) {
            run.bytes.truncate(start);
            return Err(error);
        }
        let len = (run.bytes.len() - start - 4) as u32;
        if let Some(place) = run.bytes.get_mut(start..start + 4) {
            place.copy_from_slice(&len.to_le_bytes());
        }
        run.len += 1;
        Ok(())
    }
}

impl<K: Key, T: Shuffled, C: Context> Push<Rec<K, T>, C> for Letterbox<K, T> {
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        if let Err(error) = self.post(&record) {
            cx.base().reject("key_by", format!("the record cannot be encoded: {error}"), None);
        }
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, _cx: &mut C) {
        self.watermark_ms = at_ms;
    }

    fn system(&mut self, message: &mut System<'_>, _cx: &mut C) {
        match message {
            System::Reach(reach) => {
                reach.exchanges.insert(self.exchange);
            }
            System::Drain(effects) => {
                let watermark_ms = self.watermark_ms;
                let runs = self.runs.iter_mut().map(|run| Run { watermark_ms, ..std::mem::take(run) });
                effects.set_runs(self.exchange, runs.collect());
            }
            _ => {}
        }
    }
}

/// Reads a record that a [`Letterbox`] wrote.
pub(crate) fn decode<K: Key, T: Shuffled>(bytes: &[u8]) -> Result<Rec<K, T>, CodecError> {
    let short = || CodecError::Truncated { at: bytes.len(), what: "a shuffled record" };
    let (_watermark, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let (ts, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    let (key_len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (key, val) = rest.split_at_checked(u32::from_le_bytes(*key_len) as usize).ok_or_else(short)?;
    Ok(Rec { ts: i64::from_le_bytes(*ts), key: codec::key_from_slice(key)?, val: codec::from_slice(val)? })
}

/// The watermark that a shuffled record carries: its sender's, the record included.
#[must_use]
pub fn carried_watermark(bytes: &[u8]) -> i64 {
    bytes.first_chunk::<8>().map_or(UNTIMED, |watermark| i64::from_le_bytes(*watermark))
}
