//! The protocol's own worker on the real store: owner after owner, each taking over from one that still runs, over
//! a network that loses connections, and in the end every record counted once and has one result.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mysql_async::prelude::Queryable as _;
use streams_core::batch::{Batch, Taken};
use streams_core::effects::{Address, Effects, Gauges, OutputBatch, Reach};
use streams_core::error::StateError;
use streams_core::inspect::Inquiry;
use streams_core::lookup::Tables;
use streams_core::machine::Machine;
use streams_core::protocol::ids::{Incarnation, Split, Stage};
use streams_core::protocol::worker::{
    Action, CommitOutcome, Event, Failed, Found, Message, Poll, Role, RowsIn, Stop, Worker, rows_of,
};
use streams_core::store::backing::{Backing, Row};
use streams_core::store::{Delta, Store};
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::Mysql;
use streams_runtime::remote::mysql::sink::{Sink, Target};

use super::proxy::{Fault, Proxy};
use super::{Database, Random, address, env};

const SPLIT: Split = Split { stage: Stage(0), queue: 0 };
const MESSAGES: u64 = 3000;
const WORDS: u64 = 400;

/// Counts words. Counts that are not in memory are read when they are needed.
#[derive(Default)]
struct Counting {
    counts: BTreeMap<Vec<u8>, u64>,
    changed: BTreeSet<Vec<u8>>,
    backing: Option<Box<dyn Backing>>,
    failure: Option<StateError>,
    results: OutputBatch,
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}

impl Machine for Counting {
    fn tables(&mut self, _: &Tables) {}
    fn refresh(&mut self) {}
    fn clock(&mut self, _: usize, _: i64) {}
    fn idle(&mut self, _: usize) {}
    fn active(&mut self, _: usize) {}
    fn n_sources(&self) -> usize {
        1
    }
    fn n_exchanges(&self) -> usize {
        0
    }
    fn new_split(&mut self, _: &dyn Store, _: &[u8]) -> Result<(), StateError> {
        unreachable!("rows are in the shared store alone")
    }
    fn attach(&mut self, backing: Box<dyn Backing>, _: &[u8]) -> Result<(), StateError> {
        self.backing = Some(backing);
        Ok(())
    }
    fn page(&mut self, rows: &[Row], prefix: &[u8]) -> Result<(), StateError> {
        for (key, value) in rows {
            // What is in memory is newer.
            self.counts.entry(key.strip_prefix(prefix).unwrap().to_vec()).or_insert(number(value));
        }
        Ok(())
    }
    fn loaded(&mut self) {
        self.backing = None;
    }
    fn ahead(&mut self, _: usize, _: &[&[u8]]) {}
    fn inspect<'a>(&mut self, inquiry: Inquiry<'a>) -> Inquiry<'a> {
        inquiry
    }
    fn failure(&mut self) -> Option<StateError> {
        self.failure.take()
    }
    fn feed(&mut self, _: usize, batch: Batch<'_>) -> Taken {
        let Batch::Raw { batch, .. } = batch else { panic!("{batch:?}") };
        for record in &batch.records {
            let word = batch.slice(record).to_vec();
            if let (None, Some(backing)) = (self.counts.get(&word), &self.backing) {
                match backing.get(&[&rows_of(SPLIT), word.as_slice()].concat()) {
                    Ok(Some(value)) => drop(self.counts.insert(word.clone(), number(&value))),
                    Ok(None) => (),
                    Err(error) => self.failure = Some(error),
                }
            }
            let count = self.counts.entry(word.clone()).or_default();
            *count += 1;
            let text = String::from_utf8_lossy(&word);
            let result = format!("{{\"at\":{},\"word\":\"{text}\",\"count\":{count}}}", record.offset);
            self.results.bytes.extend_from_slice(result.as_bytes());
            self.results.addresses.push(Address { hash: None, key_len: 0, end: self.results.bytes.len() });
            self.changed.insert(word);
        }
        Taken::All
    }
    fn watermark(&mut self, _: usize, _: i64) {}
    fn end(&mut self, _: usize) {}
    fn drain(&mut self, effects: &mut Effects) {
        effects.outputs.resize_with(1, OutputBatch::default);
        std::mem::swap(&mut effects.outputs[0], &mut self.results);
    }
    fn checkpoint(&mut self, delta: &mut Delta, prefix: &[u8]) -> Result<(), StateError> {
        for word in std::mem::take(&mut self.changed) {
            delta.put(&[prefix, &word].concat(), &self.counts[&word].to_be_bytes());
        }
        Ok(())
    }
    fn remove_split(&mut self) {}
    fn observe(&mut self) -> Gauges {
        Gauges::default()
    }
    fn reach(&mut self, _: usize) -> Reach {
        Reach::default()
    }
    fn focus(&mut self, _: usize) -> Reach {
        Reach::default()
    }
}

