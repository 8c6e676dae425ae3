//! What a seed stands for: the shape of the fleet, the input, and the faults with the steps at which they come.

use serde::{Deserialize, Serialize};

use super::blueprint::Blueprint;
use super::random::{Random, mix};

/// When runs begin, by the clock of records and by those of instances.
pub(crate) const EPOCH_MS: i64 = 1_700_000_000_000;

/// What can go wrong, or simply happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fault {
    /// An instance loses its memory.
    Crash,
    /// An instance stands still; it goes on after this many steps.
    Pause(u32),
    /// Another instance takes a split that has an owner.
    Take,
    /// A split is to be handed over.
    Revoke,
    /// An instance's clock jumps forward.
    Jump(u64),
    /// The next message is stored, and its sender does not hear of it.
    AckLost,
    /// The next message is lost, and its sender does not know.
    SendLost,
    /// The next message is stored some time after its sender gave up.
    SendLate,
    /// The next commit is done, and its owner does not hear of it.
    CommitAckLost,
    /// The next commit is lost with its connection.
    CommitLost,
    /// The next commit is done some time after its connection was lost.
    CommitLate,
    /// A statement of the next commit fails.
    StatementFails,
    /// The store is away for this many steps.
    StoreAway(u32),
    /// The log is away for this many steps.
    LogAway(u32),
    /// The store fails over to a replica that lacks the newest raise of a token.
    FailOver,
    /// An instance is started again with other code, which gives the same results all the same.
    Upgrade,
    /// Retention removes what everybody has read.
    Retention,
    /// A source topic gets one more queue.
    Grow,
    /// A message of an earlier life of the job lies in a queue.
    Stranger,
    /// An instance loses its memory and its local store.
    DiskLost,
    /// The log loses the newest message of a shuffle queue: readers must notice.
    TailLost,
    /// Tables that are looked up have other rows.
    Change,
    /// An instance reads its tables again.
    Refresh,
}

/// A fault and when it comes; `pick` chooses among what it can hit.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Planned {
    pub(crate) step: u32,
    pub(crate) fault: Fault,
    pub(crate) pick: u64,
}

/// One record of the input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) port: usize,
    /// Which of the port's queues, as a number to be taken modulo how many there are.
    pub(crate) queue: usize,
    pub(crate) json: String,
    /// When the broker will have stored it.
    pub(crate) stored_ms: i64,
}

/// The shape of a fleet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) n_instances: usize,
    pub(crate) source_queues: Vec<usize>,
    /// By exchange.
    pub(crate) shuffle_queues: Vec<usize>,
    pub(crate) output_queues: usize,
    pub(crate) held: bool,
    /// Results are written by the commits.
    pub(crate) in_commit: bool,
    pub(crate) idle_after_ms: Option<u64>,
    /// The job begins at the end of what lies in its sources.
    pub(crate) latest: bool,
    /// How many records lie there when the job begins.
    pub(crate) n_before: usize,
    /// Instances keep copies of the rows of their splits.
    pub(crate) copied: bool,
    /// How many rows a page of the background load has at the most.
    pub(crate) page_rows: usize,
    /// One in so many chances lets a page be read.
    pub(crate) page_pause: usize,
    pub(crate) most_waiting: usize,
    pub(crate) most_waiting_bytes: usize,
    pub(crate) most_uncommitted: u64,
    pub(crate) most_behind: u64,
}

/// A whole run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunPlan {
    pub(crate) seed: u64,
    pub(crate) schedule: u64,
    pub(crate) shape: Shape,
    pub(crate) inputs: Vec<Input>,
    pub(crate) faults: Vec<Planned>,
}

/// What a user may fix.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    pub(crate) n_records: Option<usize>,
    pub(crate) n_instances: Option<usize>,
    pub(crate) n_queues: Option<usize>,
    pub(crate) held: Option<bool>,
    pub(crate) idleness: Option<bool>,
    pub(crate) disorder_ms: u64,
    pub(crate) no_faults: bool,
}

/// Makes a record of a port by hand.
pub type Generator = std::sync::Arc<dyn Fn(u64, i64) -> String + Send + Sync>;

