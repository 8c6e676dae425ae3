//! Output ports that are tables: written by the commits themselves where the state is in the same database server,
//! so that each row is there exactly once; else by transactions of their own, which may be repeated.

use std::collections::BTreeSet;

#[cfg(feature = "mysql")]
use {
    super::remote::Failure,
    crate::remote::mysql::sink::{Mode, Sink, SinkRows, Target},
    std::sync::Arc,
    streams_core::protocol::worker::Committed,
};

use super::remote::Remote;
use crate::cli::RunConfig;
use crate::error::Error;
#[cfg(feature = "mysql")]
use crate::url::Place;

/// By output port; none for one that is no table.
#[derive(Clone, Default)]
pub(super) struct Tables {
    #[cfg(feature = "mysql")]
    tables: Vec<Option<Table>>,
}

#[cfg(feature = "mysql")]
#[derive(Clone)]
struct Table {
    sink: Arc<Sink>,
    in_commit: bool,
}

#[cfg(not(feature = "mysql"))]
impl Tables {
    /// Nothing: the command line refuses tables.
    #[expect(clippy::unused_async, reason = "with a database it asks it")]
    pub(super) async fn open(_config: &RunConfig, _remote: &Remote) -> Result<Self, Error> {
        Ok(Self::default())
    }

    /// Ports whose results the commits write.
    pub(super) fn in_commit(&self) -> BTreeSet<u16> {
        BTreeSet::new()
    }
}

#[cfg(feature = "mysql")]
impl Tables {
    /// Looks at the tables, and makes those that may be made.
    pub(super) async fn open(config: &RunConfig, remote: &Remote) -> Result<Self, Error> {
        let mut tables = Vec::new();
        for url in &config.to {
            tables.push(match url.place() {
                Place::Table => Some(Table::open(url.as_str(), remote).await?),
                _ => None,
            });
        }
        Ok(Self { tables })
    }

    /// Ports whose results the commits write.
    pub(super) fn in_commit(&self) -> BTreeSet<u16> {
        let tables = (0..).zip(&self.tables);
        tables.filter(|(_, table)| table.as_ref().is_some_and(|t| t.in_commit)).map(|(n, _)| n).collect()
    }

    /// The table of a port that is written by transactions of its own.
    pub(super) fn alone(&self, output: u16) -> Option<Arc<Sink>> {
        let table = self.tables.get(usize::from(output))?.as_ref()?;
        (!table.in_commit).then(|| Arc::clone(&table.sink))
    }

    /// Makes rows of results that a commit writes.
    pub(super) async fn prepare(&self, results: &[Committed]) -> Result<Vec<SinkRows>, Failure> {
        let mut rows = Vec::new();
        for (output, table) in (0..).zip(&self.tables) {
            let Some(table) = table else { continue };
            let own = results.iter().filter(|result| result.output == output);
            let records: Vec<&[u8]> = own.map(|result| result.record.as_slice()).collect();
            if !records.is_empty() {
                rows.push(table.sink.prepare(&records).await?);
            }
        }
        Ok(rows)
    }
}

#[cfg(feature = "mysql")]
impl Table {
    async fn open(url: &str, remote: &Remote) -> Result<Self, Error> {
        let target = Target::parse(url, &|name| std::env::var_os(name))
            .map_err(|why| Error::usage(format!("--to: {why}")))?;
        let in_commit = matches!(remote, Remote::Mysql(mysql, _) if mysql.is_at(&target.address));
        if !in_commit && target.mode == Mode::Insert {
            return Err(Error::usage(format!(
                "--to {url}: rows are inserted once only where the state is on the same server; add --remote for that server, or &mode=upsert or &mode=ignore"
            )));
        }
        let sink = Sink::open(&target).await.map_err(Failure::from).map_err(super::give_up)?;
        Ok(Self { sink: Arc::new(sink), in_commit })
    }
}

/// Writes results into a table by a transaction of its own.
#[cfg(feature = "mysql")]
pub(super) async fn write<'a>(sink: &Sink, records: impl Iterator<Item = &'a [u8]>) -> Result<(), Failure> {
    let rows = sink.prepare(&records.collect::<Vec<_>>()).await?;
    Ok(sink.write(&rows).await?)
}
