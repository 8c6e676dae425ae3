//! What the job has counted, and how far it has come.

use std::time::Duration;

use super::Fleet;
use crate::report::Counters;
use crate::run::note;

/// How long the last report of a queue may take.
const REPORT: Duration = Duration::from_secs(3);

impl Fleet {
    /// What the last commits count.
    pub(in crate::cluster) async fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        let snapshots = self.remote.snapshots(&self.row.splits()).await.unwrap_or_else(|failure| {
            let why = crate::cluster::give_up(failure);
            note(&format!("what the job has counted cannot be read, and the report says 0: {why}"));
            Vec::new()
        });
        for (split, snapshot) in snapshots {
            let plan = self.stages.get(usize::from(split.stage.0));
            if plan.is_some_and(|plan| plan.upstream.is_empty()) {
                counters.records_in += snapshot.counters.records_in;
                counters.duplicates += snapshot.counters.duplicates;
                counters.filtered += snapshot.counters.filtered;
                counters.missing += snapshot.counters.missing;
            }
            counters.records_out += snapshot.counters.records_out;
            counters.late += snapshot.counters.late;
            counters.repeated += snapshot.counters.repeated;
            counters.dead_letter += snapshot.counters.dead_letter;
        }
        if self.letters.skips() {
            counters.skipped = std::mem::take(&mut counters.dead_letter);
        }
        counters
    }

    /// Tells the broker the last offsets once more: without a state the next run begins there.
    pub(super) async fn report_all(&self) {
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
}