impl RunPlan {
    /// The run of a seed.
    pub(crate) fn of(
        seed: u64,
        blueprint: &Blueprint,
        limits: &Limits,
        generators: &[Option<Generator>],
    ) -> Result<Self, String> {
        let mut random = Random::new(seed);
        let mut queues = |most| limits.n_queues.unwrap_or(1 + random.below(most));
        let source_queues = (0..blueprint.n_sources).map(|_| queues(3)).collect();
        let shuffle_queues = (0..blueprint.n_exchanges()).map(|_| queues(3)).collect();
        let output_queues = queues(3);
        let n_records = limits.n_records.unwrap_or(20 + random.below(60));
        let idle = limits.idleness.unwrap_or(random.percent(20));
        let latest = random.percent(25);
        let shape = Shape {
            n_instances: limits.n_instances.unwrap_or(2 + random.below(3)),
            source_queues,
            shuffle_queues,
            output_queues,
            held: limits.held.unwrap_or(random.percent(20)),
            idle_after_ms: idle.then(|| 20 + random.below(60) as u64),
            latest,
            n_before: if latest { random.below(n_records / 2) } else { random.below(4) },
            copied: random.percent(60),
            page_rows: 1 + random.below(6),
            page_pause: if random.percent(50) { 4 } else { 40 },
            most_waiting: if random.percent(50) { 4_096 } else { 2 + random.below(12) },
            most_waiting_bytes: if random.percent(50) { 1 << 20 } else { 1 + random.below(1_000) },
            most_uncommitted: if random.percent(50) { 10_000 } else { 4 + random.below(12) as u64 },
            most_behind: random.below(12) as u64,
            in_commit: random.percent(25),
        };
        let inputs = inputs(&mut random, blueprint, limits, generators, n_records)?;
        let mut faults = if limits.no_faults { Vec::new() } else { faults(&mut random, n_records) };
        if blueprint.has_changing_tables() {
            faults.extend(changes(&mut random, n_records));
            faults.sort_by_key(|planned| planned.step);
        }
        Ok(Self { seed, schedule: mix(seed, 1), shape, inputs, faults })
    }
}

fn inputs(
    random: &mut Random,
    blueprint: &Blueprint,
    limits: &Limits,
    generators: &[Option<Generator>],
    n_records: usize,
) -> Result<Vec<Input>, String> {
    let mut clock_ms = EPOCH_MS;
    let mut inputs = Vec::with_capacity(n_records);
    for _ in 0..n_records {
        // Now and then time stands still, and now and then it leaps over several windows.
        clock_ms += match random.below(20) {
            0 => 25_000,
            1..4 => 0,
            _ => random.below(2_000) as i64,
        };
        let port = random.below(blueprint.n_sources);
        let queue = random.below(1 << 20);
        let json = match (generators.get(port), blueprint.makers.get(port)) {
            (Some(Some(generator)), _) => generator(random.next(), clock_ms),
            (_, Some(make)) => {
                let mut draw = super::draw::Draw::new(random, clock_ms, limits.disorder_ms);
                make(&mut draw).map_err(|error| format!("records of port {port} cannot be drawn: {error}"))?
            }
            _ => return Err(format!("the job has no port {port}")),
        };
        inputs.push(Input { port, queue, json, stored_ms: clock_ms });
    }
    Ok(inputs)
}

fn faults(random: &mut Random, n_records: usize) -> Vec<Planned> {
    // About as long as the input takes to be produced and read.
    let span = 20 * n_records;
    let n = random.below(40);
    let lossy = random.percent(4);
    let mut faults: Vec<Planned> = (0..n).map(|_| planned(random, span)).collect();
    if lossy {
        let step = random.below(span) as u32;
        faults.push(Planned { step, fault: Fault::TailLost, pick: random.next() });
    }
    faults.sort_by_key(|planned| planned.step);
    faults
}

/// What happens to tables, with faults and without.
fn changes(random: &mut Random, n_records: usize) -> Vec<Planned> {
    let n = 2 + random.below(30);
    let change = |random: &mut Random| {
        let step = random.below(20 * n_records) as u32;
        let fault = if random.percent(40) { Fault::Change } else { Fault::Refresh };
        Planned { step, fault, pick: random.next() }
    };
    (0..n).map(|_| change(random)).collect()
}

fn planned(random: &mut Random, span: usize) -> Planned {
    let step = random.below(span) as u32;
    let length = 5 + random.below(span / 4) as u32;
    let fault = match random.below(36) {
        0..3 => Fault::Crash,
        3..6 => Fault::Pause(length),
        6..10 => Fault::Take,
        10..12 => Fault::Revoke,
        12 => Fault::Jump(1 + random.below(100_000) as u64),
        13..15 => Fault::AckLost,
        15 => Fault::SendLost,
        16..18 => Fault::SendLate,
        18 => Fault::CommitAckLost,
        19 => Fault::CommitLost,
        20..22 => Fault::CommitLate,
        22 => Fault::StatementFails,
        23 => Fault::StoreAway(length / 4),
        24 => Fault::LogAway(length / 4),
        25..27 => Fault::FailOver,
        27 => Fault::Retention,
        28 => Fault::Grow,
        29..32 => Fault::Upgrade,
        32..34 => Fault::DiskLost,
        _ => Fault::Stranger,
    };
    Planned { step, fault, pick: random.next() }
}
