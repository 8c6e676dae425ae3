//! Several machines that share a run inside a program, each on a thread of its own.
//!
//! In a round each takes a batch of its own records; then, exchange by exchange from the one furthest upstream, each
//! sends every other one what is theirs and takes, in the order of the workers, what was sent some rounds before. So
//! nobody waits for who is a little slower, and still everything comes in one order. Which round is the last is known
//! to all alike: a worker says that it has no more records before it sends what that round made, and the others look
//! when they have received it.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use streams_core::batch::{Batch, Taken};
use streams_core::effects::Effects;
use streams_core::machine::Machine;

use crate::driver::shuffle::{Orphaned, Shuffle, mesh};

/// One of them.
struct Worker {
    index: usize,
    machine: Box<dyn Machine>,
    shuffle: Shuffle,
    batch: usize,
    /// By worker, the round in which it ran out of records.
    dry: Arc<[AtomicU64]>,
    effects: Effects,
}

/// Not yet.
const NEVER: u64 = u64::MAX;

/// So many rounds behind are taken, and so far a worker may be ahead of another one.
const BEHIND: u64 = 4;

/// Runs all of them to the end; gives what is left at their ends, by worker.
pub(super) fn run(machines: Vec<Box<dyn Machine>>, batch: usize) -> Vec<Effects> {
    let dry: Arc<[AtomicU64]> = machines.iter().map(|_| AtomicU64::new(NEVER)).collect();
    let shuffles = mesh(machines.len());
    let threads: Vec<_> = machines
        .into_iter()
        .zip(shuffles)
        .enumerate()
        .map(|(index, (machine, shuffle))| {
            let dry = Arc::clone(&dry);
            let worker = Worker { index, machine, shuffle, batch, dry, effects: Effects::default() };
            std::thread::spawn(move || worker.run())
        })
        .collect();
    let mut ends = Vec::new();
    let mut panic = None;
    for thread in threads {
        match thread.join() {
            Ok(Some(effects)) => ends.push(effects),
            // The one that is missing has panicked.
            Ok(None) => {}
            Err(payload) => panic = panic.or(Some(payload)),
        }
    }
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
    ends
}

impl Worker {
    fn run(mut self) -> Option<Effects> {
        let mut round = 0;
        while !self.round(round).ok()? {
            round += 1;
        }
        if self.machine.n_exchanges() > 0 {
            for _ in 0..BEHIND {
                self.exchanges(Way::Take).ok()?;
            }
        }
        self.machine.end(0);
        self.machine.drain(&mut self.effects);
        self.exchanges(Way::End).ok()?;
        Some(self.effects)
    }

    /// One round; whether nobody has any records any more, and none is on its way.
    fn round(&mut self, round: u64) -> Result<bool, Orphaned> {
        let Some(mine) = self.dry.get(self.index) else { return Ok(true) };
        if mine.load(Ordering::Relaxed) == NEVER {
            let taken = self.machine.feed(0, Batch::Pulled(self.batch));
            if taken == Taken::Dry {
                // Order: what was stored before a message is sent is seen by who has received it.
                mine.store(round, Ordering::Release);
            }
        }
        let n_exchanges = self.machine.n_exchanges() as u64;
        if n_exchanges == 0 {
            // Workers that exchange nothing do not wait for each other either.
            let is_dry = mine.load(Ordering::Relaxed) <= round;
            self.machine.drain(&mut self.effects);
            return Ok(is_dry);
        }
        self.machine.drain(&mut self.effects);
        let Some(taken) = round.checked_sub(BEHIND) else {
            self.exchanges(Way::Send)?;
            return Ok(false);
        };
        self.exchanges(Way::Both)?;
        let last = self.dry.iter().map(|dry| dry.load(Ordering::Acquire)).max().unwrap_or(NEVER);
        // What the last batch made has to come through every exchange.
        Ok(last.checked_add(BEHIND * (n_exchanges - 1)).is_some_and(|end| taken >= end))
    }

    fn exchanges(&mut self, way: Way) -> Result<(), Orphaned> {
        let n_exchanges = self.machine.n_exchanges();
        self.shuffle.gather(&mut self.effects, n_exchanges);
        for exchange in (0..n_exchanges).rev() {
            if way != Way::Take {
                self.shuffle.send(exchange)?;
            }
            if way == Way::Send {
                continue;
            }
            self.shuffle.receive(exchange, 0, self.machine.as_mut(), |feed| {
                feed();
                Ok::<(), Orphaned>(())
            })?;
            if way == Way::End {
                self.machine.end(self.machine.n_sources() + exchange);
            }
            self.machine.drain(&mut self.effects);
            self.shuffle.gather(&mut self.effects, exchange);
        }
        Ok(())
    }
}

/// What happens at the exchanges in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The first ones have nothing to take.
    Send,
    Both,
    /// Behind the last one, what was sent ahead is taken.
    Take,
    /// Both, and then nothing will ever come.
    End,
}
