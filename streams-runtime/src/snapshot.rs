//! The job's own row in a snapshot: how far every input was read and every output written, the counters, and
//! what shape of job wrote it.
//!
//! It is committed in the same batch as the operators' rows, so that one commit moves all of it or nothing.
//! The row is JSON with a version, for a person to read when something is wrong. Operators' rows are none of
//! its business; they lie under [`machine_prefix`].

use serde::{Deserialize, Serialize};
use streams_core::plan::Settings;
use streams_core::store::{Delta, Store};
use streams_core::topology::Topology;

use crate::error::Error;
use crate::report::Counters;

/// The key of the job's row.
const KEY: &[u8] = b"j";

/// The format written here. In the first one keys that are whole numbers belonged to other workers.
const VERSION: u32 = 2;

/// What the rows of the machine with this index start with.
pub(crate) fn machine_prefix(machine: usize) -> [u8; 3] {
    let [high, low] = u16::try_from(machine).expect("there are at most 256 workers").to_be_bytes();
    [b'm', high, low]
}

/// How far an input was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceMark {
    pub(crate) port: String,
    /// Absolute path of the file.
    pub(crate) path: Option<String>,
    pub(crate) offset: u64,
    /// Line of the next record.
    pub(crate) line: u64,
    /// Hash over the bytes in front of the offset.
    pub(crate) tail: u64,
    /// Whether the machine was told that the input has ended.
    pub(crate) ended: bool,
    /// Bytes behind the offset that were seen at the end and left, because they were no whole line.
    #[serde(default)]
    pub(crate) unread: u64,
    /// The columns that the header line of a CSV input names.
    #[serde(default)]
    pub(crate) columns: Option<Vec<String>>,
}

/// How far an output was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputMark {
    pub(crate) port: String,
    /// `print:` or `file:` with an absolute path.
    pub(crate) url: String,
    pub(crate) format: String,
    /// Bytes that belong to the snapshot.
    pub(crate) len: u64,
}

/// The job's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    version: u32,
    pub(crate) job: String,
    /// 0 before the first record.
    pub(crate) id: u64,
    /// Of the code that wrote it.
    pub(crate) fingerprint: u64,
    /// What of the job's graph the state depends on.
    pub(crate) shape: Vec<String>,
    pub(crate) settings: Settings,
    pub(crate) workers: usize,
    /// The input whose turn it is.
    pub(crate) turn: usize,
    pub(crate) sources: Vec<SourceMark>,
    pub(crate) outputs: Vec<OutputMark>,
    pub(crate) dead_letters: Option<OutputMark>,
    pub(crate) counters: Counters,
    /// When it was committed, by the clock of the machine: for people.
    #[serde(default)]
    pub(crate) committed_ms: Option<i64>,
}

impl Snapshot {
    /// The row of a job that has not begun.
    pub(crate) fn first(topology: &Topology, settings: &Settings, workers: usize) -> Self {
        Self {
            version: VERSION,
            job: topology.job.to_owned(),
            id: 0,
            fingerprint: topology.fingerprint,
            shape: shape(topology),
            settings: settings.clone(),
            workers,
            turn: 0,
            sources: Vec::new(),
            outputs: Vec::new(),
            dead_letters: None,
            counters: Counters::default(),
            committed_ms: None,
        }
    }

    /// Reads the row, if there is one.
    pub(crate) fn load(store: &dyn Store) -> Result<Option<Self>, Error> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Some(bytes) = store.get(KEY).map_err(Error::state)? else { return Ok(None) };
        let damaged = |error: serde_json::Error| {
            Error::state(format!(
                "the state's row about the job is damaged ({error}); begin again with another --state directory"
            ))
        };
        let Version { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
        if version != VERSION {
            return Err(Error::state(format!(
                "the state was written in format {version}, this program reads format {VERSION}; use the program that wrote it, or begin again with another --state directory"
            )));
        }
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }

    /// Adds the row to a commit.
    pub(crate) fn save(&self, delta: &mut Delta) -> Result<(), Error> {
        delta.put(KEY, &serde_json::to_vec(self).map_err(Error::state)?);
        Ok(())
    }

    /// Whether all inputs had been read to their ends.
    pub(crate) fn is_finished(&self) -> bool {
        !self.sources.is_empty() && self.sources.iter().all(|source| source.ended)
    }

