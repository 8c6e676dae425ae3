//! Running: messages into the machine, results into the senders.

use super::results::Turn;
use super::{Action, Committed, Message, Phase, Poll, Reading, Rejected, ResultOf, Stop, Worker, copy};
use crate::batch::{Batch, RawBatch};
use crate::bug::{Bug, planted};
use crate::effects::{Origin, OutputBatch, Reject, Run};
use crate::key;
use crate::protocol::frame::{Frame, Item};
use crate::protocol::ids::{Stage, Target, Topic};
use crate::protocol::reader::Accepted;
use crate::protocol::sender::Sender;
use crate::time::UNTIMED;

impl Worker {
    pub(super) fn polled(&mut self, poll: Poll<'_>, now_ms: u64, actions: &mut Vec<Action>) {
        self.polling = false;
        let is_early = std::mem::take(&mut self.early_poll);
        if self.phase != Phase::Running || self.commit.is_some() || self.wants_checkpoint || self.is_leaving()
        {
            // A checkpoint waits for what was sent; what came meanwhile is read again.
            return;
        }
        if !self.verify(&poll, actions) {
            return;
        }
        self.now_ms = now_ms;
        if self.revoked && poll.fresh && !is_early {
            self.goal.get_or_insert(poll.max);
        }
        if let Err(stop) = self.feed_guarded(&poll, now_ms) {
            return self.stop(stop, actions);
        }
        // What is in no commit is in memory alone, so memory asks for one (rule 16).
        self.wants_checkpoint |= self.uncommitted >= self.role.most_uncommitted || self.waits_for_a_commit();
        if planted(Bug::DirtySpill) {
            self.spill(actions);
        }
    }

    pub(super) fn feed_all(&mut self, poll: &Poll<'_>, now_ms: u64) -> Result<(), Stop> {
        if self.role.tables {
            self.machine.refresh();
            #[cfg(feature = "sim")]
            self.note_tables();
        }
        self.read_clock(poll.clock_ms)?;
        for message in poll.messages {
            if self.stands_in_front() {
                return Ok(());
            }
            if self.is_source() {
                self.feed_raw(message)?;
            } else {
                self.feed_frame(&message.body)?;
            }
            self.offset += 1;
            self.last_id = Some(message.id);
        }
        if self.stands_in_front() {
            return Ok(());
        }
        if self.is_source() {
            self.rest(poll, now_ms)?;
        }
        if let Some(at_ms) = self.postponed_ms.take() {
            self.machine.watermark(self.entry(), at_ms);
            self.gather()?;
        }
        Ok(())
    }

    /// Tells a stage that depends on it what time it is. What comes of it leaves with the next commit, which fixes it.
    fn read_clock(&mut self, now_ms: i64) -> Result<(), Stop> {
        if !self.role.clock || self.ended {
            return Ok(());
        }
        self.note_reading(Reading::Clock(now_ms));
        self.machine.clock(self.entry(), now_ms);
        self.gather()
    }

    fn note_reading(&mut self, reading: Reading) {
        let reading = (self.offset, reading);
        if self.readings.last() != Some(&reading) {
            self.readings.push(reading);
        }
    }

    #[cfg(feature = "sim")]
    fn note_tables(&mut self) {
        let version = self.table_version.load(std::sync::atomic::Ordering::Relaxed);
        self.note_reading(Reading::Tables(version));
    }

    pub(super) fn is_source(&self) -> bool {
        self.role.upstream.is_empty()
    }

    fn entry(&self) -> usize {
        usize::from(self.role.split.stage.0)
    }

    /// A message of a source topic is one record.
    fn feed_raw(&mut self, message: &Message) -> Result<(), Stop> {
        if !self.is_for_the_job(message) {
            return Ok(());
        }
        if std::mem::take(&mut self.idle) {
            self.tell(&Item::Active, false);
        }
        // Whoever reads the message again finds the same time, which is why no clock is asked (rule 9).
        let stored_ms = match planted(Bug::BoundByClock) {
            true => i64::try_from(self.now_ms).unwrap_or(i64::MAX),
            false => message.stored_ms,
        };
        let batch = RawBatch::stored(&message.body, 0, self.offset, stored_ms);
        self.count_in();
        if self.is_rejected(Some(0)) {
            self.pass_over(0, &message.body);
            return Ok(());
        }
        self.panics.running = Some(0);
        self.machine.feed(self.entry(), Batch::Raw { batch: &batch, from: 0, stop_on_reject: false });
        self.panics.running = None;
        let told = self.rejects.len();
        self.gather()?;
        for rejected in self.rejects.iter_mut().skip(told) {
            if rejected.raw.is_none() {
                rejected.raw = Some(message.body.clone());
            }
        }
        Ok(())
    }

