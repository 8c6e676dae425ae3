//! How the stages of a job are laid out over machines: a compile-time choice, so that fused stages pay
//! nothing for the other one.

use std::marker::PhantomData;

use crate::context::Context;
use crate::exchange::ExchangeEntry;
use crate::exchange::addressed::Addressed;
use crate::exchange::combined::Combiner;
use crate::exchange::letterbox::Letterbox;
use crate::exchange::outbox::Outbox;
use crate::key::{Key, PortKey, Shuffled};
use crate::machine::Entry;
use crate::ports::{End, Plain, Sink};
use crate::push::Push;
use crate::record::Rec;

/// What stands where a shuffle separates two stages.
pub trait Layout: Sized + Send + 'static {
    /// The end of the upstream stage.
    type Border<K, T, C, N, B>: Push<Rec<K, T>, C> + Send + 'static
    where
        K: Key,
        T: Shuffled,
        C: Context,
        N: Push<Rec<K, T>, C> + Send + 'static,
        B: Combiner<Rec<K, T>>;

    /// The end of an output port.
    type End<K: PortKey, T: 'static, S: Sink<T>>: End<K, T>;

    /// Builds the end of the output port of this name.
    fn end<K: PortKey, T: 'static, S: Sink<T>>(port: &'static str, sink: S) -> Self::End<K, T, S>;

    /// Builds a border in front of `next`. `combiner` gives what may bring records together in front of so many
    /// machines of one process. `lift` makes an entry of the machine out of `next`, for layouts in
    /// which it is one: a node deep inside unions sees only the inner part of the machine's context.
    fn border<K, T, C, I, N, B, E>(
        assembly: &mut Assembly<Self, C>,
        queue: Queue<K, T>,
        combiner: fn(&N, usize) -> Option<B>,
        next: N,
        lift: fn(N) -> E,
    ) -> Self::Border<K, T, I, N, B>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        B: Combiner<Rec<K, T>>,
        E: Push<Rec<K, T>, C> + Send + 'static;
}

/// The type of what crosses one shuffle.
#[derive(Debug)]
pub struct Queue<K, T> {
    pub(crate) _type: PhantomData<fn() -> (K, T)>,
}

/// The part of a machine under construction that layouts work on.
pub struct Assembly<L, C> {
    pub(crate) layout: L,
    /// Wired downstream first, so the last one lies furthest upstream.
    pub(crate) exchanges: Vec<Box<dyn Entry<C>>>,
}

impl<L: std::fmt::Debug, C> std::fmt::Debug for Assembly<L, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembly").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// Makes `node` an entry of the machine and gives its number.
fn add_exchange<L, C, K, T, N>(
    assembly: &mut Assembly<L, C>,
    _queue: Queue<K, T>,
    n_senders: usize,
    node: N,
) -> usize
where
    C: Context,
    K: Key,
    T: Shuffled,
    N: Push<Rec<K, T>, C> + Send + 'static,
{
    let exchange = assembly.exchanges.len();
    assembly.exchanges.push(Box::new(ExchangeEntry::new(exchange, n_senders, node)));
    exchange
}

/// The whole job is one machine: a border is nothing at all.
#[derive(Debug, Clone, Copy)]
pub struct Fused;

impl Layout for Fused {
    type Border<K, T, C, N, B>
        = N
    where
        K: Key,
        T: Shuffled,
        C: Context,
        N: Push<Rec<K, T>, C> + Send + 'static,
        B: Combiner<Rec<K, T>>;
    type End<K: PortKey, T: 'static, S: Sink<T>> = Plain<S>;

    fn end<K: PortKey, T: 'static, S: Sink<T>>(_port: &'static str, sink: S) -> Plain<S> {
        Plain(sink)
    }

    fn border<K, T, C, I, N, B, E>(
        _assembly: &mut Assembly<Self, C>,
        _queue: Queue<K, T>,
        _combiner: fn(&N, usize) -> Option<B>,
        next: N,
        _lift: fn(N) -> E,
    ) -> N
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        B: Combiner<Rec<K, T>>,
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
    type Border<K, T, C, N, B>
        = Outbox<K, T, B>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        N: Push<Rec<K, T>, C> + Send + 'static,
        B: Combiner<Rec<K, T>>;
    type End<K: PortKey, T: 'static, S: Sink<T>> = Plain<S>;

    fn end<K: PortKey, T: 'static, S: Sink<T>>(_port: &'static str, sink: S) -> Plain<S> {
        Plain(sink)
    }

    fn border<K, T, C, I, N, B, E>(
        assembly: &mut Assembly<Self, C>,
        queue: Queue<K, T>,
        combiner: fn(&N, usize) -> Option<B>,
        next: N,
        lift: fn(N) -> E,
    ) -> Outbox<K, T, B>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        B: Combiner<Rec<K, T>>,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        let n_machines = assembly.layout.n_machines;
        let combiner = combiner(&next, n_machines);
        let exchange = add_exchange(assembly, queue, n_machines, lift(next));
        Outbox::new(exchange, n_machines, combiner)
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
    type Border<K, T, C, N, B>
        = Letterbox<K, T>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        N: Push<Rec<K, T>, C> + Send + 'static,
        B: Combiner<Rec<K, T>>;
    type End<K: PortKey, T: 'static, S: Sink<T>> = Addressed<S>;

    fn end<K: PortKey, T: 'static, S: Sink<T>>(port: &'static str, sink: S) -> Addressed<S> {
        Addressed::new(port, sink)
    }

    fn border<K, T, C, I, N, B, E>(
        assembly: &mut Assembly<Self, C>,
        queue: Queue<K, T>,
        _combiner: fn(&N, usize) -> Option<B>,
        next: N,
        lift: fn(N) -> E,
    ) -> Letterbox<K, T>
    where
        K: Key,
        T: Shuffled,
        C: Context,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        B: Combiner<Rec<K, T>>,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        let exchange = add_exchange(assembly, queue, 1, lift(next));
        let n_queues = assembly.layout.n_queues.get(exchange).copied().unwrap_or(1).max(1);
        Letterbox::new(exchange, n_queues)
    }
}
