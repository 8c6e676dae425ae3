//! Actions begin: the instance's own store answers at once, brokers and the disk later.

use std::future::Future;
use std::sync::Arc;

use streams_core::protocol::frame::{Frame, Item};
use streams_core::protocol::ids::{Split, Target, Topic};
use streams_core::protocol::worker::{Action, Local};

use super::super::io::{self, Source};
use super::{Fleet, Note, What};
use crate::cli::StartPosition;
use crate::error::Error;
use crate::sink::Writer;

impl Fleet {
    pub(super) fn perform_all(&mut self, split: Split, actions: Vec<Action>) -> Result<(), Error> {
        actions.into_iter().try_for_each(|action| self.perform(split, action))
    }

    /// Does an action, or begins it.
    fn perform(&mut self, split: Split, action: Action) -> Result<(), Error> {
        let Some(run) = self.runs.get(&split) else { return Ok(()) };
        let (life, pause, known) = (run.life, run.failures, run.known);
        let mut at_once = |what| self.ready.push_back(Note { split, life, what });
        match action {
            Action::Raise { fingerprint } => at_once(What::Raised(self.rows.raise(split, fingerprint)?)),
            Action::Read => at_once(What::Row(self.rows.read(split)?)),
            Action::Observe => {
                let (token, version) = self.rows.observe(split);
                at_once(What::Observed(token, version));
            }
            Action::Rollback => at_once(What::RolledBack),
            Action::Local(Local::Rows) => at_once(What::Rows),
            Action::Load { .. } | Action::Page { .. } | Action::Local(_) => {
                unreachable!("rows of the instance's own store are read at once")
            }
            Action::Resolve { original } => {
                let Some(source) = self.source(split) else { return Ok(()) };
                let (broker, cluster) = (self.broker.clone(), self.cluster.clone());
                let (start, group) = match original {
                    true => (cluster.start, (!self.with_state).then_some(cluster.group)),
                    // A queue that came later is read from its beginning, and a shuffle too.
                    false => (StartPosition::Earliest, None),
                };
                self.begin(split, life, pause, async move {
                    What::Resolved(io::resolve(&broker, &source, start, group.as_deref()).await)
                });
            }
            Action::Poll { offset } => {
                let Some(source) = self.source(split) else { return Ok(()) };
                let broker = self.broker.clone();
                self.begin(split, life, pause, async move {
                    What::Polled(offset, io::poll(&broker, &source, offset, known).await)
                });
            }
            Action::Send { target, frame } => {
                if let Some((topic, queue)) = self.row.target(target) {
                    let (broker, topic) = (self.broker.clone(), topic.to_owned());
                    self.begin(split, life, pause, async move {
                        What::Sent(target, io::send(&broker, &topic, &queue, target, frame).await)
                    });
                } else {
                    self.print(target, &frame)?;
                    self.ready.push_back(Note { split, life, what: What::Sent(target, Ok(Ok(0))) });
                }
            }
            Action::Tail { target, from, settle_ms } => {
                let who = (self.row.incarnation(), split);
                let Some((topic, queue)) = self.row.target(target) else {
                    // What was printed is printed at least once.
                    self.ready.push_back(Note { split, life, what: What::Tailed(target, Ok(0)) });
                    return Ok(());
                };
                let (broker, settler) = (self.broker.clone(), Arc::clone(&self.settler));
                let topic = topic.to_owned();
                self.begin(split, life, pause, async move {
                    let place = (topic.as_str(), &queue, target);
                    What::Tailed(target, io::tail((&broker, &settler), place, from, who, settle_ms).await)
                });
            }
            Action::Commit { token, version, snapshot, delta, clean } => {
                let (rows, teller) = (self.rows.clone(), self.teller.clone());
                // Printed results leave before the commit that counts them.
                self.printers.iter_mut().flatten().try_for_each(Writer::flush)?;
                self.letters.flush()?;
                tokio::task::spawn_blocking(move || {
                    let what = What::Committed(rows.commit(split, (token, version), &snapshot, delta, clean));
                    // The loop has ended where nobody listens.
                    let _ = teller.send(Note { split, life, what });
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
            Action::Stop(why) => self.stopped(split, why)?,
        }
        Ok(())
    }

    fn source(&self, split: Split) -> Option<Source> {
        let (topic, queue) = self.row.source(split)?;
        let is_shuffle = self.stages.get(usize::from(split.stage.0)).is_some_and(|s| !s.upstream.is_empty());
        Some(Source { topic: topic.to_owned(), queue, is_shuffle })
    }

    /// Runs a task beside the loop, behind a pause where attempts have failed.
    fn begin(
        &self,
        split: Split,
        life: u64,
        failures: u32,
        task: impl Future<Output = What> + Send + 'static,
    ) {
        let teller = self.teller.clone();
        tokio::spawn(async move {
            if failures > 0 {
                tokio::time::sleep(io::pause(failures)).await;
            }
            let what = task.await;
            let _ = teller.send(Note { split, life, what });
        });
    }

    fn print(&mut self, target: Target, frame: &Frame) -> Result<(), Error> {
        let Topic::Output(output) = target.topic else { return Ok(()) };
        let Some(Some(writer)) = self.printers.get_mut(usize::from(output)) else { return Ok(()) };
        for item in &frame.items {
            if let Item::Data(bytes) = item {
                writer.write(bytes, 1)?;
                writer.write(b"\n", 0)?;
            }
        }
        writer.flush()
    }
}
