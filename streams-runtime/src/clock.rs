//! What time it is, by the system: for people, to whom it is said when something was committed, and for jobs in
//! processing time, whose commits fix what comes of it. Nothing else in a run depends on it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use streams_core::topology::Topology;

/// How often a job in processing time is told what time it is while nothing comes in.
const TICK: Duration = Duration::from_millis(100);

/// The clock of one run.
#[derive(Debug)]
pub(crate) struct Clock {
    /// When the job was told last; a job without processing time has none.
    told: Option<Instant>,
}

impl Clock {
    /// The clock for this job, which may need none.
    pub(crate) fn of(topology: &Topology) -> Self {
        let needed = topology.nodes.iter().any(|node| node.kind == "processing_time");
        Self { told: needed.then(Instant::now) }
    }

    /// What time it is, where the job asks for it.
    pub(crate) fn read(&mut self) -> Option<i64> {
        *self.told.as_mut()? = Instant::now();
        Some(now_ms())
    }

    /// The same, where the job has not been told for a while.
    pub(crate) fn tick(&mut self) -> Option<i64> {
        let due = self.told.is_some_and(|told| told.elapsed() >= TICK);
        if due { self.read() } else { None }
    }
}

/// Milliseconds since the Unix epoch, by the system.
#[expect(
    clippy::disallowed_methods,
    reason = "it is shown, or a job asked for processing time and its results are held"
)]
pub(crate) fn now_ms() -> i64 {
    let ms = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => ms(since),
        Err(before) => -ms(before.duration()),
    }
}
