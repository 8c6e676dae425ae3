//! The workers of an instance and the loop that tells them what happened.
//!
//! All workers run on one thread, one event at a time; what takes time (brokers, the disk) runs beside it and ends
//! with a [`Note`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use streams_core::protocol::ids::{Split, Stage, Target, Token, Topic};
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::stages::StagePlan;
use streams_core::protocol::worker::{
    Action, CommitOutcome, Event, Failed, LocalDone, Poll, Role, RowsIn, Stop, Worker,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::io::{Polled, Settler};
use super::rows::SplitRows;
use super::topics::{JobRow, Queues};
use super::{failed, fingerprint};
use crate::cli::{ClusterConfig, RunConfig};
use crate::deadletter::letters::Letters;
use crate::driver::guard;
use crate::error::{Error, ErrorKind};
use crate::job::JobHandle;
use crate::report::Counters;
use crate::rocketmq::{self, Broker};
use crate::run::note;
use crate::signals::StopFlag;
use crate::sink::{self, Start, Writer};
use crate::url::Place;

mod perform;

/// How often the name servers are asked for new queues.
const LOOK: Duration = Duration::from_secs(10);
/// How long a message whose fate is unknown may take to appear in an output.
const SETTLE_MS: u64 = 2_000;
/// How long the last report of a queue may take.
const REPORT: Duration = Duration::from_secs(3);
/// Items that may wait to be stored before a split stops reading.
const MOST_WAITING: usize = 4_096;
/// Records after which a split commits unasked.
const MOST_UNCOMMITTED: u64 = 1_000_000;

/// What came of an action.
struct Note {
    split: Split,
    /// Of the worker that asked.
    life: u64,
    what: What,
}

enum What {
    Raised(Option<Token>),
    Row(Option<(u64, Snapshot)>),
    Rows,
    Observed(Token, u64),
    RolledBack,
    Resolved(Result<u64, rocketmq::Error>),
    Polled(u64, Result<Polled, rocketmq::Error>),
    Sent(Target, Result<Result<u64, String>, rocketmq::Error>),
    Tailed(Target, Result<u64, rocketmq::Error>),
    Committed(Result<CommitOutcome, Error>),
    /// Topics were looked at.
    Looked(Result<(JobRow, bool), Error>),
}

/// A worker and what is known of its split.
struct Run {
    worker: Worker,
    life: u64,
    /// The id of the last message that was read, with the offset behind it.
    known: Option<(u64, u64)>,
    /// Failures in a row.
    failures: u32,
}

/// The workers of this instance.
pub(super) struct Fleet {
    job: JobHandle,
    stages: Vec<StagePlan>,
    row: JobRow,
    rows: SplitRows,
    broker: Broker,
    settler: Arc<Settler>,
    cluster: ClusterConfig,
    checkpoint_interval: Duration,
    with_state: bool,
    fingerprint: u64,
    /// By output port; only those that are printed.
    printers: Vec<Option<Writer>>,
    letters: Letters,
    runs: BTreeMap<Split, Run>,
    lives: u64,
    /// What came of actions that were done at once.
    ready: VecDeque<Note>,
    notes: UnboundedReceiver<Note>,
    teller: UnboundedSender<Note>,
    began: Instant,
    /// Whether the brokers have been said to be away.
    away: bool,
    leaving: bool,
    /// Topics are being looked at.
    looking: bool,
    /// What the broker's tools are to know, by split.
    reported: BTreeMap<Split, u64>,
}

impl Fleet {
    pub(super) fn new(
        job: JobHandle,
        config: &RunConfig,
        cluster: &ClusterConfig,
        stages: Vec<StagePlan>,
        row: JobRow,
        rows: SplitRows,
        broker: Broker,
    ) -> Result<Self, Error> {
        let mut printers = Vec::new();
        for (port, url) in job.topology.sinks().zip(&config.to) {
            let label = format!("port `{}`", port.name);
            let format = url.format().unwrap_or(crate::format::Format::Json);
            printers.push(match url.place() {
                Place::Print => Some(sink::print::open(label, port.name, format, &Start::New)?),
                _ => None,
            });
        }
        let (teller, notes) = unbounded_channel();
        Ok(Self {
            fingerprint: fingerprint(&job, config)?,
            letters: Letters::open(config.on_bad, config.dead_letter.as_deref())?,
            checkpoint_interval: config.checkpoint_interval,
            with_state: config.state.is_some(),
            job,
            stages,
            row,
            rows,
            broker,
            settler: Arc::default(),
            cluster: cluster.clone(),
            printers,
            runs: BTreeMap::new(),
            lives: 0,
            ready: VecDeque::new(),
            notes,
            teller,
            began: Instant::now(),
            away: false,
            leaving: false,
            looking: false,
            reported: BTreeMap::new(),
        })
    }

    /// Runs until a signal asks for the end, and everything has been committed.
    pub(super) async fn run(&mut self, stop: &StopFlag) -> Result<(), Error> {
        self.take_all()?;
        let mut checkpoints = tokio::time::interval(self.checkpoint_interval);
        checkpoints.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut signals = tokio::time::interval(Duration::from_millis(50));
        loop {
            while let Some(note) = self.ready.pop_front() {
                self.hear(note)?;
            }
            if self.leaving && self.runs.is_empty() {
                self.report_all().await;
                return Ok(());
            }
            tokio::select! {
                note = self.notes.recv() => {
                    if let Some(note) = note {
                        self.hear(note)?;
                    }
                }
                _ = checkpoints.tick() => {
                    self.printers.iter_mut().flatten().try_for_each(Writer::flush)?;
                    self.tell_all(|| Event::CheckPoint)?;
                }
                _ = looks.tick(), if !self.looking => self.look(),
                _ = signals.tick() => {
                    if stop.is_set() && !self.leaving {
                        self.leaving = true;
                        self.tell_all(|| Event::Revoke)?;
                    }
                }
            }
        }
    }

    /// Starts a worker for every split that has none.
    fn take_all(&mut self) -> Result<(), Error> {
        for stage in 0..self.stages.len() {
            let n_queues = self.row.stages.get(stage).map_or(0, Queues::len);
            for queue in 0..n_queues {
                let split = Split { stage: Stage(u16::try_from(stage).unwrap_or(u16::MAX)), queue };
                if !self.runs.contains_key(&split) {
                    self.take(split)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, split: Split) -> Result<(), Error> {
        let mut machine = self.job.sharded(&self.shuffle_queues())?;
        machine.focus(usize::from(split.stage.0));
        self.lives += 1;
        let mut actions = Vec::new();
        let worker = Worker::new(self.role(split), machine, &mut actions);
        self.runs.insert(split, Run { worker, life: self.lives, known: None, failures: 0 });
        self.perform_all(split, actions)
    }

    fn n_sources(&self) -> usize {
        self.stages.iter().filter(|stage| stage.upstream.is_empty()).count()
    }

    /// By exchange.
    fn shuffle_queues(&self) -> Vec<usize> {
        self.row.stages.iter().skip(self.n_sources()).map(|queues| usize::from(queues.len())).collect()
    }

    fn role(&self, split: Split) -> Role {
        let stage = usize::from(split.stage.0);
        let plan = self.stages.get(stage);
        let upstream = plan.map(|plan| plan.upstream.clone()).unwrap_or_default();
        let queues = self.row.stages.get(stage);
        let n_queues = |topic: &Topic| match topic {
            Topic::Of(Stage(stage)) => {
                self.row.stages.get(usize::from(*stage)).map_or(1, |queues| queues.len())
            }
            Topic::Output(output) => {
                let queues = self.row.outputs.get(usize::from(*output)).and_then(Option::as_ref);
                queues.map_or(1, |queues| queues.len())
            }
        };
        let topics = plan.map(|plan| plan.topics.as_slice()).unwrap_or_default();
        Role {
            split,
            incarnation: self.row.incarnation(),
            held: false,
            original: upstream.is_empty() && queues.is_some_and(|queues| queues.is_original(split.queue)),
            upstream,
            targets: topics.iter().map(|topic| (*topic, n_queues(topic))).collect(),
            siblings: queues.map(Queues::numbers).unwrap_or_default(),
            fingerprint: self.fingerprint,
            idle_after_ms: None,
            settle_ms: SETTLE_MS,
            rows_in: RowsIn::Local,
            most_waiting: MOST_WAITING,
            most_uncommitted: MOST_UNCOMMITTED,
        }
    }

    fn tell_all(&mut self, event: impl Fn() -> Event<'static>) -> Result<(), Error> {
        for split in self.runs.keys().copied().collect::<Vec<_>>() {
            self.tell(split, event())?;
        }
        Ok(())
    }

    /// Tells a worker what happened, and begins what it wants.
    fn tell(&mut self, split: Split, event: Event<'_>) -> Result<(), Error> {
        let actions = self.step(split, event)?;
        self.perform_all(split, actions)
    }

    /// Tells a worker what happened: what it wants.
    fn step(&mut self, split: Split, event: Event<'_>) -> Result<Vec<Action>, Error> {
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Self { row, runs, .. } = self;
        let mut actions = Vec::new();
        if let Some(run) = runs.get_mut(&split) {
            let step = || run.worker.step(event, now_ms, &mut actions);
            guard(&|| row.place(split), step).map_err(other_code)?;
        }
        Ok(actions)
    }

    /// Hears what came of an action.
    fn hear(&mut self, note: Note) -> Result<(), Error> {
        let Note { split, life, what } = note;
        if let What::Looked(result) = what {
            return self.looked(result);
        }
        if self.runs.get(&split).is_none_or(|run| run.life != life) {
            return Ok(());
        }
        match what {
            What::Raised(Some(token)) => self.tell(split, Event::Raised(token)),
            What::Raised(None) => self.tell(split, Event::Refused),
            What::Row(row) => self.tell(split, Event::Row(row)),
            What::Rows => {
                let rows = self.rows.clone();
                // Order: the store is free again before the actions begin, some of which write to it.
                let actions =
                    rows.with_store(|store| self.step(split, Event::Local(LocalDone::Rows(store))))?;
                self.perform_all(split, actions)
            }
            What::Observed(token, version) => self.tell(split, Event::Observed { token, version }),
            What::RolledBack => self.tell(split, Event::Committed(CommitOutcome::RolledBack)),
            What::Committed(outcome) => self.tell(split, Event::Committed(outcome?)),
            What::Resolved(result) => match self.settle(split, result)? {
                Some(offset) => self.tell(split, Event::Resolved(offset)),
                None => self.tell(split, Event::Failed(Failed::Resolve)),
            },
            What::Tailed(target, result) => match self.settle(split, result)? {
                Some(last) => self.tell(split, Event::Tailed { target, last }),
                None => self.tell(split, Event::Failed(Failed::Tail(target))),
            },
            What::Sent(target, result) => {
                let offset = match self.settle(split, result)? {
                    Some(Err(reason)) => {
                        self.failed(
                            split,
                            &format!("{}: a message may not be stored: {reason}", self.row.place(split)),
                        );
                        None
                    }
                    stored => stored.and_then(Result::ok),
                };
                self.tell(split, Event::Sent { target, offset })
            }
            What::Polled(offset, result) => match self.settle(split, result)? {
                None => self.tell(split, Event::Failed(Failed::Poll)),
                Some(Polled { messages, min, max, before, fresh }) => {
                    if let (Some(run), Some(last)) = (self.runs.get_mut(&split), messages.last()) {
                        run.known = Some((offset + messages.len() as u64, last.id));
                    }
                    let poll = Poll { messages: &messages, min, max, before, closed: false, fresh };
                    self.tell(split, Event::Polled(poll))
                }
            },
            What::Looked(_) => Ok(()),
        }
    }

    /// What a broker said: a value, nothing for now, or the end of the run.
    fn settle<T>(&mut self, split: Split, result: Result<T, rocketmq::Error>) -> Result<Option<T>, Error> {
        let run = self.runs.get_mut(&split);
        match result {
            Ok(value) => {
                if let Some(run) = run {
                    run.failures = 0;
                }
                if std::mem::take(&mut self.away) {
                    note("the brokers answer again");
                }
                Ok(Some(value))
            }
            // What was there when the run began is there again when its broker is.
            Err(error)
                if error.is_retryable()
                    || matches!(error, rocketmq::Error::NoQueue { .. } | rocketmq::Error::NoTopic { .. }) =>
            {
                self.failed(split, &error.to_string());
                Ok(None)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Something did not happen and is done again, behind a pause that grows.
    fn failed(&mut self, split: Split, why: &str) {
        if let Some(run) = self.runs.get_mut(&split) {
            run.failures = run.failures.saturating_add(1);
            // A broker that comes back may have lost its end: the message in front is looked at again.
            run.known = None;
        }
        if !std::mem::replace(&mut self.away, true) {
            note(&format!("{why}; going on when the brokers answer"));
        }
    }

    fn stopped(&mut self, split: Split, why: Stop) -> Result<(), Error> {
        let place = self.row.place(split);
        self.runs.remove(&split);
        let text = match why {
            Stop::Released => return Ok(()),
            Stop::Unclean => format!(
                "{place}: other code ran here and was not ended by a signal, so that what it had begun is not complete; start the program that ran before once more and end it with SIGTERM, then start this one"
            ),
            Stop::Fenced | Stop::Away(_) => format!("{place}: another process uses the same state"),
            Stop::Gap(gap) => format!("{place}: {gap}"),
            Stop::Lost { offset, min, max } => format!(
                "{place}: the state stands at offset {offset}, and the queue holds {min} to {max}, or another message there; the topic was made anew, lost its end, or its retention passed the job: begin with another --state directory, or bring the messages back"
            ),
            Stop::Broken(text) => format!("{place}: {text}"),
        };
        Err(ErrorKind::Broker(text).into())
    }

    /// Tells the broker the last offsets once more: without a state the next run begins there.
    async fn report_all(&self) {
        for (split, offset) in &self.reported {
            let Some((topic, queue)) = self.row.source(*split) else { continue };
            let told = self.broker.report(&self.cluster.group, topic, &queue, *offset);
            if !matches!(tokio::time::timeout(REPORT, told).await, Ok(Ok(()))) && !self.with_state {
                note(&format!(
                    "the offset {offset} of {} could not be left with the broker; the next run may read some records again",
                    self.row.place(*split)
                ));
            }
        }
    }

    /// Asks whether topics have grown.
    fn look(&mut self) {
        self.looking = true;
        let (mut row, broker, teller) = (self.row.clone(), self.broker.clone(), self.teller.clone());
        let n_sources = self.n_sources();
        tokio::spawn(async move {
            let grown = row.look(n_sources, &broker).await;
            let what = What::Looked(grown.map(|grown| (row, grown)));
            let _ = teller.send(Note { split: Split { stage: Stage(0), queue: 0 }, life: 0, what });
        });
    }

    fn looked(&mut self, result: Result<(JobRow, bool), Error>) -> Result<(), Error> {
        self.looking = false;
        match result {
            Ok((row, true)) if !self.leaving => {
                note("a topic has grown; its new queues are read from their beginning");
                row.save(&self.rows)?;
                self.row = row;
                for (split, run) in &mut self.runs {
                    if let Some(queues) = self.row.stages.get(usize::from(split.stage.0)) {
                        run.worker.announce(queues.numbers());
                    }
                }
                self.take_all()
            }
            // While the brokers are away nobody knows; what is really missing shows when it is used.
            _ => Ok(()),
        }
    }

    /// What the last commits count.
    pub(super) fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        for (split, snapshot) in self.rows.snapshots() {
            let plan = self.stages.get(usize::from(split.stage.0));
            if plan.is_some_and(|plan| plan.upstream.is_empty()) {
                counters.records_in += snapshot.counters.records_in;
            }
            if plan.is_some_and(|plan| plan.topics.iter().all(|topic| matches!(topic, Topic::Output(_)))) {
                counters.records_out += snapshot.counters.records_out;
            }
            counters.late += snapshot.counters.late;
            counters.dead_letter += snapshot.counters.dead_letter;
        }
        if self.letters.skips() {
            counters.skipped = std::mem::take(&mut counters.dead_letter);
        }
        counters
    }
}

/// Where the job's code has panicked the corrected program is other code, which must not go on in the middle.
fn other_code(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Panic(text) => {
            let text = text.lines().next().unwrap_or_default();
            ErrorKind::Panic(format!(
                "{text}\nthe last commit stands, but a corrected program is other code and goes on only where a run was ended by a signal: begin with another --state directory, or take the record out of the topic's way with --start"
            ))
            .into()
        }
        _ => error,
    }
}
