//! The workers of an instance and the loop that tells them what happened.
//!
//! All workers run on one thread, one event at a time; what takes time (brokers, the disk) runs beside it and ends
//! with a [`Note`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use streams_core::error::StateError;
use streams_core::protocol::assign::Member;
use streams_core::protocol::ids::{Split, Stage, Target, Token, Topic};
use streams_core::protocol::instance::{Holder, Instance, Patience};
use streams_core::protocol::stages::StagePlan;
use streams_core::protocol::worker::{Action, CommitOutcome, Event, Failed, Found, Role, Worker};
use streams_core::store::backing::Row;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use super::copy::{Copied, LocalCopy};
use super::io::{Polled, Settler};
use super::remote::{Failure, Remote};
use super::tables::Tables;
use super::topics::{JobRow, Queues};
use crate::cli::{ClusterConfig, RunConfig};
use crate::deadletter::letters::Letters;
use crate::driver::guard;
use crate::error::Error;
use crate::job::JobHandle;
use crate::rocketmq::{Broker, Membership};
use crate::signals::StopFlag;
use crate::sink::{self, Start, Writer};
use crate::url::Place;

mod align;
mod counts;
mod group;
mod growth;
mod hear;
mod outages;
mod panics;
mod perform;
mod stopped;

use group::Group;
use outages::{Lane, Outages};
use stopped::other_code;

/// How often the name servers are asked for new queues.
const LOOK: Duration = Duration::from_secs(10);
/// How often rows are looked at by an instance that waits for its splits.
const WATCH: Duration = Duration::from_millis(100);
/// A split that has nothing to commit commits this often all the same, where others watch whether it is alive.
const BEAT: Duration = Duration::from_secs(3);
/// The parts of the time between two checkpoints; each split commits in one of them.
const TURNS: u32 = 8;
/// How often what must outlive a retention is written again.
const REFRESH: Duration = Duration::from_secs(6 * 3_600);
/// How long a message whose fate is unknown may take to appear in an output.
const SETTLE_MS: u64 = 2_000;
/// Items that may wait to be stored before a split stops reading.
const MOST_WAITING: usize = 1_024;
/// Bytes of such items.
const MOST_WAITING_BYTES: usize = 1024 * 1024;
/// The longest record: a message of 4 MiB, which is what brokers take, less what it has beside its body.
const MOST_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;
/// Records after which a split commits unasked.
const MOST_UNCOMMITTED: u64 = 1_000_000;

/// Messages that a split still reads before it is handed over, where an owner before it may have read them.
const MOST_BEHIND: u64 = 10_000;

/// What came of an action.
struct Note {
    split: Split,
    /// Of the worker that asked.
    life: u64,
    /// When it was begun.
    begun: Instant,
    what: What,
}

impl Note {
    /// A note of the group, which belongs to no worker.
    fn of_group(split: Split, what: What) -> Self {
        Self { split, life: 0, begun: Instant::now(), what }
    }
}

enum What {
    Raised(Result<Option<Token>, Failure>),
    Row(Result<Option<Found>, Failure>),
    Rows,
    /// A step of the local copy.
    Copied(Result<Copied, StateError>),
    Loaded(Token),
    Paged(Result<Option<(Vec<Row>, bool)>, Failure>),
    Observed(Result<(Token, u64), Failure>),
    RolledBack,
    Resolved(Result<u64, Failure>),
    Polled {
        /// Which pull of its worker it was.
        number: u64,
        offset: u64,
        polled: Result<Polled, Failure>,
    },
    Sent(Target, Result<Result<u64, String>, Failure>),
    Tailed(Target, Result<u64, Failure>),
    Committed(Result<CommitOutcome, Failure>),
    /// Topics were looked at: the record of the job as it is now.
    Looked(Result<(u64, JobRow), Failure>),
    /// Who is in the group.
    Members(BTreeSet<Member>),
    /// Whose a split is.
    Seen(Result<Option<Holder>, Failure>),
}

/// A worker and what is known of its split.
struct Run {
    worker: Worker,
    life: u64,
    /// Once it has been raised.
    token: Option<Token>,
    /// Rows that have been read in the background, and since when.
    loading: Option<(usize, Instant)>,
    /// The id of the last message that was read, with the offset behind it.
    known: Option<(u64, u64)>,
    /// The pull under way, which may wait for messages.
    pull: Option<AbortHandle>,
    /// How far its reading has come.
    pace: align::Pace,
    /// The next pull, which waits for other splits.
    held: Option<align::Held>,
    /// How many pulls there have been; the answer to an earlier one counts for nothing.
    pulls: u64,
    /// Failures in a row.
    failures: BTreeMap<Lane, u32>,
    last_checkpoint: Instant,
}

/// The job as its record has it.
pub(super) struct Known {
    pub(super) stages: Vec<StagePlan>,
    pub(super) row: JobRow,
    pub(super) version: u64,
    /// Tells code with other results apart.
    pub(super) fingerprint: u64,
    /// Addresses of tables whose rows never change.
    pub(super) fixed: BTreeSet<String>,
}

