//! One instance of a group: which splits it takes, hands over and watches. It decides; the workers
//! ([`super::worker`]) do.
//!
//! Membership comes from outside as numbered lists. Safety never depends on it: two instances that believe
//! different lists fence each other, and a fenced one waits for a newer list and a moment longer each time, so
//! that they do not take turns for ever (rule 15). An owner that is a member but does not move is replaced by
//! the next in line, who has seen its row unchanged for a while of its own clock.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use super::assign::{Member, assign, candidate};
use super::ids::{Split, Token};
use super::worker::Stop;

/// What an instance asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Start a worker for the split (`NewSplit`).
    Take(Split),
    /// Tell the split's worker to hand it over (`RemoveSplit`).
    HandOver(Split),
    /// Read the split's row now and then, and tell [`Instance::seen`].
    Watch(BTreeSet<Split>),
}

/// Times in ms.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// An owner whose row has not changed for this long is taken for hung.
    pub hung_ms: u64,
    /// A fenced instance waits this long at the least before it takes the split again; twice as long each
    /// further time.
    pub backoff_ms: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { hung_ms: 10_000, backoff_ms: 100 }
    }
}

/// An instance's view of its group.
#[derive(Debug)]
pub struct Instance {
    me: Member,
    patience: Patience,
    /// The number of the newest list of members, which is the list that is believed.
    list: u64,
    members: BTreeSet<Member>,
    splits: BTreeSet<Split>,
    /// Splits with a worker here, and whether it has been told to hand over.
    held: BTreeMap<Split, Holding>,
    fenced: BTreeMap<Split, Fenced>,
    watched: BTreeMap<Split, Watched>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    Working,
    HandingOver,
}

#[derive(Debug, Clone, Copy)]
struct Fenced {
    list: u64,
    until_ms: u64,
    times: u32,
}

#[derive(Debug, Clone, Copy)]
struct Watched {
    row: (Token, u64),
    since_ms: u64,
}

impl Instance {
    /// An instance that knows nothing of others yet.
    #[must_use]
    pub fn new(me: Member, patience: Patience) -> Self {
        Self {
            me,
            patience,
            list: 0,
            members: BTreeSet::new(),
            splits: BTreeSet::new(),
            held: BTreeMap::new(),
            fenced: BTreeMap::new(),
            watched: BTreeMap::new(),
        }
    }

    /// The group's members and splits as of list number `list`; an older list is not believed any more.
    pub fn group(
        &mut self,
        list: u64,
        members: BTreeSet<Member>,
        splits: BTreeSet<Split>,
        now_ms: u64,
        orders: &mut Vec<Order>,
    ) {
        if list <= self.list {
            return;
        }
        (self.list, self.members, self.splits) = (list, members, splits);
        self.watched.clear();
        self.proceed(now_ms, orders);
        let watch: BTreeSet<Split> = self.lines().collect();
        if !watch.is_empty() {
            orders.push(Order::Watch(watch));
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ms: u64, orders: &mut Vec<Order>) {
        self.proceed(now_ms, orders);
    }

    /// A worker of this instance has ended.
    pub fn stopped(&mut self, split: Split, why: &Stop, now_ms: u64, orders: &mut Vec<Order>) {
        self.held.remove(&split);
        if *why == Stop::Fenced {
            let times = self.fenced.get(&split).map_or(0, |fenced| fenced.times) + 1;
            // Instances wait for different times, or they would meet again.
            let jitter = xxh3_64(format!("{} {split:?} {times}", self.me).as_bytes())
                % self.patience.backoff_ms.max(1);
            let wait_ms = self.patience.backoff_ms.saturating_mul(1 << times.min(8)) + jitter;
            self.fenced.insert(split, Fenced { list: self.list, until_ms: now_ms + wait_ms, times });
        }
        // Order: a split is taken again only when its worker has ended, so that two of them never write into
        // the same local state (rule 18).
        self.proceed(now_ms, orders);
    }

    /// A split's row as it is now: token and version, which every commit and heartbeat of a living owner
    /// changes.
    pub fn seen(&mut self, split: Split, row: (Token, u64), now_ms: u64, orders: &mut Vec<Order>) {
        if self.held.contains_key(&split) || !self.lines().any(|line| line == split) {
            return;
        }
        match self.watched.get(&split) {
            Some(watched) if watched.row == row => {
                if now_ms.saturating_sub(watched.since_ms) >= self.patience.hung_ms {
                    self.watched.remove(&split);
                    self.held.insert(split, Holding::Working);
                    orders.push(Order::Take(split));
                }
            }
            _ => {
                self.watched.insert(split, Watched { row, since_ms: now_ms });
            }
        }
    }

    /// Splits for which this instance is next in line.
    fn lines(&self) -> impl Iterator<Item = Split> + '_ {
        let owners = assign(&self.members, &self.splits);
        owners.into_iter().filter_map(|(split, owner)| {
            let next = candidate(&self.members, split, &owner)?;
            (owner != self.me && *next == self.me).then_some(split)
        })
    }

