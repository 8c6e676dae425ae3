//! Taking a split: token, row, snapshot 0, rows.

use super::{Action, Found, Local, Phase, Poll, RowsIn, Stop, Worker};
use crate::bug::{Bug, planted};
use crate::protocol::ids::{Target, Token, Topic};
use crate::protocol::reader::Reader;
use crate::protocol::sender::{Sender, SenderState};
use crate::protocol::snapshot::Snapshot;
use crate::store::local::CommitId;

impl Worker {
    pub(super) fn raised(&mut self, token: Token, actions: &mut Vec<Action>) {
        self.token = token;
        // Order: only what is read behind the raised token is sure to be the last owner's end (rule 13).
        self.phase = Phase::Reading;
        actions.push(Action::Read { token });
    }

    pub(super) fn row(&mut self, row: Option<Found>, actions: &mut Vec<Action>) {
        let Some(Found { version, snapshot, is_next }) = row else {
            // A copy that is here all the same is of another life of the job.
            if self.is_copied() {
                self.phase = Phase::Clearing;
                actions.push(Action::Local(Local::Forget));
            } else {
                self.phase = Phase::Resolving;
                self.ask_start(actions);
            }
            return;
        };
        self.version = version;
        let id = snapshot.owner.map(|Token { epoch, nonce }| CommitId { epoch, nonce, version });
        self.adopt(*snapshot, is_next);
        self.find_rows(id, actions);
    }

    pub(super) fn resolved(&mut self, offset: u64, actions: &mut Vec<Action>) {
        // Nobody has sent anything for this split yet: that begins behind snapshot 0.
        self.adopt(Snapshot { offset, clean: true, ..Snapshot::default() }, true);
        if planted(Bug::NoSnapshotZero) {
            return self.start(actions);
        }
        // Order: a crash before the first checkpoint must not resolve the start position a second time.
        self.phase = Phase::Zero;
        self.begin_commit(false, actions);
    }

    fn adopt(&mut self, snapshot: Snapshot, is_next: bool) {
        self.offset = snapshot.offset;
        self.committed_offset = snapshot.offset;
        self.last_id = snapshot.last_id;
        if !planted(Bug::CountersOutside) {
            self.counters = snapshot.counters;
        }
        // An owner that took a clean split and died before its first commit may have sent something.
        let nothing_left = snapshot.clean && (is_next || planted(Bug::CleanIsStale));
        self.undisturbed = nothing_left && self.role.rows_in == RowsIn::Local;
        // Behind a clean end nothing has been made of what was rejected there, and other code may think otherwise.
        self.panics.rejected = if snapshot.clean { Vec::new() } else { snapshot.rejected };
        self.panics.ahead = self.role.culprit.clone();
        self.seen = snapshot.seen;
        self.idle = snapshot.idle;
        self.ended = snapshot.ended;
        self.reader = Reader::new(self.role.incarnation, self.role.upstream.clone(), snapshot.reader);
        self.senders = self
            .targets()
            .map(|target| {
                let kept = snapshot.senders.iter().find(|(other, _)| *other == target);
                let kept = kept.filter(|_| !planted(Bug::NumbersNotRestored));
                (target, Sender::new(kept.map_or_else(SenderState::default, |(_, state)| state.clone())))
            })
            .collect();
        // What another owner or an earlier life may have put into an output queue must be known before more is
        // sent there (rule 20). A shuffle's reader drops what it has seen, and a clean owner left nothing.
        self.is_restored = snapshot.owner.is_none() && !snapshot.clean;
        let looks_at = |target: &Target| match target.topic {
            Topic::Output(_) => !nothing_left,
            // Where it was taken from a savepoint, it may have been put there by a later state.
            Topic::Of(_) => self.is_restored && self.role.held,
        };
        self.tails = self.senders.keys().copied().filter(looks_at).collect();
    }

    /// Every queue that results may go to.
    fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        let targets = self.role.targets.iter();
        targets.flat_map(|&(topic, n_queues)| (0..n_queues).map(move |queue| Target { topic, queue }))
    }

    pub(super) fn ask_start(&self, actions: &mut Vec<Action>) {
        actions.push(Action::Resolve { original: self.role.original || planted(Bug::NewQueueAtLatest) });
    }

    /// Begins to run.
    pub(super) fn start(&mut self, actions: &mut Vec<Action>) {
        self.phase = Phase::Running;
        let tails: Vec<Target> = self.tails.iter().copied().collect();
        for target in tails {
            self.ask_tail(target, actions);
        }
    }

    pub(super) fn ask_tail(&mut self, target: Target, actions: &mut Vec<Action>) {
        let sender = self.senders.get(&target);
        let from = if self.surveyed {
            // An earlier owner's numbers may lie in front of this one's repetitions of smaller ones.
            sender.map_or(0, Sender::floor)
        } else {
            sender.and_then(Sender::acked_offset).map_or(0, |offset| offset + 1)
        };
        actions.push(Action::Tail { target, from, settle_ms: self.role.settle_ms });
    }

    pub(super) fn tailed(&mut self, target: Target, last: u64, actions: &mut Vec<Action>) {
        self.tails.remove(&target);
        let Some(sender) = self.senders.get_mut(&target) else { return };
        // Nothing of a held stage leaves in front of the commit that has it.
        if self.is_restored && self.role.held && last > sender.last_number() {
            let text = format!(
                "queue {} of {} has numbers up to {last}, and this state knows of {}: the job ran on after the savepoint was written, and what it gives depends on more than its input, so it cannot be given again; import a savepoint of its last state",
                target.queue,
                match target.topic {
                    Topic::Of(stage) => format!("the topic in front of stage {}", stage.0),
                    Topic::Output(output) => format!("output {output}"),
                },
                sender.last_number()
            );
            return self.stop(Stop::Broken(text), actions);
        }
        sender.skip_to(last);
    }

    /// Whether the queue still continues where this split stands (rule 12). Asked with every poll: retention
    /// may pass a reader that was stalled.
    pub(super) fn verify(&mut self, poll: &Poll<'_>, actions: &mut Vec<Action>) -> bool {
        let Poll { min, max, before, fresh, .. } = *poll;
        // A replica may not have come as far as the master.
        if !fresh && max < self.offset {
            return true;
        }
        let inside = min <= self.offset && self.offset <= max;
        let same = match (self.last_id, before) {
            // Retention may have removed the message before the offset; then there is nothing to compare.
            (Some(remembered), Some(found)) => remembered == found,
            (Some(_), None) => self.offset == min,
            (None, _) => true,
        };
        if !(inside && same) {
            self.stop(Stop::Lost { offset: self.offset, min, max }, actions);
        }
        inside && same
    }
}
