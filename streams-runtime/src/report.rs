//! What a run did, in numbers that add up over restarts.

use serde::{Deserialize, Serialize};

use crate::wording::{counted, elapsed, grouped};

/// The counters of a job, kept in its snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Records read, bad ones included.
    pub(crate) records_in: u64,
    /// Records written.
    pub(crate) records_out: u64,
    /// Records that came too late for all their windows.
    pub(crate) late: u64,
    /// Records that `distinct_within` held back.
    #[serde(default)]
    pub(crate) repeated: u64,
    /// Bad records that became dead letters, written or only counted.
    pub(crate) dead_letter: u64,
    /// Bad records passed over by `--on-bad skip`.
    #[serde(default)]
    pub(crate) skipped: u64,
    /// Results of other jobs that came a second time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) duplicates: u64,
    /// Messages without a tag that was asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) filtered: u64,
    /// Results of other jobs that are missing between others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) missing: u64,
    /// Snapshots committed behind the first one, which every job commits before its first record.
    pub(crate) checkpoints: u64,
    /// Time spent running.
    pub(crate) elapsed_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "it is what serde calls")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// All input was read.
    Done,
    /// All input had been read by an earlier run.
    AlreadyDone,
    /// A signal asked for the end.
    Interrupted,
    /// The reader of the printed results went away.
    ReaderGone,
    /// The job failed.
    Failed,
}

/// The report of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    /// The numbers.
    #[serde(flatten)]
    pub(crate) counters: Counters,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

impl Report {
    /// The report as one JSON object and a line end.
    pub(crate) fn to_json(self) -> String {
        let mut text =
            serde_json::to_string_pretty(&self).expect("numbers and a word always have a JSON form");
        text.push('\n');
        text
    }

    /// The summary for people.
    pub(crate) fn summary(&self, job: &str) -> String {
        let c = &self.counters;
        let mut text = format!(
            "{job}: {} in, {} out, {} late, {}",
            counted(c.records_in, "record"),
            grouped(c.records_out),
            grouped(c.late),
            counted(c.dead_letter, "dead letter"),
        );
        let more = [
            (c.skipped, "skipped"),
            (c.repeated, "repeated"),
            (c.duplicates, "duplicates"),
            (c.filtered, "filtered"),
            (c.missing, "missing"),
        ];
        for (n, word) in more.into_iter().filter(|(n, _)| *n > 0) {
            text.push_str(&format!(", {} {word}", grouped(n)));
        }
        if c.checkpoints > 0 {
            text.push_str(&format!(", {}", counted(c.checkpoints, "checkpoint")));
        }
        text.push_str(&format!(" in {}", elapsed(std::time::Duration::from_millis(c.elapsed_ms))));
        text
    }
}
