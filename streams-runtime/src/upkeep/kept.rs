//! A job's state as it lies in one of the stores: found, recognized, and read in the same way everywhere.
//!
//! There are two layouts. A run on files keeps its own row and the rows of its workers; a run on topics keeps the
//! record of the job and, for each queue, a row of its own and those of its operators. A database has the second one
//! in tables, and gives it here as a store would.

use std::path::Path;

use streams_core::inspect::Rows;
use streams_core::store::{Store, Visit};
use streams_core::topology::Topology;

use crate::cli::upkeep::StatePlace;
use crate::error::Error;
use crate::snapshot::{Snapshot, machine_prefix};
use crate::store::{INSTANCE, JOB, Kind};

#[cfg(feature = "rocketmq")]
use super::topics::Topics;
#[cfg(all(feature = "mysql", feature = "rocketmq"))]
use super::topics::database::Database;

/// A state that was found.
pub(super) struct Kept {
    /// Where, for texts.
    pub(super) place: String,
    pub(super) holder: Holder,
    pub(super) layout: Layout,
}

/// What holds the rows.
pub(super) enum Holder {
    Store(Box<dyn Store>),
    #[cfg(all(feature = "mysql", feature = "rocketmq"))]
    Database(Database),
}

/// Whose rows they are.
pub(super) enum Layout {
    Files(Box<Snapshot>),
    #[cfg(feature = "rocketmq")]
    Topics(Topics),
}

/// One machine whose rows lie together: a worker, or a queue.
pub(super) struct Part {
    /// For texts.
    pub(super) name: String,
    /// What the keys of its rows begin with.
    pub(super) prefix: Vec<u8>,
}

/// How much an operator keeps in one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) prefix: Vec<u8>,
    /// What stands for the operator in keys.
    pub(super) operator: [u8; 8],
    /// Rows besides the one that each operator has for itself.
    pub(super) rows: u64,
    /// Of keys and values.
    pub(super) bytes: u64,
}

impl Kept {
    /// Finds the state of the job.
    pub(super) fn find(topology: &Topology, place: &StatePlace) -> Result<Self, Error> {
        match place {
            StatePlace::Directory { dir, store } => {
                let kind = kind_of(dir, *store)?.ok_or_else(|| nothing_in(dir))?;
                let store = crate::store::open(dir, kind).map_err(Error::state)?;
                let place = format!("{} ({})", dir.display(), kind.name());
                let layout = layout(&*store)?.ok_or_else(|| nothing_in(dir))?;
                let kept = Self { place, holder: Holder::Store(store), layout };
                kept.is_of(topology)?;
                Ok(kept)
            }
            #[cfg(all(feature = "mysql", feature = "rocketmq"))]
            StatePlace::Remote { address, group } => {
                let (database, topics) = Database::find(address, group)?;
                let place = format!("{address}, group {group}");
                let kept = Self { place, holder: Holder::Database(database), layout: Layout::Topics(topics) };
                kept.is_of(topology)?;
                Ok(kept)
            }
        }
    }

    /// Refuses the state of another job.
    fn is_of(&self, topology: &Topology) -> Result<(), Error> {
        match &self.layout {
            Layout::Files(snapshot) => snapshot.is_of(topology),
            #[cfg(feature = "rocketmq")]
            Layout::Topics(topics) => topics.is_of(topology),
        }
    }

    /// The machines that have rows here.
    pub(super) fn parts(&self) -> Vec<Part> {
        match &self.layout {
            Layout::Files(snapshot) => {
                let part = |index: usize| Part {
                    name: format!("worker {index}"),
                    prefix: machine_prefix(index).to_vec(),
                };
                (0..snapshot.workers).map(part).collect()
            }
            #[cfg(feature = "rocketmq")]
            Layout::Topics(topics) => topics.parts(),
        }
    }