    /// Refuses the state of another job.
    pub(crate) fn is_of(&self, topology: &Topology) -> Result<(), Error> {
        if self.job == topology.job {
            return Ok(());
        }
        Err(Error::state(format!(
            "the state belongs to the job `{}`, not to `{}`; give each job its own --state directory",
            self.job, topology.job
        )))
    }

    /// Whether this job, asked for in this way, can go on from here.
    pub(crate) fn admits(&self, topology: &Topology, workers: usize) -> Result<(), Error> {
        const ANEW: &str = "begin again with another --state directory";
        self.is_of(topology)?;
        if self.workers != workers {
            return Err(Error::usage(format!(
                "--workers {workers}: the state is divided among {}; run with --workers {}, or {ANEW}",
                crate::wording::counted(self.workers as u64, "worker"),
                self.workers
            )));
        }
        let difference = difference(&self.shape, topology);
        if !difference.is_empty() {
            return Err(Error::state(format!(
                "the state was written by a `{}` of another shape (- in the state, + in this program):{difference}\nrun the program that wrote it, or {ANEW}",
                self.job
            )));
        }
        Ok(())
    }
}

/// What a state has and this program does not, and the other way round, one a line; empty where they fit.
pub(crate) fn difference(kept: &[String], topology: &Topology) -> String {
    let shape = shape(topology);
    let missing = kept.iter().filter(|line| !shape.contains(line)).map(|line| format!("\n  - {line}"));
    let added = shape.iter().filter(|line| !kept.contains(line)).map(|line| format!("\n  + {line}"));
    missing.chain(added).collect()
}

/// The part of a job's graph that saved state depends on: ports and operators with an id. Stateless operators
/// may come and go; what an operator's rows are, its own signature says when they are loaded.
pub(crate) fn shape(topology: &Topology) -> Vec<String> {
    let kept = topology.nodes.iter().filter_map(|node| match node.kind {
        "source" | "sink" => Some(format!("{} `{}`: {}", node.kind, node.name, node.text)),
        "try_map" => None,
        kind if !node.name.is_empty() => Some(format!("{kind} `{}`", node.name)),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use streams_core::setting::setting_type;
    use streams_core::store::memory::MemoryStore;
    use streams_core::topology::{Node, SettingSpec};

    const fn topology(nodes: &'static [Node]) -> Topology {
        const SETTINGS: &[SettingSpec] =
            &[SettingSpec::new("size", Some("10s"), "", setting_type::<std::time::Duration>())];
        Topology { job: "traffic", doc: "", file: "", line: 0, settings: SETTINGS, nodes, fingerprint: 1 }
    }

    const BEFORE: Topology = topology(&[
        Node::new("source", "flows", &[], "Flow", 1),
        Node::new("map", "", &[0], "|f| f", 1),
        Node::new("window", "", &[1], "tumbling(size)", 1),
        Node::new("aggregate", "totals", &[2], "Total { n: count() }", 1),
    ]);
    const AFTER: Topology = topology(&[
        Node::new("source", "flows", &[], "Flow", 1),
        Node::new("window", "", &[0], "tumbling(size)", 1),
        Node::new("aggregate", "sums", &[1], "Total { n: count() }", 1),
    ]);

    #[track_caller]
    fn check(now: &Topology, workers: usize, expect: &str) {
        let snapshot = Snapshot::first(&BEFORE, &Settings::new(), 1);
        let shown =
            snapshot.admits(now, workers).map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!(shown, expect);
    }

    #[test]
    fn other_jobs_are_refused() {
        check(&BEFORE, 1, "ok");
        check(
            &BEFORE,
            2,
            "--workers 2: the state is divided among 1 worker; run with --workers 1, or begin again with another --state directory",
        );
        check(
            &AFTER,
            1,
            "the state was written by a `traffic` of another shape (- in the state, + in this program):\n  - aggregate `totals`\n  + aggregate `sums`\nrun the program that wrote it, or begin again with another --state directory",
        );
    }

    #[test]
    fn rows_come_back() {
        let mut store = MemoryStore::default();
        assert_eq!(Snapshot::load(&store).unwrap(), None);
        let snapshot = Snapshot::first(&BEFORE, &Settings::new(), 3);
        let mut delta = Delta::new();
        snapshot.save(&mut delta).unwrap();
        store.commit(&delta).unwrap();
        assert_eq!(Snapshot::load(&store).unwrap(), Some(snapshot));
        let mut delta = Delta::new();
        delta.put(KEY, br#"{"version":9}"#);
        store.commit(&delta).unwrap();
        assert!(Snapshot::load(&store).unwrap_err().to_string().contains("format 9"));
    }
}