/// What happened to all owners together.
#[derive(Default)]
struct Seen {
    unknown: AtomicU64,
    fenced: AtomicU64,
    away: AtomicU64,
}

struct Owner {
    mysql: Mysql,
    sink: Sink,
    proxy: Proxy,
    queue: Arc<Vec<Message>>,
    random: Random,
    seen: Arc<Seen>,
    /// The last one: nothing fails any more.
    is_last: bool,
}

/// How an owner ended.
#[derive(Debug, PartialEq)]
enum End {
    Done,
    Stopped(Stop),
}

impl Owner {
    async fn run(mut self) -> End {
        let role = Role {
            split: SPLIT,
            incarnation: Incarnation(1),
            upstream: Vec::new(),
            targets: Vec::new(),
            in_commit: BTreeSet::from([0]),
            held: false,
            original: true,
            siblings: BTreeSet::from([0]),
            fingerprint: 7,
            idle_after_ms: None,
            clock: false,
            tables: false,
            settle_ms: 0,
            rows_in: RowsIn::Remote,
            most_waiting: 100,
            most_waiting_bytes: usize::MAX,
            most_uncommitted: 500,
            most_behind: 100,
            most_bytes: usize::MAX,
            culprit: None,
        };
        let mut actions = Vec::new();
        let mut worker = Worker::new(role, Box::new(Counting::default()), &mut actions);
        let mut waiting: VecDeque<Action> = actions.drain(..).collect();
        while let Some(action) = waiting.pop_front() {
            if let Action::Stop(why) = action {
                return End::Stopped(why);
            }
            self.fail_now_and_then();
            self.perform(action, &mut worker, &mut actions).await;
            if self.random.below(6) == 0 {
                worker.step(Event::CheckPoint, 0, &mut actions);
            }
            if self.is_last && worker.is_done() {
                return End::Done;
            }
            waiting.extend(actions.drain(..));
        }
        panic!("the worker waits for nothing: {worker:?}");
    }

    fn fail_now_and_then(&mut self) {
        let fault = match self.random.below(15) {
            _ if self.is_last => Fault::None,
            0 => Fault::CutAt(1 + self.random.below(12)),
            1..4 => Fault::CutBehindCommit,
            4..6 => Fault::CutAtCommit,
            6 => Fault::CutBeforeCommit,
            _ => Fault::None,
        };
        self.proxy.set(fault);
    }

