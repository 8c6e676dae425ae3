//! The state of a run on topics as it lies in a database.

use std::collections::BTreeMap;

use streams_core::error::StateError;
use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::worker::{rows_of, split_of_row};
use streams_core::store::backing::Backing;
use streams_core::store::{Store, Visit};
use tokio::runtime::Runtime;

use super::{Topics, runtime};
use crate::cluster::rows::{SplitRow, key_of};
use crate::cluster::topics::JobRow;
use crate::error::Error;
use crate::remote::mysql::{Address, Kept, Mysql, SplitState};
use crate::store::JOB;
use crate::upkeep::kept::Tally;
use crate::upkeep::savepoint::Savepoint;

/// A job's part of a database.
pub(in crate::upkeep) struct Database {
    mysql: Mysql,
    runtime: Runtime,
}

fn row_of(state: SplitState) -> SplitRow {
    let SplitState { owner, version, fingerprint, clean, snapshot } = state;
    SplitRow { owner: (owner.epoch > 0).then_some(owner), version, fingerprint, clean, snapshot }
}

fn state_of(row: &SplitRow) -> SplitState {
    SplitState {
        owner: row.owner.unwrap_or(Token { epoch: 0, nonce: 0 }),
        version: row.version,
        fingerprint: row.fingerprint,
        clean: row.clean,
        snapshot: row.snapshot.clone(),
    }
}

impl Database {
    /// Finds the job; makes nothing.
    pub(in crate::upkeep) fn find(address: &Address, group: &str) -> Result<(Self, Topics), Error> {
        let runtime = runtime()?;
        let (mysql, job, splits) = runtime.block_on(async {
            let nothing = || {
                Error::usage(format!(
                    "--remote: there is no state of the group `{group}` at {address}; name the one that `run --group` had, or the database that it had"
                ))
            };
            let mysql = Mysql::find(address, group).await?.ok_or_else(nothing)?;
            let (_, job) = mysql.job().await?.ok_or_else(nothing)?;
            let splits = mysql.split_states().await?;
            Ok::<_, Error>((mysql, job, splits))
        })?;
        let splits = splits.into_iter().map(|(split, state)| (split, row_of(state))).collect();
        Ok((Self { mysql, runtime }, Topics { row: JobRow::decode(&job)?, splits }))
    }

    pub(in crate::upkeep) fn tally(&self) -> Result<Vec<Tally>, Error> {
        let tallies = self.runtime.block_on(self.mysql.tallies())?;
        let tally =
            |(split, operator, rows, bytes)| Tally { prefix: rows_of(split).to_vec(), operator, rows, bytes };
        Ok(tallies.into_iter().map(tally).collect())
    }

    /// The rows under the prefix of a split, as whoever owns it now has committed them.
    pub(in crate::upkeep) fn backing(&self, prefix: &[u8]) -> Result<Box<dyn Backing>, Error> {
        let (split, _) = split_of_row(prefix).ok_or_else(|| Error::state("a prefix that is no split's"))?;
        let (token, _) = self.runtime.block_on(self.mysql.observe(split))?;
        let _entered = self.runtime.enter();
        Ok(self.mysql.backing(split, token))
    }

    /// Everything, as of one moment.
    pub(in crate::upkeep) fn visit(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        let mut trouble = None;
        let mut give = |kept: Kept<'_>| -> Result<(), StateError> {
            match kept {
                Kept::Job(body) => visit(JOB, body),
                Kept::Row(split, key, value) => visit(&[&rows_of(split), key].concat(), value),
                Kept::Split(split, state) => {
                    let bytes = row_of(state).encode();
                    visit(&key_of(split), &bytes.map_err(|error| StateError::Store(error.to_string()))?)
                }
            }
        };
        let read = self.runtime.block_on(self.mysql.visit(&mut |kept| {
            give(kept).map_err(|error| {
                let text = error.to_string();
                trouble = Some(error);
                text
            })
        }));
        match trouble {
            Some(error) => Err(Error::state(error)),
            None => read.map_err(Error::from),
        }
    }

    /// Sets splits that are still as they were, all of them or none.
    pub(in crate::upkeep) fn replace(
        &self,
        moved: &BTreeMap<Split, (SplitRow, SplitRow)>,
    ) -> Result<(), Error> {
        let moved: Vec<_> =
            moved.iter().map(|(split, (old, new))| (*split, state_of(old), state_of(new))).collect();
        if self.runtime.block_on(self.mysql.replace(&moved))? {
            return Ok(());
        }
        Err(Error::usage(
            "offsets reset: an instance of the job has just been started; stop it with SIGTERM; nothing was moved",
        ))
    }
}

/// Makes a savepoint the state of the group.
pub(in crate::upkeep) fn import(
    savepoint: &Savepoint,
    own: &dyn Store,
    (address, group): (&Address, &str),
    is_last: bool,
) -> Result<(), Error> {
    let topics = Topics::of_store(own)?;
    if topics.group() != group {
        return Err(Error::usage(format!(
            "--group {group}: the savepoint is that of the group `{0}`, which its topics are named by; give --group {0}",
            topics.group()
        )));
    }
    let runtime = runtime()?;
    let made = runtime.block_on(async {
        let mysql = Mysql::open(address, group, "upkeep").await?;
        let job = own.get(JOB).map_err(Error::state)?.unwrap_or_default();
        let mut splits = Vec::new();
        for (split, row) in &topics.splits {
            let row = if is_last { row.clone() } else { row.clone().restored()? };
            splits.push((*split, state_of(&row)));
        }
        let mut rows = savepoint.rows()?;
        let mut trouble = None;
        let made = mysql
            .import(&job, &splits, &mut || {
                loop {
                    match rows.next() {
                        Ok(Some((key, value))) if split_of_row(&key).is_some() => {
                            return Ok(Some((key, value)));
                        }
                        Ok(Some(_)) => {}
                        Ok(None) => return Ok(None),
                        Err(error) => {
                            let text = error.to_string();
                            trouble = Some(error);
                            return Err(text);
                        }
                    }
                }
            })
            .await;
        match trouble {
            Some(error) => Err(error),
            None => made.map_err(Error::from),
        }
    })?;
    if made {
        return Ok(());
    }
    Err(Error::usage(format!(
        "state import: the group `{group}` has a state already at {address}; give another database, or remove its row in streams_job: then it begins anew"
    )))
}
