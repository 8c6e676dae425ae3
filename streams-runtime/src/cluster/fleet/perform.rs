//! Actions begin: the instance's own store answers at once, brokers and the disk later.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use streams_core::protocol::frame::{self, Frame};
use streams_core::protocol::ids::{Split, Target, Topic};
use streams_core::protocol::worker::{Action, Local};
use tokio::task::AbortHandle;

use super::super::io::{self, Source};
use super::{Fleet, Lane, Note, What};
use crate::cli::StartPosition;
use crate::cluster::remote::{Failure, Written};
#[cfg(feature = "mysql")]
use crate::cluster::tables;
use crate::error::Error;
#[cfg(feature = "mysql")]
use crate::remote::mysql::sink::Sink;
use crate::sink::Writer;

impl Fleet {
    pub(super) fn perform_all(&mut self, split: Split, actions: Vec<Action>) -> Result<(), Error> {
        actions.into_iter().try_for_each(|action| self.perform(split, action))
    }

    /// Does an action, or begins it.
    fn perform(&mut self, split: Split, action: Action) -> Result<(), Error> {
        let Some(run) = self.runs.get(&split) else { return Ok(()) };
        let remote = self.remote.clone();
        match action {
            Action::Raise { fingerprint } => {
                self.begin(
                    split,
                    Lane::State,
                    async move { What::Raised(remote.raise(split, fingerprint).await) },
                )
            }
            Action::Read { token } => {
                self.begin(split, Lane::State, async move { What::Row(remote.read(split, token).await) });
            }
            Action::Observe => {
                self.begin(split, Lane::State, async move { What::Observed(remote.observe(split).await) });
            }
            Action::Rollback => self.at_once(split, What::RolledBack),
            Action::Load { token } => self.at_once(split, What::Loaded(token)),
            Action::Page { token, after } => {
                self.begin(
                    split,
                    Lane::State,
                    async move { What::Paged(remote.page(split, token, &after).await) },
                )
            }
            Action::Local(Local::Rows) => self.at_once(split, What::Rows),
            Action::Local(step) => {
                let copy = self.copy.as_ref().expect("a worker that has a copy was made beside one");
                let (life, begun, teller) = (run.life, Instant::now(), self.teller.clone());
                copy.step(split, step, move |done| {
                    // The loop has ended where nobody listens.
                    let _ = teller.send(Note { split, life, begun, what: What::Copied(done) });
                });
            }
            Action::Resolve { original } => {
                let Some(source) = self.source(split) else { return Ok(()) };
                let (broker, cluster) = (self.broker.clone(), self.cluster.clone());
                let (start, group) = match original {
                    true => (cluster.start, (!self.with_state).then_some(cluster.group)),
                    // A queue that came later is read from its beginning, and a shuffle too.
                    false => (StartPosition::Earliest, None),
                };
                self.begin(split, Lane::Source, async move {
                    let resolved = io::resolve(&broker, &source, start, group.as_deref()).await;
                    What::Resolved(resolved.map_err(Failure::from))
                });
            }
            Action::Poll { offset } => self.pull_in_step(split, offset),
            #[cfg(feature = "mysql")]
            Action::Send { target, frame } if let Some(sink) = self.table(target) => {
                self.begin(split, Lane::Target(target), async move {
                    let written = tables::write(&sink, frame::records(&frame.items)).await;
                    What::Sent(target, written.map(|()| Ok(0)))
                });
            }
            Action::Send { target, frame } => {
                if let Some((topic, queue)) = self.row.target(target) {
                    let (broker, topic) = (self.broker.clone(), topic.to_owned());
                    let tag = self.tag(target);
                    self.begin(split, Lane::Target(target), async move {
                        let sent = io::send(&broker, &topic, &queue, target, frame, tag.as_deref()).await;
                        What::Sent(target, sent.map_err(Failure::from))
                    });
                } else {
                    self.print(target, &frame)?;
                    self.at_once(split, What::Sent(target, Ok(Ok(0))));
                }
            }
            Action::Tail { target, from, settle_ms } => {
                let who = (self.row.incarnation(), split);
                let Some((topic, queue)) = self.row.target(target) else {
                    // What was printed is printed at least once.
                    self.at_once(split, What::Tailed(target, Ok(0)));
                    return Ok(());
                };
                let (broker, settler) = (self.broker.clone(), Arc::clone(&self.settler));
                let topic = topic.to_owned();
                self.begin(split, Lane::Target(target), async move {
                    let place = (topic.as_str(), &queue, target);
                    let last = io::tail((&broker, &settler), place, from, who, settle_ms).await;
                    What::Tailed(target, last.map_err(Failure::from))
                });
            }
            Action::Commit { token, version, mut snapshot, delta, results, clean } => {
                snapshot.committed_ms = Some(crate::clock::now_ms());
                // Printed results leave before the commit that counts them.
                self.printers.iter_mut().flatten().try_for_each(Writer::flush)?;
                let tables = self.tables.clone();
                // Order: dead letters are on the disk before the commit that counts them.
                let letters = self.letters.unsynced()?;
                self.begin(split, Lane::State, async move {
                    if let Err(error) = letters.sync().await {
                        return What::Committed(Err(Failure::Fatal(error)));
                    }
                    let stand = (token, version);
                    let written = Written { snapshot, delta, results, tables };
                    What::Committed(remote.commit(split, stand, written, clean).await)
                });
            }
            Action::Report { offset } => {
                self.reported.insert(split, offset);
                if let Some(source) = self.source(split) {
                    let (broker, group) = (self.broker.clone(), self.cluster.group.clone());
                    tokio::spawn(async move {
                        // For tools alone; the next one tells more.
                        let _ = broker.report(&group, &source.topic, &source.queue, offset).await;
                    });
                }
            }
            Action::Reject(rejected) => {
                let source =
                    self.row.source(split).map(|(topic, queue)| (topic.to_owned(), queue.to_string()));
                let (topic, queue) = source.unwrap_or_default();
                rejected.iter().try_for_each(|rejected| self.letters.take(&topic, &queue, rejected))?;
            }
            Action::Stop(why) => self.stopped(split, &why)?,
        }
        Ok(())
    }

