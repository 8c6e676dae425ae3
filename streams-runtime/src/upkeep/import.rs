//! `state import FILE`: a savepoint becomes the state, all of it or nothing.
//!
//! Into a directory: the store is made under another name and gets its own behind the last flush, as a new store does.
//! Into a database: everything is one transaction. In front of both the savepoint is read to its end, and the job's
//! code is asked whether it can go on with what each operator keeps for itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use streams_core::machine::Machine;
use streams_core::protocol::worker::split_of_row;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store};

use super::kept::{self, kind_of};
use super::savepoint::{Header, LayoutName, RowReader, Savepoint, flush_names, give_name};
use super::without_ports;
use crate::cli::upkeep::{StatePlace, UpkeepConfig};
use crate::driver::guard;
use crate::error::Error;
use crate::job::JobHandle;
use crate::snapshot::{Snapshot, difference, machine_prefix};
use crate::store::Kind;
use crate::wording::counted;

/// How much is committed at once to a store that nobody sees yet.
const PART_BYTES: usize = 8 << 20;

/// Makes the savepoint the state.
///
/// A run on topics is sure to stand where it stood then only if it `is_last`: else what it has sent since lies in its
/// topics, the same code alone makes the same of it again, and the rows of its queues say so from then on.
pub(super) fn run(
    job: &JobHandle,
    config: &UpkeepConfig,
    file: &Path,
    is_last: bool,
) -> Result<String, Error> {
    let mut own = OwnRows::default();
    let savepoint = Savepoint::open(file, &mut |key, value| own.look(key, value))?;
    let OwnRows { job: own, machines } = own;
    fits(job, config, &savepoint.header, &own, machines)
        .map_err(|error| Error::state(format!("savepoint {} does not fit: {error}", file.display())))?;
    let place = match &config.place {
        StatePlace::Directory { dir, store } => into_directory(&savepoint, dir, *store, is_last)?,
        #[cfg(all(feature = "mysql", feature = "rocketmq"))]
        StatePlace::Remote { address, group } => {
            if savepoint.header.layout == LayoutName::Files {
                return Err(Error::usage(
                    "state import: the savepoint is that of a run on files, and a database has the state of runs on topics; give --state DIR",
                ));
            }
            super::topics::database::import(&savepoint, &own, (address, group), is_last)?;
            format!("{address}, group {group}")
        }
    };
    Ok(format!("{} of job `{}` are in {place}\n", counted(savepoint.n_rows, "row"), job.topology.job))
}

/// The rows that say what a state is one of.
#[derive(Debug, Default)]
struct OwnRows {
    /// The job's own, in both layouts.
    job: MemoryStore,
    /// By machine: what each operator keeps for itself.
    machines: BTreeMap<Vec<u8>, MemoryStore>,
}

impl OwnRows {
    fn look(&mut self, key: &[u8], value: &[u8]) {
        /// Of an operator.
        const ID: usize = 8;
        let machine = match (key.first(), split_of_row(key)) {
            (Some(b'm'), _) => key.split_at_checked(machine_prefix(0).len()),
            (_, Some((_, own))) => key.split_at_checked(key.len() - own.len()),
            _ => None,
        };
        let mut delta = Delta::new();
        delta.put(key, value);
        let store = match machine {
            Some((prefix, own)) if own.len() == ID => self.machines.entry(prefix.to_vec()).or_default(),
            Some(_) => return,
            None => &mut self.job,
        };
        store.commit(&delta).expect("memory takes every row");
    }
}