    async fn away<T>(&self, answer: Result<T, Failure>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(Failure::Away(_)) => {
                self.seen.away.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
                None
            }
            Err(Failure::Fatal(text)) => panic!("{text}"),
        }
    }

    async fn perform(&mut self, action: Action, worker: &mut Worker, actions: &mut Vec<Action>) {
        let mut tell = |event: Event<'_>| worker.step(event, 0, actions);
        match action {
            Action::Raise { fingerprint } => {
                let nonce = self.random.below(u64::MAX);
                match self.away(self.mysql.raise(SPLIT, fingerprint, nonce).await).await {
                    Some(Some(token)) => tell(Event::Raised(token)),
                    Some(None) => tell(Event::Refused),
                    None => tell(Event::Failed(Failed::Raise)),
                }
            }
            Action::Read { token } => match self.away(self.mysql.read(SPLIT).await).await {
                Some(row) => {
                    let found = |(version, snapshot)| Found::by_epoch(version, snapshot, token.epoch);
                    tell(Event::Row(row.map(found)));
                }
                None => tell(Event::Failed(Failed::Read)),
            },
            Action::Resolve { .. } => tell(Event::Resolved(0)),
            Action::Load { token } => tell(Event::Loaded(self.mysql.backing(SPLIT, token))),
            Action::Page { token, after } => {
                let most = 1 + self.random.below(100) as usize;
                match self.away(self.mysql.page(SPLIT, token, &after, most, 1000).await).await {
                    Some(Some(page)) => tell(Event::Paged { rows: &page.rows, more: page.more }),
                    Some(None) => tell(Event::Fenced),
                    None => tell(Event::Failed(Failed::Page)),
                }
            }
            Action::Poll { offset } => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let from = offset as usize;
                let to = (from + self.random.below(20) as usize).min(self.queue.len());
                let poll = Poll {
                    messages: &self.queue[from..to],
                    min: 0,
                    max: MESSAGES,
                    before: from.checked_sub(1).map(|before| self.queue[before].id),
                    closed: true,
                    fresh: true,
                    clock_ms: 0,
                };
                tell(Event::Polled(poll));
            }
            Action::Commit { token, version, snapshot, delta, results, clean } => {
                let results: Vec<&[u8]> = results.iter().map(|result| result.record.as_slice()).collect();
                let done = match self.sink.prepare(&results).await {
                    Ok(rows) => {
                        let stand = (token, version);
                        self.mysql.commit_with(SPLIT, stand, &snapshot, &delta, clean, &[rows]).await
                    }
                    Err(failure) => Err(failure),
                };
                // What did not happen is rolled back.
                let outcome = self.away(done).await.unwrap_or(CommitOutcome::RolledBack);
                match outcome {
                    CommitOutcome::Unknown => self.seen.unknown.fetch_add(1, Ordering::Relaxed),
                    CommitOutcome::Fenced => self.seen.fenced.fetch_add(1, Ordering::Relaxed),
                    _ => 0,
                };
                tell(Event::Committed(outcome));
            }
            Action::Observe => match self.away(self.mysql.observe(SPLIT).await).await {
                Some((token, version)) => tell(Event::Observed { token, version }),
                None => tell(Event::Failed(Failed::Observe)),
            },
            Action::Report { .. } => (),
            other => panic!("nothing asks for {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_record_counts_once_whoever_owns_the_split() {
    let database = Database::new("worker").await;
    let mut conn = database.conn().await;
    // Without a key: nothing but the transactions keeps a result from being there twice.
    conn.query_drop("CREATE TABLE results (at BIGINT, word VARCHAR(20), count BIGINT)").await.unwrap();
    let mut random = Random(42);
    let mut expect: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let queue: Vec<Message> = (0..MESSAGES)
        .map(|id| {
            let body = format!("w{}", random.below(WORDS)).into_bytes();
            *expect.entry(body.clone()).or_default() += 1;
            Message { id, stored_ms: 0, body, is_unwanted: false, result_of: None }
        })
        .collect();
    let (queue, seen) = (Arc::new(queue), Arc::new(Seen::default()));
    let mut owners = Vec::new();
    for i in 0..=20 {
        let proxy = Proxy::new().await;
        let through = address(&proxy.text(&database.name, "?timeout=5"));
        let results = proxy.text(&database.name, "?table=results");
        let results = Target::parse(&results, &env).unwrap();
        let mysql = Mysql::open(&through, "job", &format!("owner-{i}")).await.unwrap();
        let owner = Owner {
            mysql,
            sink: Sink::open(&results).await.unwrap(),
            proxy,
            queue: Arc::clone(&queue),
            random: Random(1 + i),
            seen: Arc::clone(&seen),
            is_last: i == 20,
        };
        owners.push(tokio::spawn(owner.run()));
        tokio::time::sleep(Duration::from_millis(20 + random.below(80))).await;
    }
    let mut ends = Vec::new();
    for owner in owners {
        ends.push(owner.await.unwrap());
    }
    assert_eq!(ends.pop(), Some(End::Done));
    let fenced = ends.iter().filter(|end| **end == End::Stopped(Stop::Fenced)).count();
    let away = ends.iter().filter(|end| matches!(end, End::Stopped(Stop::Away(_)))).count();
    assert_eq!(fenced + away, 20, "{ends:?}");

    let mysql = database.open().await;
    let (token, version) = mysql.observe(SPLIT).await.unwrap();
    let page = mysql.page(SPLIT, token, b"", 10_000, 1 << 20).await.unwrap().unwrap();
    let counted: BTreeMap<Vec<u8>, u64> =
        page.rows.iter().map(|(key, value)| (key[5..].to_vec(), number(value))).collect();
    assert!(counted == expect, "the counts differ");
    // And each has its result once, with the count that a single owner would have seen.
    let found: Vec<(u64, String, u64)> =
        conn.query("SELECT at, word, count FROM results ORDER BY at, count").await.unwrap();
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    let wanted = queue.iter().map(|message| {
        let count = counts.entry(&message.body).or_default();
        *count += 1;
        (message.id, String::from_utf8_lossy(&message.body).into_owned(), *count)
    });
    assert!(found.into_iter().eq(wanted), "the results differ");
    let (_, snapshot) = mysql.read(SPLIT).await.unwrap().unwrap();
    assert_eq!((snapshot.offset, snapshot.counters.records_in), (MESSAGES, MESSAGES));
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    println!(
        "{version} commits by {} owners, {fenced} of them fenced, {away} in the middle of a record; {} commits of \
         unknown fate, {} that were fenced, {} times away",
        token.epoch,
        count(&seen.unknown),
        count(&seen.fenced),
        count(&seen.away)
    );
    assert!(count(&seen.unknown) > 0 && count(&seen.fenced) > 0 && fenced > 0);
}
