//! The way of parcels between the machines of one process: who sends to whom, and what waits to be sent.
//!
//! Nothing here says when: the rounds of [`super::worker`] and of [`crate::embed`] do.

use std::sync::mpsc::{Receiver, Sender, channel};

use streams_core::batch::Batch;
use streams_core::effects::{Effects, Parcel};
use streams_core::machine::Machine;

/// Another worker is gone, and that one knows why.
#[derive(Debug)]
pub(crate) struct Orphaned;

/// One worker's ends of all ways.
#[derive(Debug)]
pub(crate) struct Shuffle {
    /// To each worker, itself included.
    to: Vec<Sender<Vec<Parcel>>>,
    /// From each worker, itself included.
    from: Vec<Receiver<Vec<Parcel>>>,
    /// By exchange, then by worker: what is waiting to be sent.
    waiting: Vec<Vec<Vec<Parcel>>>,
}

/// The ends of `n` workers, each connected with every one.
pub(crate) fn mesh(n: usize) -> Vec<Shuffle> {
    let mut all: Vec<Shuffle> =
        (0..n).map(|_| Shuffle { to: Vec::new(), from: Vec::new(), waiting: Vec::new() }).collect();
    for sender in 0..n {
        let mut to = Vec::new();
        for receiver in &mut all {
            let (sends, receives) = channel();
            to.push(sends);
            receiver.from.push(receives);
        }
        if let Some(sender) = all.get_mut(sender) {
            sender.to = to;
        }
    }
    all
}

impl Shuffle {
    /// Puts what was drained behind what is waiting, for the exchanges below `below`; the others have had their
    /// turn, and nothing comes behind them in the same round.
    pub(crate) fn gather(&mut self, effects: &mut Effects, below: usize) {
        self.waiting.resize_with(self.waiting.len().max(effects.parcels.len()), Vec::new);
        for (index, (waiting, parcels)) in self.waiting.iter_mut().zip(&mut effects.parcels).enumerate() {
            waiting.resize_with(self.to.len(), Vec::new);
            if index >= below {
                debug_assert!(
                    parcels.iter().all(Parcel::is_empty),
                    "shuffles send on to smaller numbers only"
                );
                continue;
            }
            for (waiting, parcel) in waiting.iter_mut().zip(parcels.drain(..)) {
                waiting.push(parcel);
            }
        }
    }

    /// Sends what is waiting for an exchange.
    pub(crate) fn send(&mut self, exchange: usize) -> Result<(), Orphaned> {
        let Some(waiting) = self.waiting.get_mut(exchange) else { return Ok(()) };
        for (to, parcels) in self.to.iter().zip(waiting) {
            to.send(std::mem::take(parcels)).map_err(|_| Orphaned)?;
        }
        Ok(())
    }

    /// Feeds what comes through an exchange to its entry, in the order of the senders from `first` on; `call` runs
    /// each sender's share.
    pub(crate) fn receive<E: From<Orphaned>>(
        &mut self,
        exchange: usize,
        first: usize,
        machine: &mut dyn Machine,
        mut call: impl FnMut(&mut dyn FnMut()) -> Result<(), E>,
    ) -> Result<(), E> {
        let entry = machine.n_sources() + exchange;
        let senders = self.from.iter().enumerate();
        for (sender, from) in senders.clone().skip(first).chain(senders.take(first)) {
            let parcels = from.recv().map_err(|_| Orphaned)?;
            let mut parcels = Some(parcels);
            call(&mut || {
                for parcel in parcels.take().into_iter().flatten() {
                    machine.feed(entry, Batch::Parcel { sender, parcel });
                }
            })?;
        }
        Ok(())
    }

    /// Forgets what is waiting.
    pub(crate) fn clear(&mut self) {
        self.waiting.iter_mut().flatten().for_each(Vec::clear);
    }
}
