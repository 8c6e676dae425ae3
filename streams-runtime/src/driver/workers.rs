//! The job as several machines that share it by key: this thread reads, writes and takes checkpoints, the
//! workers compute.
//!
//! Batches are dealt out in rounds, one to each worker, in the order in which one machine would take them;
//! results of a round are written in the order of the workers. Workers may be some rounds ahead of the writer.

mod stop;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use streams_core::batch::Taken;
use streams_core::effects::{Effects, Gauges};
use streams_core::machine::Machine;
use streams_core::store::Delta;

use super::round::{Rest, Round, Share};
use super::shuffle::mesh;
use super::worker::{Order, Told, Worker};
use super::{End, lines_of};
use crate::clock::Clock;
use crate::deadletter::OnBad;
use crate::error::Error;
use crate::job::JobHandle;
use crate::session::Session;
use crate::snapshot::machine_prefix;
use crate::source::{BATCH_RECORDS, Next};
use crate::undo::Undo;

/// Rounds under way at most.
const ROUNDS_AHEAD: usize = 4;

/// What the workers were told and have not answered yet.
#[derive(Debug)]
enum Flight {
    Round(Round),
    Checkpoint,
}

/// What all workers answered to a round.
type Answers = Vec<(Box<Effects>, Taken)>;

/// Several machines.
#[derive(Debug)]
pub(crate) struct Workers<'a> {
    session: &'a mut Session,
    orders: Vec<Sender<Order>>,
    told: Vec<Receiver<Told>>,
    threads: Vec<JoinHandle<()>>,
    flights: VecDeque<Flight>,
    watermark_ms: Option<i64>,
    clock: Clock,
    /// Records dealt out since the job began, those of earlier runs included.
    dealt: u64,
}

impl<'a> Workers<'a> {
    /// Starts one thread for each machine.
    pub(crate) fn start(
        job: &JobHandle,
        session: &'a mut Session,
        machines: Vec<(Box<dyn Machine>, Option<Undo>)>,
    ) -> Self {
        let n = machines.len();
        let (ended, session_records) = (session.ended_ports(), session.counters.records_in);
        let mut workers = Self {
            session,
            orders: Vec::new(),
            told: Vec::new(),
            threads: Vec::new(),
            flights: VecDeque::new(),
            watermark_ms: None,
            clock: Clock::of(job.topology),
            dealt: session_records,
        };
        for (index, ((machine, undo), shuffle)) in machines.into_iter().zip(mesh(n)).enumerate() {
            let worker = Worker {
                job: job.clone(),
                machine,
                undo,
                prefix: machine_prefix(index),
                stop_on_reject: workers.session.on_bad == OnBad::Stop,
                shuffle,
                ended: ended.clone(),
                idle: Vec::new(),
                idle_before: Vec::new(),
            };
            let (orders, todo) = channel();
            let (answer, told) = channel();
            workers.threads.push(std::thread::spawn(move || worker.run(&todo, &answer)));
            workers.orders.push(orders);
            workers.told.push(told);
        }
        workers
    }

    /// Runs to the end of the input, or until a signal.
    pub(crate) fn run(mut self) -> Result<End, Error> {
        let end = self.rounds()?;
        if end == End::Input {
            self.end()?;
        }
        if self.session.changed && self.session.committer.is_some() {
            self.order_all(|| Order::Checkpoint);
            let delta = self.collect_changes()?;
            self.session.checkpoint(delta)?;
        }
        self.session.wait()?;
        Ok(end)
    }

