//! Topics that grow while the job runs.

use super::group::NO_SPLIT;
use super::{Fleet, Note, What};
use crate::cluster::remote::{Failure, Remote};
use crate::cluster::topics::JobRow;
use crate::error::Error;
use crate::rocketmq::Broker;
use crate::run::note;

impl Fleet {
    /// Asks whether topics have grown.
    pub(super) fn look(&mut self) {
        self.looking = true;
        let (remote, broker, teller) = (self.remote.clone(), self.broker.clone(), self.teller.clone());
        let n_sources = self.n_sources();
        tokio::spawn(async move {
            let what = What::Looked(look(&remote, &broker, n_sources).await);
            let _ = teller.send(Note::of_group(NO_SPLIT, what));
        });
    }

    /// Topics were looked at.
    pub(super) fn looked(&mut self, result: Result<(u64, JobRow), Failure>) -> Result<(), Error> {
        self.looking = false;
        match result {
            Ok((version, row)) if !self.leaving && version >= self.version && row != self.row => {
                note("a topic has grown; its new queues are read from their beginning");
                (self.version, self.row) = (version, row);
                for (split, run) in &mut self.runs {
                    if let Some(queues) = self.row.stages.get(usize::from(split.stage.0)) {
                        run.worker.announce(queues.numbers());
                    }
                }
                self.regroup()
            }
            // While the brokers are away nobody knows; what is really missing shows when it is used.
            _ => Ok(()),
        }
    }
}

/// The record of the job as it is now, with what has grown written into it.
async fn look(remote: &Remote, broker: &Broker, n_sources: usize) -> Result<(u64, JobRow), Failure> {
    loop {
        let found = JobRow::load(remote).await?;
        let (version, mut row) =
            found.ok_or_else(|| Error::state("the record of the job has gone; the job cannot go on"))?;
        if !row.look(n_sources, broker).await? {
            return Ok((version, row));
        }
        remote.widen(row.most_queues(n_sources)).await?;
        // Another instance may have seen it first.
        if row.save(version, remote).await? && !remote.is_shared() {
            return Ok((version + 1, row));
        }
    }
}