/// Whether the job can go on with the savepoint.
fn fits(
    job: &JobHandle,
    config: &UpkeepConfig,
    header: &Header,
    own: &MemoryStore,
    machines: BTreeMap<Vec<u8>, MemoryStore>,
) -> Result<(), Error> {
    let topology = job.topology;
    if header.job != topology.job {
        return Err(Error::state(format!(
            "it is that of the job `{}`, not of `{}`",
            header.job, topology.job
        )));
    }
    let difference = difference(&header.shape, topology);
    if !difference.is_empty() {
        return Err(Error::state(format!(
            "it was written by a `{}` of another shape (- in the savepoint, + in this program):{difference}\nuse the program that wrote it",
            header.job
        )));
    }
    let without = || Error::state("the job's own row is missing");
    let mut machine: Box<dyn FnMut() -> Result<Box<dyn Machine>, Error>> = match header.layout {
        LayoutName::Files => {
            let snapshot = Snapshot::load(own)?.ok_or_else(without)?;
            snapshot.admits(topology, snapshot.workers)?;
            let job = without_ports(job, &snapshot.settings, snapshot.workers);
            Box::new(move || job.machine())
        }
        #[cfg(feature = "rocketmq")]
        LayoutName::Topics => {
            let job = without_ports(job, &config.settings, 1);
            let stages = streams_core::protocol::stages::stages(|| job.sharded(&[]))?.len();
            super::topics::Topics::of_store(own)?.admits(topology, stages)?;
            Box::new(move || job.sharded(&[]))
        }
        #[cfg(not(feature = "rocketmq"))]
        LayoutName::Topics => {
            let _ = config;
            return Err(Error::state(
                "it is that of a run on Apache RocketMQ; use a program that was built with the feature `rocketmq`",
            ));
        }
    };
    // Each operator compares what it keeps with what it is.
    for (prefix, rows) in machines {
        let mut machine = machine()?;
        let place = || "the savepoint".to_owned();
        guard(&place, || machine.attach(Box::new(rows), &prefix))?.map_err(Error::state)?;
    }
    Ok(())
}

/// Gives the name of the place.
fn into_directory(
    savepoint: &Savepoint,
    dir: &Path,
    asked: Option<Kind>,
    is_last: bool,
) -> Result<String, Error> {
    let taken = || {
        Error::usage(format!(
            "state import: {} has a state already; give an empty directory, or move that one away",
            dir.display()
        ))
    };
    let found = kind_of(dir, asked)?;
    if let Some(kind) = found
        && !is_empty(dir, kind)?
    {
        return Err(taken());
    }
    let kind = asked.or(found).or_else(Kind::preferred).unwrap_or(Kind::Redb);
    let unfinished = Unfinished::new(dir)?;
    let mut store = crate::store::open(&unfinished.0, kind).map_err(Error::state)?;
    fill(&mut *store, savepoint.rows()?, is_last)?;
    // Order: the store is closed and flushed before it gets its name.
    drop(store);
    let failed = |error: std::io::Error| {
        Error::state(format!("cannot give the state its name in {}: {error}", dir.display()))
    };
    let named = dir.join(kind.entry());
    // A job may have begun since: the store is moved out of its way, and back where it is used or no longer empty.
    if let Some(found) = found {
        let (there, aside) = (dir.join(found.entry()), unfinished.0.join("before"));
        std::fs::create_dir(&aside).map_err(failed)?;
        let moved = aside.join(found.entry());
        std::fs::rename(&there, &moved).map_err(failed)?;
        if !matches!(is_empty(&aside, found), Ok(true)) {
            give_name(&moved, &there).map_err(failed)?;
            return Err(taken());
        }
    }
    match give_name(&unfinished.0.join(kind.entry()), &named) {
        Err(_) if named.exists() => return Err(taken()),
        given => given.map_err(failed)?,
    }
    flush_names(&named).map_err(failed)?;
    Ok(format!("{} ({})", dir.display(), kind.name()))
}

fn is_empty(dir: &Path, kind: Kind) -> Result<bool, Error> {
    let store = crate::store::open(dir, kind).map_err(Error::state)?;
    Ok(kept::layout(&*store)?.is_none())
}

fn fill(store: &mut dyn Store, mut rows: RowReader, is_last: bool) -> Result<(), Error> {
    #[cfg(not(feature = "rocketmq"))]
    let _ = is_last;
    let (mut delta, mut size) = (Delta::new(), 0);
    while let Some((key, value)) = rows.next()? {
        #[cfg(feature = "rocketmq")]
        let value = if is_last { value } else { super::topics::restored(&key, value)? };
        delta.put(&key, &value);
        size += key.len() + value.len();
        if size >= PART_BYTES {
            store.commit(&delta).map_err(Error::state)?;
            delta.clear();
            size = 0;
        }
    }
    store.commit(&delta).map_err(Error::state)
}

/// A directory for a state that is not whole yet; it goes with what is left in it.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(dir: &Path) -> Result<Self, Error> {
        let unfinished = dir.join(format!("import.{}.new", std::process::id()));
        let made = match std::fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => std::fs::create_dir_all(&unfinished),
        };
        made.map_err(|error| Error::state(format!("cannot write to {}: {error}", dir.display())))?;
        Ok(Self(unfinished))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It has a name that nobody looks for; what stays is in nobody's way.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