    /// Whether a message of a source is a record: one that was asked for, and that was not there before.
    fn is_for_the_job(&mut self, message: &Message) -> bool {
        match message.result_of.map(|result| (result, self.seen.take(result, self.offset))) {
            Some((_, Turn::Repeated)) => {
                self.counters.duplicates += 1;
                return false;
            }
            Some((result, Turn::New(missing @ 1..))) => {
                self.counters.missing += missing;
                let (ResultOf { job, split, number }, stage) = (result, result.split.stage.0);
                let error = format!(
                    "{missing} results in front of number {number} of split {stage}-{} of job {job:016x} are not in the queue: they were lost before they were read",
                    split.queue
                );
                let reject =
                    Reject { origin: Origin::None, operator: "source", error, value: None, key: None };
                self.rejects.push(Rejected { offset: self.offset, reject, raw: None });
            }
            Some((_, Turn::New(0))) | None => {}
        }
        self.counters.filtered += u64::from(message.is_unwanted);
        !message.is_unwanted
    }

    fn count_in(&mut self) {
        self.counters.records_in += 1;
        self.uncommitted += 1;
    }

    /// A message of a shuffle topic is a frame.
    fn feed_frame(&mut self, body: &[u8]) -> Result<(), Stop> {
        let frame =
            Frame::decode(body).map_err(|error| Stop::Broken(format!("a message of a shuffle: {error}")))?;
        let mut accepted = Vec::new();
        self.reader.read(&frame, &mut accepted).map_err(Stop::Gap)?;
        let entry = self.entry();
        let records = accepted.iter().filter_map(|step| match step {
            Accepted::Record(bytes) => Some(*bytes),
            _ => None,
        });
        self.machine.ahead(entry, &records.collect::<Vec<_>>());
        let mut nth = 0..;
        for step in accepted {
            match step {
                Accepted::Watermark(at_ms) if planted(Bug::WatermarkPerBatch) => {
                    self.postponed_ms = Some(at_ms);
                }
                Accepted::Watermark(at_ms) => self.machine.watermark(entry, at_ms),
                Accepted::Record(bytes) => {
                    self.count_in();
                    self.panics.running = nth.next();
                    match self.panics.running.filter(|_| self.is_rejected(self.panics.running)) {
                        Some(nth) => self.pass_over(nth, bytes),
                        // The watermark stands in front of it, as a step of its own.
                        None => drop(self.machine.feed(entry, Batch::Encoded(&[(UNTIMED, bytes)]))),
                    }
                    self.panics.running = None;
                }
                Accepted::AllIdle => {
                    self.gather()?;
                    self.tell(&Item::Idle, false);
                }
                Accepted::Awake => {
                    self.gather()?;
                    self.tell(&Item::Active, false);
                    // Whether there was an end is in the snapshot, so that a machine that was not told of it hears
                    // this as well.
                    if std::mem::take(&mut self.ended) && !planted(Bug::EndStays) {
                        self.machine.active(entry);
                    }
                }
                Accepted::AllEnded => self.finish()?,
            }
        }
        // Order: in front of the next commit, behind which rows may be others.
        self.machine.ahead(entry, &[]);
        self.gather()
    }

    /// A source that has been read to its end: it may have ended, or be idle.
    fn rest(&mut self, poll: &Poll<'_>, now_ms: u64) -> Result<(), Stop> {
        let at_end = (poll.fresh || planted(Bug::IdleByTimer)) && self.offset == poll.max;
        if !at_end || !poll.messages.is_empty() {
            self.quiet_since_ms = None;
        }
        if !at_end || self.ended {
            return Ok(());
        }
        if poll.closed {
            return self.finish();
        }
        // Idle is declared when two fresh looks, this far apart, found nothing: the time in which this process
        // did not run is no idleness of the queue. The mark is held: it leaves after the commit that has it.
        let Some(idle_after_ms) = self.role.idle_after_ms else { return Ok(()) };
        let since_ms = *self.quiet_since_ms.get_or_insert(now_ms);
        if !self.idle && now_ms.saturating_sub(since_ms) >= idle_after_ms {
            self.idle = true;
            if planted(Bug::IdleUnnumbered) {
                self.senders.values_mut().for_each(|sender| sender.watermark(i64::MAX, false));
            } else {
                self.tell(&Item::Idle, true);
            }
            self.wants_checkpoint = true;
        }
        Ok(())
    }

    /// Nothing will come in any more: what waits for more fires, and the stages behind are told.
    fn finish(&mut self) -> Result<(), Stop> {
        self.machine.end(self.entry());
        self.gather()?;
        self.tell(&Item::End, false);
        self.ended = true;
        self.wants_checkpoint = true;
        Ok(())
    }

    /// Tells every queue of every downstream stage.
    fn tell(&mut self, item: &Item, held: bool) {
        let held = held || self.role.held;
        for (target, sender) in &mut self.senders {
            if matches!(target.topic, Topic::Of(_)) {
                sender.push(item.clone(), held);
            }
        }
    }

