//! Where the truth about splits is: their owners, snapshots and rows, and the record of the job.
//!
//! One of them, chosen by the command line: the instance's own store, which no other can read; a topic; a database.
//! All give the same answers to the same questions, which are those of the protocol's worker.

use std::collections::BTreeSet;

use streams_core::protocol::ids::{Split, Token};
use streams_core::protocol::instance::Holder;
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::{CommitOutcome, Committed, Found, RowsIn, rows_of};
use streams_core::store::Delta;
use streams_core::store::Store as _;
use streams_core::store::backing::{Backing, Row};

use super::log::Log;
#[cfg(feature = "mysql")]
use super::random_number;
use super::rows::SplitRows;
use super::tables::Tables;
use crate::error::{Error, ErrorKind};
#[cfg(feature = "mysql")]
use crate::remote::mysql::Mysql;
use crate::rocketmq;

/// A page of the background load has so many rows, and so many bytes, at the most.
#[cfg(feature = "mysql")]
const PAGE_ROWS: usize = 5_000;
#[cfg(feature = "mysql")]
const PAGE_BYTES: usize = 1 << 20;

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// A server is away: it is asked again later.
    Away(String),
    /// Asking again will not help.
    Fatal(Error),
}

impl From<rocketmq::Error> for Failure {
    fn from(error: rocketmq::Error) -> Self {
        use rocketmq::Error::{NoQueue, NoTopic};
        // What was there when the run began is there again when its broker is.
        match error.is_retryable() || matches!(error, NoQueue { .. } | NoTopic { .. }) {
            true => Self::Away(error.to_string()),
            false => Self::Fatal(ErrorKind::Broker(error.to_string()).into()),
        }
    }
}

#[cfg(feature = "mysql")]
impl From<crate::remote::Failure> for Failure {
    fn from(failure: crate::remote::Failure) -> Self {
        match failure {
            crate::remote::Failure::Away(text) => Self::Away(text),
            crate::remote::Failure::Fatal(text) => Self::Fatal(Error::state(text)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// What a commit makes durable.
pub(super) struct Written {
    pub(super) snapshot: Box<Snapshot>,
    pub(super) delta: Delta,
    /// Of output ports that are tables of the same database; of others there are none.
    #[cfg_attr(not(feature = "mysql"), expect(dead_code, reason = "there are no tables"))]
    pub(super) results: Vec<Committed>,
    #[cfg_attr(not(feature = "mysql"), expect(dead_code, reason = "there are no tables"))]
    pub(super) tables: Tables,
}

/// Where the truth is.
#[derive(Clone)]
pub(super) enum Remote {
    /// In the instance's own store.
    Own(SplitRows),
    /// In a topic.
    Log(Log),
    /// In a database; whether the instance keeps a copy of the rows.
    #[cfg(feature = "mysql")]
    Mysql(Mysql, Copies),
}

/// Whether the instance keeps a copy of remote rows.
#[cfg(feature = "mysql")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    No,
    OnDisk,
}

impl Remote {
    /// Whether others can take splits over.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::Own(_))
    }

    /// Where a worker finds its rows.
    pub(super) fn rows_in(&self) -> RowsIn {
        match self {
            Self::Own(_) => RowsIn::Local,
            Self::Log(_) => RowsIn::Remote,
            #[cfg(feature = "mysql")]
            Self::Mysql(_, Copies::No) => RowsIn::Remote,
            #[cfg(feature = "mysql")]
            Self::Mysql(_, Copies::OnDisk) => RowsIn::RemoteAndCopy,
        }
    }

    /// Who is told of when it is away.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Own(_) => "the state",
            Self::Log(_) => "the broker of the state's topic",
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => mysql.place(),
        }
    }