    fn rounds(&mut self) -> Result<End, Error> {
        let n = self.orders.len();
        let ahead = if self.session.on_bad == OnBad::Stop { 1 } else { ROUNDS_AHEAD };
        let mut round = Round::default();
        let mut end = None;
        loop {
            while end.is_none() && self.flights.len() < ahead {
                if self.session.stop.is_set() {
                    // Batches that were read and not dealt out are read again by the next run.
                    round = Round::default();
                    end = Some(End::Signal);
                    break;
                }
                let turn = self.session.inputs.turn;
                match self.session.inputs.next()? {
                    Next::Chunk(port, chunk) => {
                        let shown = self.session.inputs.ports.get(port).map(crate::source::Input::shown);
                        let place = lines_of(&shown.unwrap_or_default(), &chunk.batch);
                        round.shares.push(Share { port, chunk: Arc::new(chunk), place });
                        if round.shares.len() == n {
                            let turn = self.session.inputs.turn;
                            self.deal(Round { turn, ..std::mem::take(&mut round) });
                        }
                    }
                    // Told with the round that is gathering, or with the end of everything.
                    Next::End(port) => round.ends.push(port),
                    // Of what lies in front of it every worker must have its part first.
                    Next::Quiet(port) => {
                        self.deal(Round { turn, ..std::mem::take(&mut round) });
                        self.deal(Round { rests: vec![Rest::Idle(port)], turn, ..Round::default() });
                    }
                    Next::Awake(port) => {
                        self.deal(Round { turn, ..std::mem::take(&mut round) });
                        round.rests.push(Rest::Active(port));
                    }
                    Next::Idle => {
                        // Only a live input pauses; its records do not wait for a full round.
                        let live = self.session.inputs.ports.iter().any(|input| input.live && !input.ended);
                        if live && !round.shares.is_empty() {
                            self.deal(Round { turn, ..std::mem::take(&mut round) });
                        }
                        let now_ms = self.clock.tick();
                        if round.is_empty() && now_ms.is_some() {
                            self.deal(Round { now_ms, turn, ..Round::default() });
                        }
                        self.session.idle()?;
                        break;
                    }
                    Next::Done => {
                        if !round.shares.is_empty() {
                            let rests = std::mem::take(&mut round.rests);
                            let shares = std::mem::take(&mut round.shares);
                            self.deal(Round { shares, rests, turn, ..Round::default() });
                        }
                        end = Some(End::Input);
                    }
                }
            }
            match self.flights.pop_front() {
                Some(Flight::Round(round)) => {
                    self.settle(&round)?;
                    self.session.changed |= !round.rests.is_empty() || round.now_ms.is_some();
                    round.ends.into_iter().for_each(|port| self.session.ended(port));
                    self.session.turn = round.turn;
                    for Share { port, chunk, .. } in round.shares {
                        if let Some(chunk) = Arc::into_inner(chunk) {
                            self.session.inputs.recycle(port, chunk.batch);
                        }
                    }
                }
                Some(Flight::Checkpoint) => {
                    let delta = self.collect_changes()?;
                    self.session.checkpoint(delta)?;
                }
                None => {
                    if let Some(end) = end {
                        return Ok(end);
                    }
                }
            }
            let pending = self.flights.iter().any(|flight| matches!(flight, Flight::Checkpoint));
            if !pending && self.session.is_checkpoint_due()? {
                self.order_all(|| Order::Checkpoint);
                self.flights.push_back(Flight::Checkpoint);
            }
            let watermark_ms = self.watermark_ms;
            self.session.show(|| Gauges { watermark_ms });
        }
    }

    /// Hands a round out; one in which nothing happens is none.
    fn deal(&mut self, round: Round) {
        if round.is_empty() {
            return;
        }
        let now_ms = round.now_ms.or_else(|| self.clock.read());
        let round = Round { first: self.first(), now_ms, ..round };
        for (index, orders) in self.in_order(round.first) {
            let share = round.shares.get(index).map(|share| (share.clone(), None));
            let Round { now_ms, ref rests, ref ends, first, .. } = round;
            let (rests, ends) = (rests.clone(), ends.clone());
            // A worker that is gone has left its reason behind; it is found when its answer is collected.
            let _ = orders.send(Order::Round { share, now_ms, rests, ends, first });
        }
        self.dealt += round.shares.iter().map(|share| share.chunk.batch.records.len() as u64).sum::<u64>();
        self.flights.push_back(Flight::Round(round));
    }

