//! `--on-bad stop` with several workers: back to in front of the first bad record of a round.

use streams_core::batch::Taken;

use super::{Answers, Workers};
use crate::deadletter::Bad;
use crate::driver::round::{Round, Share};
use crate::driver::worker::Order;
use crate::error::Error;
use crate::source::Position;

impl Workers<'_> {
    /// Commits everything in front of the first bad record of a round; the result is the error to end with.
    pub(super) fn stop(&mut self, round: &Round, answers: &Answers) -> Result<Error, Error> {
        self.undo()?;
        let shares = &round.shares;
        // The first one in the order of the input; workers behind it may have stopped as well.
        let first = answers.iter().enumerate().find_map(|(worker, (_, taken))| match taken {
            Taken::Until(index) => Some((worker, *index)),
            Taken::All | Taken::Dry => None,
        });
        let source = first.and_then(|(worker, index)| shares.get(worker).map(|share| (worker, index, share)));
        let effects = answers.iter().map(|(effects, _)| effects);
        let mut reject = effects.clone().find_map(|effects| effects.rejects.first().cloned());
        let mut fed = None;
        if let Some((worker, index, share)) = source {
            let kept = self.rerun(round, worker, index)?;
            if kept.iter().all(|(effects, _)| effects.rejects.is_empty()) {
                self.write(kept, shares)?;
                for Share { port, chunk, .. } in shares.iter().take(worker) {
                    self.session.took(*port, chunk.end, chunk.batch.records.len());
                }
                if let Some(record) = share.chunk.batch.records.get(index) {
                    self.session.took(
                        share.port,
                        Position { offset: record.offset, line: record.line },
                        index,
                    );
                    self.session.turn = share.port;
                }
                reject = effects.clone().nth(worker).and_then(|effects| effects.rejects.first().cloned());
                fed = Some((share.port, &share.chunk.batch));
            } else {
                // A record in front of it failed behind a shuffle, where nobody knows which one it was: the
                // whole round stays untaken.
                reject = kept.iter().find_map(|(effects, _)| effects.rejects.first().cloned());
                self.undo()?;
            }
        }
        self.order_all(|| Order::Checkpoint);
        let delta = self.collect_changes()?;
        self.session.checkpoint(delta)?;
        self.session.wait()?;
        let reject = reject.expect("a round is stopped only because of a reject");
        let fed =
            fed.and_then(|(port, batch)| self.session.inputs.ports.get(port).map(|input| (input, batch)));
        let bad = Bad::new(&reject, fed);
        Ok(self.session.stopped(&bad.place(), &bad.reason(), &bad.shown()))
    }

    fn undo(&mut self) -> Result<(), Error> {
        let ended = self.session.ended_ports();
        self.order_all(|| Order::Undo { ended: ended.clone() });
        self.collect().map(drop)
    }

    /// The round again, with what lies in front of the record `index` of the batch number `batch` only.
    fn rerun(&mut self, round: &Round, batch: usize, index: usize) -> Result<Answers, Error> {
        let first = round.first;
        for (at, orders) in self.in_order(first) {
            let share = round.shares.get(at).filter(|_| at <= batch);
            let limit = (at == batch).then_some(index);
            let share = share.map(|share| (share.clone(), limit));
            let rests = round.rests.clone();
            let now_ms = round.now_ms;
            let _ = orders.send(Order::Round { share, now_ms, rests, ends: Vec::new(), first });
        }
        self.collect_round(first)
    }
}