    /// The job's record with its version.
    pub(super) async fn job(&self) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        match self {
            Self::Own(rows) => Ok(rows.job()?),
            Self::Log(log) => log.job().await,
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => Ok(mysql.job().await?),
        }
    }

    /// Writes the job's record behind version `before`, 0 for none; says whether it is in force.
    pub(super) async fn put_job(&self, before: u64, bytes: &[u8]) -> Result<bool, Failure> {
        match self {
            Self::Own(rows) => Ok(rows.put_job(before, bytes)?),
            Self::Log(log) => log.put_job(before, bytes).await,
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => Ok(mysql.put_job((before > 0).then_some(before), bytes).await?),
        }
    }

    /// What is to be done now and then so that nothing is forgotten.
    pub(super) async fn refresh(&self) -> Result<(), Failure> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Log(log) => log.repeat_job().await,
            #[cfg(feature = "mysql")]
            Self::Mysql(..) => Ok(()),
        }
    }

    /// There are so many queues of each source now.
    pub(super) async fn widen(&self, n_queues: u16) -> Result<(), Failure> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Log(log) => log.widen(n_queues).await,
            #[cfg(feature = "mysql")]
            Self::Mysql(..) => Ok(()),
        }
    }

    /// Raises a split's token; `None` where other code did not leave the split clean (rules 13 and 19).
    pub(super) async fn raise(&self, split: Split, fingerprint: u64) -> Result<Option<Token>, Failure> {
        match self {
            Self::Own(rows) => Ok(rows.raise(split, fingerprint)?),
            Self::Log(log) => log.raise(split, fingerprint).await,
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => Ok(mysql.raise(split, fingerprint, random_number()).await?),
        }
    }

    /// What the last commit left for the owner with `token`; none before snapshot 0.
    pub(super) async fn read(&self, split: Split, token: Token) -> Result<Option<Found>, Failure> {
        let row = match self {
            Self::Own(rows) => rows.read(split)?,
            Self::Log(log) => return log.read_snapshot(split),
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => mysql.read(split).await?,
        };
        Ok(row.map(|(version, snapshot)| Found::by_epoch(version, snapshot, token.epoch)))
    }

    /// Token and version of a split that this instance has taken.
    pub(super) async fn observe(&self, split: Split) -> Result<(Token, u64), Failure> {
        const NOBODY: (Token, u64) = (Token { epoch: 0, nonce: 0 }, 0);
        match self {
            Self::Own(rows) => Ok(rows.observe(split)),
            Self::Log(log) => Ok(log.observe(split).await?.unwrap_or(NOBODY)),
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => Ok(mysql.observe(split).await?),
        }
    }

    /// Whose a split is; none where nobody ever had it.
    pub(super) async fn holder(&self, split: Split) -> Result<Option<Holder>, Failure> {
        match self {
            // Whoever had it had this directory, which is one process's at a time.
            Self::Own(_) => Ok(None),
            Self::Log(log) => log.holder(split).await,
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => Ok(mysql.holder(split).await?),
        }
    }

    /// Commits if token and version are still these.
    pub(super) async fn commit(
        &self,
        split: Split,
        stand: (Token, u64),
        written: Written,
        clean: bool,
    ) -> Result<CommitOutcome, Failure> {
        let Written { snapshot, delta, .. } = &written;
        match self {
            Self::Own(rows) => {
                let rows = rows.clone();
                let commit = move || rows.commit(split, stand, &written.snapshot, written.delta, clean);
                match tokio::task::spawn_blocking(commit).await {
                    Ok(outcome) => Ok(outcome?),
                    Err(error) => Err(Error::state(format!("the commit did not end: {error}")).into()),
                }
            }
            Self::Log(log) => log.commit(split, stand, snapshot, delta, clean).await,
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => {
                let results = written.tables.prepare(&written.results).await?;
                Ok(mysql.commit_with(split, stand, snapshot, delta, clean, &results).await?)
            }
        }
    }

    /// The rows of a split that this instance has taken, to be read when they are needed.
    #[cfg_attr(not(feature = "mysql"), expect(unused_variables, reason = "a log is read by its owner alone"))]
    pub(super) fn backing(&self, split: Split, token: Token) -> Box<dyn Backing> {
        match self {
            Self::Own(_) => unreachable!("rows of the instance's own store are read at once"),
            Self::Log(log) => Box::new(log.rows(split)),
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => mysql.backing(split, token),
        }
    }

    /// The rows behind `after`, and whether there are more behind these; none where the token does not stand any
    /// more.
    #[cfg_attr(not(feature = "mysql"), expect(unused_variables, reason = "a log is read by its owner alone"))]
    pub(super) async fn page(
        &self,
        split: Split,
        token: Token,
        after: &[u8],
    ) -> Result<Option<(Vec<Row>, bool)>, Failure> {
        match self {
            Self::Own(_) => unreachable!("rows of the instance's own store are read at once"),
            Self::Log(log) => {
                let (rows, mut page) = (log.rows(split), Vec::new());
                let read = rows.scan(&rows_of(split), &mut |key, value| {
                    if key > after {
                        page.push((key.to_vec(), value.to_vec()));
                    }
                    Ok(())
                });
                read.map_err(Error::state)?;
                Ok(Some((page, false)))
            }
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => {
                let page = mysql.page(split, token, after, PAGE_ROWS, PAGE_BYTES).await?;
                Ok(page.map(|page| (page.rows, page.more)))
            }
        }
    }

    /// Says that the owners of these splits live; whether that was told. A log has no beats: its owners commit.
    #[cfg_attr(not(feature = "mysql"), expect(unused_variables, reason = "only a database has beats"))]
    pub(super) async fn beat(&self, owned: &[(Split, Token)]) -> bool {
        match self {
            Self::Own(_) | Self::Log(_) => false,
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => mysql.heartbeat(owned).await.is_ok(),
        }
    }

    /// Whether an owner that has nothing to commit commits all the same, to show that it lives.
    pub(super) fn beats_by_commits(&self) -> bool {
        matches!(self, Self::Log(_))
    }

    /// The last snapshots of `splits`.
    pub(super) async fn snapshots(
        &self,
        splits: &BTreeSet<Split>,
    ) -> Result<Vec<(Split, Snapshot)>, Failure> {
        match self {
            Self::Own(rows) => Ok(rows.snapshots()),
            Self::Log(log) => {
                let mut found = Vec::new();
                for &split in splits {
                    found.extend(log.snapshot(split).await?.map(|snapshot| (split, snapshot)));
                }
                Ok(found)
            }
            #[cfg(feature = "mysql")]
            Self::Mysql(mysql, _) => Ok(mysql.snapshots().await?),
        }
    }
}