    fn proceed(&mut self, now_ms: u64, orders: &mut Vec<Order>) {
        let owners = assign(&self.members, &self.splits);
        for (&split, holding) in &mut self.held {
            // A split taken from a hung owner stays here as long as the list is the same.
            let mine = owners.get(&split).is_none_or(|owner| *owner == self.me);
            let in_line = owners
                .get(&split)
                .is_some_and(|owner| candidate(&self.members, split, owner) == Some(&self.me));
            if !mine && !in_line && *holding == Holding::Working {
                *holding = Holding::HandingOver;
                orders.push(Order::HandOver(split));
            }
        }
        for (split, owner) in owners {
            if owner != self.me || self.held.contains_key(&split) {
                continue;
            }
            if let Some(fenced) = self.fenced.get(&split)
                && (fenced.list >= self.list || now_ms < fenced.until_ms)
            {
                continue;
            }
            self.held.insert(split, Holding::Working);
            orders.push(Order::Take(split));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ids::Stage;

    fn names(names: &[&str]) -> BTreeSet<Member> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn splits(n: u16) -> BTreeSet<Split> {
        (0..n).map(|queue| Split { stage: Stage(0), queue }).collect()
    }

    fn taken(orders: &[Order]) -> BTreeSet<Split> {
        let taken = orders.iter().filter_map(|order| match order {
            Order::Take(split) => Some(*split),
            _ => None,
        });
        taken.collect()
    }

    #[test]
    fn splits_move_when_a_member_joins() {
        let mut a = Instance::new("a".into(), Patience::default());
        let mut orders = Vec::new();
        a.group(1, names(&["a"]), splits(8), 0, &mut orders);
        assert_eq!(taken(&orders), splits(8));
        orders.clear();
        a.group(2, names(&["a", "b"]), splits(8), 5, &mut orders);
        let handed: Vec<Split> = orders
            .iter()
            .filter_map(|order| match order {
                Order::HandOver(split) => Some(*split),
                _ => None,
            })
            .collect();
        let mut b = Instance::new("b".into(), Patience::default());
        let mut others = Vec::new();
        b.group(2, names(&["a", "b"]), splits(8), 5, &mut others);
        // With two members each is the other's next in line, so nothing needs to be handed over by `a` before
        // `b` takes it; what `b` takes is its share.
        assert!(handed.len() <= 4);
        assert_eq!(taken(&others).len(), 4);
    }

    #[test]
    fn an_old_list_is_not_believed() {
        let mut a = Instance::new("a".into(), Patience::default());
        let mut orders = Vec::new();
        a.group(5, names(&["a"]), splits(2), 0, &mut orders);
        orders.clear();
        a.group(4, names(&["b"]), splits(2), 1, &mut orders);
        assert!(orders.is_empty());
    }

    #[test]
    fn a_fenced_instance_waits_for_a_newer_list_and_a_while() {
        let mut a = Instance::new("a".into(), Patience { hung_ms: 10_000, backoff_ms: 100 });
        let (mut orders, split) = (Vec::new(), Split { stage: Stage(0), queue: 0 });
        a.group(1, names(&["a"]), splits(1), 0, &mut orders);
        orders.clear();
        a.stopped(split, &Stop::Fenced, 1_000, &mut orders);
        a.tick(60_000, &mut orders);
        assert!(taken(&orders).is_empty(), "the list is the same");
        a.group(2, names(&["a"]), splits(1), 1_010, &mut orders);
        assert!(taken(&orders).is_empty(), "too early");
        a.tick(1_400, &mut orders);
        assert_eq!(taken(&orders), splits(1));
    }

    #[test]
    fn a_split_is_taken_again_only_when_its_worker_has_ended() {
        let mut a = Instance::new("a".into(), Patience::default());
        let (mut orders, split) = (Vec::new(), Split { stage: Stage(0), queue: 0 });
        a.group(1, names(&["a"]), splits(1), 0, &mut orders);
        a.group(2, names(&["b", "c", "d", "e"]), splits(1), 1, &mut orders);
        assert!(orders.contains(&Order::HandOver(split)));
        orders.clear();
        a.group(3, names(&["a"]), splits(1), 2, &mut orders);
        assert!(taken(&orders).is_empty(), "the worker still hands over");
        a.stopped(split, &Stop::Released, 3, &mut orders);
        assert_eq!(taken(&orders), splits(1));
    }

    #[test]
    fn a_hung_owner_is_replaced_by_the_next_in_line() {
        let split = Split { stage: Stage(0), queue: 0 };
        let members = names(&["a", "b", "c"]);
        let owner = assign(&members, &splits(1)).remove(&split).unwrap();
        let next = candidate(&members, split, &owner).unwrap().clone();
        let mut instance = Instance::new(next, Patience { hung_ms: 10_000, backoff_ms: 100 });
        let mut orders = Vec::new();
        instance.group(1, members, splits(1), 0, &mut orders);
        assert!(orders.contains(&Order::Watch(splits(1))));
        let token = Token { epoch: 1, nonce: 7 };
        instance.seen(split, (token, 4), 100, &mut orders);
        instance.seen(split, (token, 5), 9_000, &mut orders);
        instance.seen(split, (token, 5), 18_900, &mut orders);
        assert!(taken(&orders).is_empty(), "it has moved in between");
        instance.seen(split, (token, 5), 19_000, &mut orders);
        assert_eq!(taken(&orders), splits(1));
    }
}