    /// Takes what has gathered at the machine's ends and numbers it.
    fn gather(&mut self) -> Result<(), Stop> {
        // What was made of rows that could not be read, or that are another owner's by now, must not leave.
        if let Some(error) = self.machine.failure() {
            return Err(copy::why(error));
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.machine.drain(&mut effects);
        self.counters.late += std::mem::take(&mut effects.late);
        self.counters.repeated += std::mem::take(&mut effects.repeated);
        self.counters.dead_letter += effects.rejects.len() as u64;
        let offset = self.offset;
        self.rejects.extend(effects.rejects.drain(..).map(|reject| Rejected { offset, reject, raw: None }));
        let n_sources = self.machine.n_sources();
        for (exchange, runs) in effects.runs.iter_mut().enumerate() {
            let stage = Stage(u16::try_from(n_sources + exchange).unwrap_or(u16::MAX));
            for (queue, run) in runs.iter_mut().enumerate() {
                let target =
                    Target { topic: Topic::Of(stage), queue: u16::try_from(queue).unwrap_or(u16::MAX) };
                self.post(target, run);
            }
        }
        for (output, batch) in effects.outputs.iter_mut().enumerate() {
            self.publish(u16::try_from(output).unwrap_or(u16::MAX), batch);
            batch.clear();
        }
        self.effects = effects;
        Ok(())
    }

    fn post(&mut self, target: Target, run: &mut Run) {
        let held = self.role.held;
        let target = if planted(Bug::CurrentRoute) && self.now_ms.is_multiple_of(8) {
            Target { queue: 0, ..target }
        } else {
            target
        };
        for record in run.records() {
            if let Some(sender) = self.sender(target, "key_by", record.len()) {
                sender.push(Item::Data(record.to_vec()), held);
                self.counters.shuffled += 1;
            }
        }
        run.bytes.clear();
        if let Some(sender) = self.senders.get_mut(&target) {
            sender.watermark(run.watermark_ms, held);
        }
    }

    /// Results of an output port go to the queue that their key belongs to; without a key to the one that belongs
    /// to this split.
    fn publish(&mut self, output: u16, batch: &OutputBatch) {
        if self.role.in_commit.contains(&output) {
            for (address, bytes) in batch.addressed() {
                let record = bytes.get(address.key_len..).unwrap_or_default().to_vec();
                self.counters.records_out += 1;
                self.result_bytes += record.len();
                self.results.push(Committed { output, record });
            }
            return;
        }
        let topic = Topic::Output(output);
        let Some(&(_, n_queues)) = self.role.targets.iter().find(|(other, _)| *other == topic) else {
            return;
        };
        let n_queues = n_queues.max(1);
        for (address, bytes) in batch.addressed() {
            let by_key = |hash| u16::try_from(key::place(hash, n_queues.into())).unwrap_or(u16::MAX);
            let queue = address.hash.map_or(self.role.split.queue % n_queues, by_key);
            let held = self.role.held;
            if let Some(sender) = self.sender(Target { topic, queue }, "output", bytes.len()) {
                sender.push(Item::result(address.key_len, bytes), held);
                self.counters.records_out += 1;
            }
        }
    }

    /// The sender for one more record of this length; none, but a dead letter, where no message can hold it.
    fn sender(&mut self, target: Target, operator: &'static str, len: usize) -> Option<&mut Sender> {
        let most = self.role.most_bytes;
        if len > most {
            let error = format!("what was made of it has {len} bytes, and a message holds at most {most}");
            let reject = Reject { origin: Origin::None, operator, error, value: None, key: None };
            self.counters.dead_letter += 1;
            self.rejects.push(Rejected { offset: self.offset, reject, raw: None });
            return None;
        }
        self.senders.get_mut(&target)
    }

    pub(super) fn send_all(&mut self, actions: &mut Vec<Action>) {
        // Nothing new leaves while a commit is under way: what it holds must stay what it is.
        let Self { role, senders, tails, .. } = self;
        for (target, sender) in senders.iter_mut().filter(|(target, _)| !tails.contains(target)) {
            if let Some(frame) = sender.take(role.incarnation, role.split, &role.siblings) {
                actions.push(Action::Send { target: *target, frame });
            }
        }
    }

    pub(super) fn sent(&mut self, target: Target, offset: Option<u64>, actions: &mut Vec<Action>) {
        let Some(sender) = self.senders.get_mut(&target) else { return };
        match offset {
            Some(offset) => sender.stored(offset),
            None => {
                sender.unknown();
                // Nobody drops what stands twice in an output queue, so look before sending again (rule 20).
                if matches!(target.topic, Topic::Output(_)) && self.tails.insert(target) {
                    self.ask_tail(target, actions);
                }
            }
        }
    }
}
