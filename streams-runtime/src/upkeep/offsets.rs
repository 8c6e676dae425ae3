//! `offsets show` and `offsets reset`: how far inputs have been read, and where they are read on.
//!
//! A reset moves positions and nothing else: results that were written stay, and so does the state, so that what is
//! read again is counted again, and what is passed over never is. It is one commit, made only while no instance has
//! the state.

mod files;

use std::fmt::Write as _;

use serde::Serialize;
use streams_core::topology::Topology;

use super::kept::{Holder, Kept, Layout};
use super::list::table;
use crate::cli::upkeep::{Form, Reset, ResetTo, UpkeepConfig};
use crate::error::Error;
use crate::wording::grouped;

/// How far one file or queue was read.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    /// The input port, or the topic of a shuffle.
    pub(super) input: String,
    /// The file, or the queue.
    pub(super) place: String,
    /// Bytes of a file, messages of a queue.
    pub(super) offset: u64,
    /// The next line of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// How much is there and was not read; none where that was not asked.
    pub(super) behind: Option<u64>,
    /// How often the queue was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commits: Option<u64>,
    /// What there is to say about it.
    pub(super) note: &'static str,
}

/// How far everything was read, as it was committed.
pub(super) fn sources(kept: &Kept) -> Result<Vec<Source>, Error> {
    match &kept.layout {
        Layout::Files(snapshot) => Ok(files::sources(snapshot)),
        #[cfg(feature = "rocketmq")]
        Layout::Topics(topics) => topics.sources(),
    }
}

/// `offsets show`.
pub(super) fn show(config: &UpkeepConfig, kept: &Kept, form: Form) -> Result<String, Error> {
    let sources = sources(kept)?;
    let sources = match &kept.layout {
        Layout::Files(_) if !config.namesrv.is_empty() => return Err(no_brokers()),
        Layout::Files(_) => sources,
        #[cfg(feature = "rocketmq")]
        Layout::Topics(_) if config.namesrv.is_empty() => sources,
        #[cfg(feature = "rocketmq")]
        Layout::Topics(topics) => topics.ask_brokers(&config.namesrv, sources)?,
    };
    match form {
        Form::Json => json(&sources),
        Form::Text => Ok(text(&sources)),
    }
}

fn no_brokers() -> Error {
    Error::usage("--namesrv: the state is that of a run on files; leave it out")
}

/// As a person reads it.
pub(super) fn text(sources: &[Source]) -> String {
    let row = |source: &Source| {
        let line = source.line.map(|line| format!("line {}", grouped(line)));
        [
            source.input.clone(),
            source.place.clone(),
            format!("{} {}", if source.line.is_some() { "byte" } else { "offset" }, grouped(source.offset)),
            line.unwrap_or_default(),
            source.behind.map(|behind| format!("{} behind", grouped(behind))).unwrap_or_default(),
            source.commits.map(|commits| format!("commit {}", grouped(commits))).unwrap_or_default(),
            source.note.to_owned(),
        ]
    };
    table(&sources.iter().map(row).collect::<Vec<_>>())
}

/// As a program reads it.
pub(super) fn json(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string(value).map_err(Error::state)?;
    text.push('\n');
    Ok(text)
}

/// `offsets reset`.
pub(super) fn reset(
    topology: &Topology,
    config: &UpkeepConfig,
    kept: &mut Kept,
    reset: &Reset,
) -> Result<String, Error> {
    if !reset.is_confirmed {
        return Err(Error::usage(MEANING));
    }
    let before = sources(kept)?;
    match (&mut kept.layout, &mut kept.holder) {
        (Layout::Files(_), _) if !config.namesrv.is_empty() => return Err(no_brokers()),
        (Layout::Files(snapshot), Holder::Store(store)) => {
            snapshot.admits(topology, snapshot.workers)?;
            files::reset(snapshot, &mut **store, reset)?;
        }
        #[cfg(feature = "rocketmq")]
        (Layout::Topics(topics), holder) => topics.reset(topology, config, holder, reset)?,
        #[cfg(all(feature = "mysql", feature = "rocketmq"))]
        (Layout::Files(_), Holder::Database(_)) => unreachable!("a database has runs on topics alone"),
    }
    let after = sources(kept)?;
    let mut text = String::new();
    for (before, after) in before.iter().zip(&after).filter(|(a, b)| (a.offset, a.line) != (b.offset, b.line))
    {
        let place = |source: &Source| match source.line {
            Some(line) => format!("line {}", grouped(line)),
            None => grouped(source.offset),
        };
        let _ = writeln!(text, "{} {}: {} → {}", after.input, after.place, place(before), place(after));
    }
    if text.is_empty() {
        text.push_str("nothing was moved: the inputs are there already\n");
    }
    Ok(text)
}

/// What a person is told who has not said yes.
const MEANING: &str = "\
offsets reset: this moves where the inputs are read on, and nothing else; add --yes when that is what you want. Results that \
were written stay where they are, and the state is kept: what is read again is counted a second time, in windows that are open; \
records of windows that have fired are late; what is passed over is never counted. So the results are not those of reading every \
record exactly once. To compute everything anew, begin with another --state directory, or another --group";

/// A place that an input does not have.
pub(super) fn impossible(place: &str, to: ResetTo, why: &str) -> Error {
    let to = match to {
        ResetTo::Earliest => "earliest".to_owned(),
        ResetTo::Latest => "latest".to_owned(),
        ResetTo::Time(ms) => format!("time:{ms}"),
        ResetTo::Number(n) => n.to_string(),
    };
    Error::usage(format!("--to {to}: {place} {why}; nothing was moved"))
}
