//! The instances of the group: who is there, which splits this one takes and hands over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use streams_core::protocol::assign::Member;
use streams_core::protocol::ids::{Split, Stage};
use streams_core::protocol::instance::{Holder, Interest, Order};
use tokio::sync::mpsc::UnboundedSender;

use super::{Fleet, Note, What};
use crate::cluster::remote::Failure;
use crate::error::Error;
use crate::rocketmq::Membership;
use crate::run::note;

/// How often the brokers are asked who is in the group, and told that this member is alive.
const ASK: Duration = Duration::from_millis(200);
const BEAT: Duration = Duration::from_secs(5);
/// How often a row is looked at by who waits for its owner to hang.
const WATCH: Duration = Duration::from_secs(1);
/// Notes of the group belong to no split.
pub(super) const NO_SPLIT: Split = Split { stage: Stage(0), queue: 0 };

/// What is known of the group.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The number of the list.
    list: u64,
    members: BTreeSet<Member>,
    splits: BTreeSet<Split>,
    /// Rows that are being read.
    asked: BTreeSet<Split>,
    last_watch: Option<Instant>,
}

impl Group {
    /// Whether there are other instances.
    pub(super) fn has_others(&self) -> bool {
        self.members.len() > 1
    }
}

/// Beats and asks until nobody listens any more.
pub(super) async fn follow(membership: Arc<Membership>, teller: UnboundedSender<Note>) {
    let mut last_beat = Instant::now();
    loop {
        if last_beat.elapsed() >= BEAT {
            // A broker that is away hears the next one.
            let _ = membership.heartbeat().await;
            last_beat = Instant::now();
        }
        // While no broker answers nobody knows; the last list stands.
        if let Ok(members) = membership.members().await {
            let what = What::Members(members.into_iter().collect());
            if teller.send(Note::of_group(NO_SPLIT, what)).is_err() {
                return;
            }
        }
        tokio::time::sleep(ASK).await;
    }
}

impl Fleet {
    /// The brokers' list of members.
    pub(super) fn members(&mut self, members: BTreeSet<Member>) -> Result<(), Error> {
        // An instance whose own name is missing has been forgotten by a broker that came back, and will be known
        // again with its next heartbeat.
        if members == self.group.members || !members.contains(&self.client) {
            return Ok(());
        }
        if self.remote.is_shared() {
            note(&format!(
                "the group `{}` has {} instance{}; this is {}",
                self.cluster.group,
                members.len(),
                if members.len() == 1 { "" } else { "s" },
                self.client
            ));
            self.group.members = members;
        }
        self.regroup()
    }

    /// Takes the group, or the splits, as they are now.
    pub(super) fn regroup(&mut self) -> Result<(), Error> {
        self.group.list += 1;
        self.group.splits = self.row.splits();
        let members = match self.remote.is_shared() {
            true => self.group.members.clone(),
            false => BTreeSet::from([self.client.clone()]),
        };
        let mut orders = Vec::new();
        self.instance.group(self.group.list, members, &self.group.splits, &mut orders);
        // What an earlier run has left here of others' splits.
        if let Some(copy) = &self.copy {
            let others = self.group.splits.iter().filter(|split| !self.instance.wants(**split));
            others.filter(|split| !self.runs.contains_key(split)).for_each(|split| copy.forget(*split));
        }
        self.obey(orders)?;
        self.watch();
        Ok(())
    }

    /// Reads the rows that say which splits are free.
    pub(super) fn watch(&mut self) {
        if self.leaving {
            return;
        }
        let now = Instant::now();
        let patient = self.group.last_watch.is_none_or(|last| now.duration_since(last) >= WATCH);
        if patient {
            self.group.last_watch = Some(now);
        }
        for (split, interest) in self.instance.watch(self.now_ms()) {
            if (interest == Interest::InLine && !patient) || !self.group.asked.insert(split) {
                continue;
            }
            let (remote, teller) = (self.remote.clone(), self.teller.clone());
            tokio::spawn(async move {
                let what = What::Seen(remote.holder(split).await);
                // The loop has ended where nobody listens.
                let _ = teller.send(Note::of_group(split, what));
            });
        }
    }

    /// A row that was asked for.
    pub(super) fn seen(
        &mut self,
        split: Split,
        holder: Result<Option<Holder>, Failure>,
    ) -> Result<(), Error> {
        self.group.asked.remove(&split);
        let holder = match holder {
            Ok(holder) => holder,
            // It is asked again.
            Err(Failure::Away(_)) => return Ok(()),
            Err(Failure::Fatal(error)) => return Err(error),
        };
        if self.leaving {
            return Ok(());
        }
        let mut orders = Vec::new();
        self.instance.seen(split, holder.as_ref(), self.now_ms(), &mut orders);
        let others = holder.map(|holder| holder.member).filter(|member| *member != self.client);
        if let (Some(member), [_, ..]) = (others, orders.as_slice()) {
            note(&format!("{} is taken over from instance {member}", self.row.place(split)));
        }
        self.obey(orders)
    }

    fn obey(&mut self, orders: Vec<Order>) -> Result<(), Error> {
        for order in orders {
            match order {
                Order::Take(split) => self.take(split)?,
                Order::HandOver(split) => self.revoke(split)?,
            }
        }
        Ok(())
    }
}