    /// The worker that gets the first batch of the next round. With one input it is always the same; with
    /// several it changes, by what has been dealt out, so that a run that is resumed goes on alike.
    fn first(&self) -> usize {
        let n = self.orders.len() as u64;
        if self.session.inputs.ports.len() < 2 {
            return 0;
        }
        usize::try_from(self.dealt / (BATCH_RECORDS as u64 * n) % n).unwrap_or(0)
    }

    /// The workers in the order in which they get the batches of a round.
    fn in_order(&self, first: usize) -> impl Iterator<Item = (usize, &Sender<Order>)> {
        let (behind, front) = self.orders.split_at(first.min(self.orders.len()));
        front.iter().chain(behind).enumerate()
    }

    fn order_all(&self, order: impl Fn() -> Order) {
        for orders in &self.orders {
            let _ = orders.send(order());
        }
    }

    /// One answer of each worker, in their order.
    fn collect(&self) -> Result<Vec<Told>, Error> {
        let answers: Vec<Told> = self.told.iter().map(|told| told.recv().unwrap_or(Told::Orphaned)).collect();
        let whole = !answers.iter().any(|told| matches!(told, Told::Failed(_) | Told::Orphaned));
        if whole {
            return Ok(answers);
        }
        let failure = answers
            .into_iter()
            .find_map(|told| if let Told::Failed(error) = told { Some(error) } else { None });
        Err(failure.unwrap_or_else(|| {
            Error::state("a worker thread ended unexpectedly; the last checkpoint stands")
        }))
    }

    /// The answers in the order of the batches, of which the worker `first` had the first.
    fn collect_round(&mut self, first: usize) -> Result<Answers, Error> {
        let mut answers = Vec::new();
        for told in self.collect()? {
            if let Told::Round { effects, taken, gauges } = told {
                self.watermark_ms = self.watermark_ms.max(gauges.watermark_ms);
                answers.push((effects, taken));
            }
        }
        let turned = first.min(answers.len());
        answers.rotate_left(turned);
        Ok(answers)
    }

    fn collect_changes(&self) -> Result<Delta, Error> {
        let mut all = Delta::new();
        for told in self.collect()? {
            if let Told::Changes(delta) = told {
                all.append(&delta);
            }
        }
        Ok(all)
    }

    fn settle(&mut self, round: &Round) -> Result<(), Error> {
        let shares = &round.shares;
        let answers = self.collect_round(round.first)?;
        let rejected = answers.iter().any(|(effects, _)| !effects.rejects.is_empty());
        if self.session.on_bad == OnBad::Stop && rejected {
            return Err(self.stop(round, &answers)?);
        }
        self.write(answers, shares)?;
        for Share { port, chunk, .. } in shares {
            self.session.took(*port, chunk.end, chunk.batch.records.len());
        }
        Ok(())
    }

    fn write(&mut self, answers: Answers, shares: &[Share]) -> Result<(), Error> {
        for (index, (mut effects, _)) in answers.into_iter().enumerate() {
            let source = shares.get(index).map(|share| (share.port, &share.chunk.batch));
            self.session.settle(&mut effects, source)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        let ends: Vec<usize> = open_ports(self.session);
        self.order_all(|| Order::End { ends: ends.clone() });
        let answers = self.collect_round(0)?;
        let rejected = answers.iter().any(|(effects, _)| !effects.rejects.is_empty());
        if self.session.on_bad == OnBad::Stop && rejected {
            return Err(self.stop(&Round::default(), &answers)?);
        }
        self.write(answers, &[])?;
        ends.into_iter().for_each(|port| self.session.ended(port));
        Ok(())
    }
}

/// Ports whose end the machines have not been told.
fn open_ports(session: &Session) -> Vec<usize> {
    let ended = session.ended_ports();
    (0..session.fed.len()).filter(|port| !ended.contains(port)).collect()
}

impl Drop for Workers<'_> {
    fn drop(&mut self) {
        // Without orders the threads end by themselves.
        self.orders.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