/// What the instance works with.
pub(super) struct Around {
    pub(super) remote: Remote,
    pub(super) copy: Option<LocalCopy>,
    pub(super) tables: Tables,
    pub(super) broker: Broker,
    pub(super) membership: Arc<Membership>,
    /// Its own name in the group.
    pub(super) client: Member,
}

/// The workers of this instance.
pub(super) struct Fleet {
    job: JobHandle,
    stages: Vec<StagePlan>,
    row: JobRow,
    /// The version of the job's record.
    version: u64,
    remote: Remote,
    /// Of the rows of its splits, beside a remote store.
    copy: Option<LocalCopy>,
    tables: Tables,
    broker: Broker,
    membership: Arc<Membership>,
    client: Member,
    instance: Instance,
    group: Group,
    settler: Arc<Settler>,
    cluster: ClusterConfig,
    checkpoint_interval: Duration,
    with_state: bool,
    /// By input port: after how much silence a queue holds event time back no longer.
    idle_after: Vec<Option<Duration>>,
    fingerprint: u64,
    /// Addresses of tables whose rows never change.
    fixed: BTreeSet<String>,
    /// By output port; only those that are printed.
    printers: Vec<Option<Writer>>,
    /// By output port.
    tags: Vec<Option<String>>,
    /// By input port: the tags of messages that are asked for.
    wanted: Vec<Vec<String>>,
    letters: Letters,
    panics: panics::Panics,
    runs: BTreeMap<Split, Run>,
    lives: u64,
    /// What came of actions that were done at once.
    ready: VecDeque<Note>,
    notes: UnboundedReceiver<Note>,
    teller: UnboundedSender<Note>,
    began: Instant,
    outages: Outages,
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
        known: Known,
        around: Around,
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
        let Known { stages, row, version, fingerprint, fixed } = known;
        let Around { remote, copy, tables, broker, membership, client } = around;
        Ok(Self {
            fingerprint,
            fixed,
            letters: Letters::open(config.on_bad, config.dead_letter.as_deref())?,
            panics: panics::Panics::default(),
            checkpoint_interval: config.checkpoint_interval,
            with_state: config.state.is_some(),
            idle_after: config.idle_after.clone(),
            job,
            stages,
            row,
            version,
            remote,
            copy,
            tables,
            broker,
            membership,
            instance: Instance::new(client.clone(), Patience::default()),
            client,
            group: Group::default(),
            settler: Arc::default(),
            cluster: cluster.clone(),
            printers,
            tags: config.to.iter().map(|url| url.tags().first().cloned()).collect(),
            wanted: config.from.iter().map(|url| url.tags().to_vec()).collect(),
            runs: BTreeMap::new(),
            lives: 0,
            ready: VecDeque::new(),
            notes,
            teller,
            began: Instant::now(),
            outages: Outages::default(),
            leaving: false,
            looking: false,
            reported: BTreeMap::new(),
        })
    }

    /// Runs until a signal asks for the end, and everything has been committed.
    pub(super) async fn run(&mut self, stop: &StopFlag) -> Result<(), Error> {
        if !self.remote.is_shared() {
            self.regroup()?;
        }
        // Ends with the channel.
        tokio::spawn(group::follow(Arc::clone(&self.membership), self.teller.clone()));
        let mut checkpoints = every((self.checkpoint_interval / TURNS).max(Duration::from_millis(1)));
        let mut turn = 0;
        let mut looks = every(LOOK);
        let mut refreshes = every(REFRESH);
        let mut watches = every(WATCH);
        let mut beats = every(BEAT);
        let mut signals = every(Duration::from_millis(50));
        loop {
            while let Some(note) = self.ready.pop_front() {
                self.hear(note)?;
            }
            if self.leaving && self.runs.is_empty() {
                self.report_all().await;
                return self.panics.flaw.take().map_or(Ok(()), Err);
            }
            tokio::select! {
                note = self.notes.recv() => {
                    if let Some(note) = note {
                        self.hear(note)?;
                    }
                }
                _ = checkpoints.tick() => {
                    self.printers.iter_mut().flatten().try_for_each(Writer::flush)?;
                    turn = (turn + 1) % TURNS;
                    self.checkpoint(turn)?;
                }
                _ = looks.tick(), if !self.looking => self.look(),
                _ = watches.tick() => self.watch(),
                _ = beats.tick() => self.beat(),
                _ = refreshes.tick() => {
                    let remote = self.remote.clone();
                    // It is tried again long before it is needed.
                    tokio::spawn(async move { remote.refresh().await.is_ok() });
                }
                _ = signals.tick() => {
                    self.align();
                    if stop.is_set() {
                        self.leave()?;
                    }
                }
            }
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Asks the splits whose turn it is and that have something to commit for a checkpoint. They do not commit all at
    /// once: one that waits for its commit reads nothing, and the others go on.
    fn checkpoint(&mut self, turn: u32) -> Result<(), Error> {
        let is_watched = self.remote.beats_by_commits();
        let mut due = Vec::new();
        let turn_of = |split: &Split| (u32::from(split.stage.0) + u32::from(split.queue)) % TURNS;
        for (split, run) in self.runs.iter_mut().filter(|(split, _)| turn_of(split) == turn) {
            if run.worker.has_news() || (is_watched && run.last_checkpoint.elapsed() >= BEAT) {
                run.last_checkpoint = Instant::now();
                due.push(*split);
            }
        }
        due.into_iter().try_for_each(|split| self.tell(split, Event::CheckPoint))
    }

    /// Tells those who watch that the owner of these splits lives.
    fn beat(&self) {
        let owned = self.runs.iter().filter_map(|(split, run)| Some((*split, run.token?)));
        let (owned, remote): (Vec<_>, _) = (owned.collect(), self.remote.clone());
        // The next one tells it too; who has lost a split learns it from his next commit.
        tokio::spawn(async move { remote.beat(&owned).await });
    }

    fn take(&mut self, split: Split) -> Result<(), Error> {
        let mut machine = self.job.sharded(&self.shuffle_queues())?;
        machine.focus(usize::from(split.stage.0));
        self.lives += 1;
        let mut actions = Vec::new();
        let worker = Worker::new(self.role(split), machine, &mut actions);
        let (life, last_checkpoint) = (self.lives, Instant::now());
        let run = Run {
            worker,
            life,
            token: None,
            loading: None,
            known: None,
            pull: None,
            pace: align::Pace::default(),
            held: None,
            pulls: 0,
            failures: BTreeMap::new(),
            last_checkpoint,
        };
        self.runs.insert(split, run);
        self.perform_all(split, actions)?;
        // One that replaces another may come when all are to leave.
        if self.leaving { self.revoke(split) } else { Ok(()) }
    }

    /// Whether it is a queue of an input, and not of a shuffle.
    fn is_source(&self, split: Split) -> bool {
        self.stages.get(usize::from(split.stage.0)).is_some_and(|stage| stage.upstream.is_empty())
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
        let in_commit = self.tables.in_commit();
        let sends = |topic: &Topic| !matches!(topic, Topic::Output(output) if in_commit.contains(output));
        Role {
            split,
            incarnation: self.row.incarnation(),
            // What an operator gives may be something else the next time, so the commit fixes it first (rule 8).
            held: self.job.topology.may_break_replay(),
            original: upstream.is_empty() && queues.is_some_and(|queues| queues.is_original(split.queue)),
            upstream,
            targets: topics.iter().filter(|t| sends(t)).map(|topic| (*topic, n_queues(topic))).collect(),
            in_commit,
            siblings: queues.map(Queues::numbers).unwrap_or_default(),
            fingerprint: self.fingerprint,
            clock: plan.is_some_and(|plan| plan.clock),
            tables: plan.is_some_and(|plan| plan.tables.iter().any(|table| !self.fixed.contains(&**table))),
            idle_after_ms: self.idle_after.get(stage).copied().flatten().map(whole_ms),
            settle_ms: SETTLE_MS,
            rows_in: self.remote.rows_in(),
            most_waiting: MOST_WAITING,
            most_waiting_bytes: MOST_WAITING_BYTES,
            most_uncommitted: MOST_UNCOMMITTED,
            most_behind: MOST_BEHIND,
            most_bytes: MOST_BYTES,
            culprit: self.panics.culprits.get(&split).cloned(),
        }
    }

    /// Tells a worker to hand its split over. A pull that waits for messages is not waited for.
    fn revoke(&mut self, split: Split) -> Result<(), Error> {
        self.tell(split, Event::Revoke)?;
        let Some(run) = self.runs.get_mut(&split) else { return Ok(()) };
        if run.held.take().is_none() {
            let Some(pull) = run.pull.take().filter(|pull| !pull.is_finished()) else { return Ok(()) };
            pull.abort();
            // It may have ended just now.
            run.pulls += 1;
        }
        self.tell(split, Event::Failed(Failed::Poll))
    }

    /// Tells a worker what happened, and begins what it wants.
    fn tell(&mut self, split: Split, event: Event<'_>) -> Result<(), Error> {
        let actions = self.step(split, event)?;
        self.perform_all(split, actions)
    }

    /// Tells a worker what happened: what it wants.
    fn step(&mut self, split: Split, event: Event<'_>) -> Result<Vec<Action>, Error> {
        let now_ms = self.now_ms();
        let Self { row, runs, .. } = self;
        let mut actions = Vec::new();
        if let Some(run) = runs.get_mut(&split) {
            let step = || run.worker.step(event, now_ms, &mut actions);
            guard(&|| row.place(split), step).map_err(other_code)?;
        }
        Ok(actions)
    }
}

fn whole_ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// From one period on: what is due at the start has been done then.
fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    interval
}