    /// Begins a pull.
    pub(super) fn pull(&mut self, split: Split, offset: u64) {
        let (Some(run), Some(source)) = (self.runs.get(&split), self.source(split)) else { return };
        let (broker, known) = (self.broker.clone(), run.known);
        // Who is about to hand the split over wants to know where its queue ends now.
        let waits = !run.worker.is_revoked();
        let number = run.pulls + 1;
        let pull = self.spawn(split, Lane::Source, async move {
            let polled = io::poll(&broker, &source, offset, known, waits).await;
            What::Polled { number, offset, polled: polled.map_err(Failure::from) }
        });
        if let Some(run) = self.runs.get_mut(&split) {
            (run.pull, run.pulls) = (pull, number);
        }
    }

    fn source(&self, split: Split) -> Option<Source> {
        let (topic, queue) = self.row.source(split)?;
        let tags = self.wanted.get(usize::from(split.stage.0)).cloned().unwrap_or_default();
        Some(Source { topic: topic.to_owned(), queue, is_shuffle: !self.is_source(split), tags })
    }

    /// It has been done.
    fn at_once(&mut self, split: Split, what: What) {
        let Some(run) = self.runs.get(&split) else { return };
        self.ready.push_back(Note { split, life: run.life, begun: Instant::now(), what });
    }

    /// Runs a task beside the loop, behind a pause where attempts have failed.
    fn begin(&self, split: Split, lane: Lane, task: impl Future<Output = What> + Send + 'static) {
        // What cannot be ended early ends by itself.
        let _ = self.spawn(split, lane, task);
    }

    fn spawn(
        &self,
        split: Split,
        lane: Lane,
        task: impl Future<Output = What> + Send + 'static,
    ) -> Option<AbortHandle> {
        let run = self.runs.get(&split)?;
        let (life, failures) = (run.life, run.failures(lane));
        let teller = self.teller.clone();
        let task = tokio::spawn(async move {
            if failures > 0 {
                tokio::time::sleep(io::pause(failures)).await;
            }
            let begun = Instant::now();
            let what = task.await;
            // The loop has ended where nobody listens.
            let _ = teller.send(Note { split, life, begun, what });
        });
        Some(task.abort_handle())
    }

    /// The tag of an output's messages.
    fn tag(&self, target: Target) -> Option<String> {
        let Topic::Output(output) = target.topic else { return None };
        self.tags.get(usize::from(output))?.clone()
    }

    /// The table that a target is.
    #[cfg(feature = "mysql")]
    fn table(&self, target: Target) -> Option<Arc<Sink>> {
        match target.topic {
            Topic::Output(output) => self.tables.alone(output),
            Topic::Of(_) => None,
        }
    }

    fn print(&mut self, target: Target, frame: &Frame) -> Result<(), Error> {
        let Topic::Output(output) = target.topic else { return Ok(()) };
        let Some(Some(writer)) = self.printers.get_mut(usize::from(output)) else { return Ok(()) };
        for record in frame::records(&frame.items) {
            writer.write(record, 1)?;
            writer.write(b"\n", 0)?;
        }
        writer.flush()
    }
}