    /// How much each operator keeps.
    pub(super) fn tally(&self) -> Result<Vec<Tally>, Error> {
        match &self.holder {
            Holder::Store(store) => {
                let mut tallies: Vec<Tally> = Vec::new();
                for part in self.parts() {
                    let counted = store.scan(&part.prefix, &mut |key, value| {
                        count(&mut tallies, &part.prefix, key, value);
                        Ok(())
                    });
                    counted.map_err(Error::state)?;
                }
                Ok(tallies)
            }
            #[cfg(all(feature = "mysql", feature = "rocketmq"))]
            Holder::Database(database) => database.tally(),
        }
    }

    /// Lets `look` read the rows of one part.
    #[cfg_attr(
        not(all(feature = "mysql", feature = "rocketmq")),
        expect(unused_variables, reason = "a store reads all of its rows in the same way")
    )]
    pub(super) fn with_rows<R>(&self, part: &Part, look: impl FnOnce(Rows<'_>) -> R) -> Result<R, Error> {
        match &self.holder {
            Holder::Store(store) => Ok(look(Rows::Here(&**store))),
            #[cfg(all(feature = "mysql", feature = "rocketmq"))]
            Holder::Database(database) => {
                let backing = database.backing(&part.prefix)?;
                Ok(look(Rows::There(&*backing)))
            }
        }
    }

    /// Visits everything that belongs to the state, as of one moment, in the layout of a store.
    pub(super) fn visit(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        match &self.holder {
            Holder::Store(store) => store.scan(&[], visit).map_err(Error::state),
            #[cfg(all(feature = "mysql", feature = "rocketmq"))]
            Holder::Database(database) => database.visit(visit),
        }
    }
}

/// Adds a row to the tally of its operator; rows come in the order of their keys.
fn count(tallies: &mut Vec<Tally>, prefix: &[u8], key: &[u8], value: &[u8]) {
    let Some((operator, own)) = key.get(prefix.len()..).and_then(<[u8]>::split_first_chunk::<8>) else {
        return;
    };
    let is_known = tallies.last().is_some_and(|last| last.operator == *operator && last.prefix == prefix);
    if !is_known {
        tallies.push(Tally { prefix: prefix.to_vec(), operator: *operator, rows: 0, bytes: 0 });
    }
    if let Some(last) = tallies.last_mut() {
        last.rows += u64::from(!own.is_empty());
        last.bytes += (key.len() + value.len()) as u64;
    }
}

/// The store that a directory has; none where there is no state in it.
pub(super) fn kind_of(dir: &Path, asked: Option<Kind>) -> Result<Option<Kind>, Error> {
    if dir.exists() && !dir.is_dir() {
        return Err(Error::usage(format!("--state: {} is a file; give a directory", dir.display())));
    }
    let found = Kind::ALL.into_iter().find(|kind| dir.join(kind.entry()).exists());
    // Another one than was asked for is refused where it is opened.
    Ok(found.map(|found| asked.unwrap_or(found)))
}

fn nothing_in(dir: &Path) -> Error {
    let shown = dir.display();
    if dir.exists() {
        Error::usage(format!(
            "--state: there is no state in {shown}; give the directory that `run --state` had"
        ))
    } else {
        Error::usage(format!("--state: there is no directory {shown}; give the one that `run --state` had"))
    }
}

/// What a store has; none where it is empty.
pub(super) fn layout(store: &dyn Store) -> Result<Option<Layout>, Error> {
    if let Some(snapshot) = Snapshot::load(store)? {
        return Ok(Some(Layout::Files(Box::new(snapshot))));
    }
    if store.get(JOB).map_err(Error::state)?.is_some() {
        #[cfg(feature = "rocketmq")]
        return Ok(Some(Layout::Topics(Topics::of_store(store)?)));
        #[cfg(not(feature = "rocketmq"))]
        return Err(Error::state(
            "the state is that of a run on Apache RocketMQ; use a program that was built with the feature `rocketmq`",
        ));
    }
    if store.get(INSTANCE).map_err(Error::state)?.is_some() {
        return Err(Error::usage(
            "--state: this directory has an instance's copy of a remote store, which has the state; give --remote mysql://USER@HOST/DATABASE",
        ));
    }
    Ok(None)
}
