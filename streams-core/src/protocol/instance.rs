//! One instance of a group: which splits it takes, hands over and watches. It decides; the workers
//! ([`super::worker`]) do.
//!
//! Membership comes from outside as numbered lists. Safety never depends on it: two instances that believe
//! different lists fence each other, and a fenced one waits for a newer list and a moment longer each time, so
//! that they do not take turns for ever (rule 15). A split whose row names a living member is not taken from it:
//! it has the same list, or will have it, and hands over; the row says when it has. Only a row that does not move
//! for a while of this instance's own clock is taken all the same, be it by its new owner or by the next in line
//! behind an owner that hangs.

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
}

/// What a split's row says of its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The name under which the owner took it.
    pub member: Member,
    /// Its token.
    pub token: Token,
    /// Changes with every commit and heartbeat of a living owner.
    pub moves: u64,
    /// Whether the owner has ended with it.
    pub clean: bool,
}

/// Why a row is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// The split is this instance's, as soon as its row says so.
    Mine,
    /// This instance stands in for the owner if it hangs.
    InLine,
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
    /// Of the believed list.
    owners: BTreeMap<Split, Member>,
    /// Splits with a worker here.
    held: BTreeMap<Split, Holding>,
    fenced: BTreeMap<Split, Fenced>,
    watched: BTreeMap<Split, Watched>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    Working,
    /// For an owner that hangs, as long as the list is this one.
    StandingIn(u64),
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
    row: Option<(Token, u64)>,
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
            owners: BTreeMap::new(),
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
        splits: &BTreeSet<Split>,
        orders: &mut Vec<Order>,
    ) {
        if list <= self.list {
            return;
        }
        self.owners = assign(&members, splits);
        (self.list, self.members) = (list, members);
        self.watched.clear();
        for (&split, holding) in &mut self.held {
            let mine = self.owners.get(&split).is_none_or(|owner| *owner == self.me);
            match *holding {
                Holding::HandingOver => {}
                // The owner that hung may be gone, or not be the owner any more.
                Holding::Working | Holding::StandingIn(_) if mine => *holding = Holding::Working,
                Holding::Working | Holding::StandingIn(_) => {
                    *holding = Holding::HandingOver;
                    orders.push(Order::HandOver(split));
                }
            }
        }
    }

    /// The rows that are to be read now, and told to [`Self::seen`].
    pub fn watch(&self, now_ms: u64) -> impl Iterator<Item = (Split, Interest)> + '_ {
        let others = self.owners.iter().filter(|(split, _)| !self.held.contains_key(split));
        others.filter_map(move |(&split, owner)| Some((split, self.interest(split, owner, now_ms)?)))
    }

    fn interest(&self, split: Split, owner: &Member, now_ms: u64) -> Option<Interest> {
        if *owner != self.me {
            let next = candidate(&self.members, split, owner)?;
            return (*next == self.me).then_some(Interest::InLine);
        }
        let waits = |fenced: &Fenced| fenced.list >= self.list || now_ms < fenced.until_ms;
        (!self.fenced.get(&split).is_some_and(waits)).then_some(Interest::Mine)
    }

    /// A split's row as it is now; none where nobody ever had it.
    pub fn seen(&mut self, split: Split, holder: Option<&Holder>, now_ms: u64, orders: &mut Vec<Order>) {
        // Order: a split is taken again only when its worker has ended, so that two of them never write into
        // the same local state (rule 18).
        if self.held.contains_key(&split) {
            return;
        }
        let interest = self.owners.get(&split).and_then(|owner| self.interest(split, owner, now_ms));
        let Some(interest) = interest else { return };
        let is_free = |holder: &Holder| {
            holder.clean || holder.member == self.me || !self.members.contains(&holder.member)
        };
        let take = match interest {
            Interest::Mine if holder.is_none_or(is_free) => true,
            Interest::Mine | Interest::InLine => self.is_hung(split, holder, now_ms),
        };
        if take {
            self.watched.remove(&split);
            let holding = match interest {
                Interest::Mine => Holding::Working,
                Interest::InLine => Holding::StandingIn(self.list),
            };
            self.held.insert(split, holding);
            orders.push(Order::Take(split));
        }
    }

    /// Whether the row has been the same for a while.
    fn is_hung(&mut self, split: Split, holder: Option<&Holder>, now_ms: u64) -> bool {
        let row = holder.map(|holder| (holder.token, holder.moves));
        match self.watched.get(&split) {
            Some(watched) if watched.row == row => {
                now_ms.saturating_sub(watched.since_ms) >= self.patience.hung_ms
            }
            _ => {
                self.watched.insert(split, Watched { row, since_ms: now_ms });
                false
            }
        }
    }

    /// A worker of this instance has ended.
    pub fn stopped(&mut self, split: Split, why: &Stop, now_ms: u64) {
        self.held.remove(&split);
        match why {
            Stop::Fenced | Stop::Unclean => {
                let times = self.fenced.get(&split).map_or(0, |fenced| fenced.times) + 1;
                // Instances wait for different times, or they would meet again.
                let jitter = xxh3_64(format!("{} {split:?} {times}", self.me).as_bytes())
                    % self.patience.backoff_ms.max(1);
                let wait_ms = self.patience.backoff_ms.saturating_mul(1 << times.min(8)) + jitter;
                self.fenced.insert(split, Fenced { list: self.list, until_ms: now_ms + wait_ms, times });
            }
            _ => drop(self.fenced.remove(&split)),
        }
    }

    /// Whether the split is this instance's by the list that it believes.
    #[must_use]
    pub fn wants(&self, split: Split) -> bool {
        self.owners.get(&split) == Some(&self.me)
    }

    /// Whether it has a worker for the split.
    #[must_use]
    pub fn holds(&self, split: Split) -> bool {
        self.held.contains_key(&split)
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

    fn holder(member: &str, moves: u64, clean: bool) -> Holder {
        Holder { member: member.to_owned(), token: Token { epoch: 1, nonce: 7 }, moves, clean }
    }

    /// Tells an instance all rows that it wants to see; what it takes.
    fn look(instance: &mut Instance, now_ms: u64, row: impl Fn(Split) -> Option<Holder>) -> BTreeSet<Split> {
        let mut orders = Vec::new();
        for (split, _) in instance.watch(now_ms).collect::<Vec<_>>() {
            instance.seen(split, row(split).as_ref(), now_ms, &mut orders);
        }
        let taken = orders.into_iter().map(|order| match order {
            Order::Take(split) => split,
            Order::HandOver(split) => panic!("{split:?} handed over by a look"),
        });
        taken.collect()
    }

    fn handed(orders: &[Order]) -> BTreeSet<Split> {
        let handed = orders.iter().filter_map(|order| match order {
            Order::HandOver(split) => Some(*split),
            Order::Take(_) => None,
        });
        handed.collect()
    }

    #[test]
    fn who_joins_takes_its_share_when_it_has_been_handed_over() {
        let mut a = Instance::new("a".into(), Patience::default());
        let mut orders = Vec::new();
        a.group(1, names(&["a"]), &splits(8), &mut orders);
        assert_eq!(look(&mut a, 0, |_| None), splits(8));
        a.group(2, names(&["a", "b"]), &splits(8), &mut orders);
        let share = handed(&orders);
        assert_eq!(share.len(), 4);
        let mut b = Instance::new("b".into(), Patience::default());
        b.group(2, names(&["a", "b"]), &splits(8), &mut orders);
        assert!(look(&mut b, 5, |_| Some(holder("a", 3, false))).is_empty(), "`a` still works on it");
        assert_eq!(look(&mut b, 6, |split| Some(holder("a", 4, share.contains(&split)))), share);
        for &split in &share {
            a.stopped(split, &Stop::Released, 7);
        }
        assert!(look(&mut a, 8, |_| Some(holder("b", 4, false))).is_empty(), "`b` is alive");
    }

    #[test]
    fn what_a_member_had_that_is_gone_is_taken_at_once() {
        let mut a = Instance::new("a".into(), Patience::default());
        let mut orders = Vec::new();
        a.group(1, names(&["a", "b"]), &splits(2), &mut orders);
        let first = look(&mut a, 0, |_| None);
        a.group(2, names(&["a"]), &splits(2), &mut orders);
        let second = look(&mut a, 1, |_| Some(holder("b", 9, false)));
        assert_eq!((first.len(), second.len()), (1, 1));
        assert!(orders.is_empty());
    }

    #[test]
    fn an_old_list_is_not_believed() {
        let mut a = Instance::new("a".into(), Patience::default());
        let mut orders = Vec::new();
        a.group(5, names(&["a"]), &splits(2), &mut orders);
        assert_eq!(look(&mut a, 0, |_| None), splits(2));
        a.group(4, names(&["b"]), &splits(2), &mut orders);
        assert!(orders.is_empty());
    }

    #[test]
    fn a_fenced_instance_waits_for_a_newer_list_and_a_while() {
        let mut a = Instance::new("a".into(), Patience { hung_ms: 10_000, backoff_ms: 100 });
        let (mut orders, split) = (Vec::new(), Split { stage: Stage(0), queue: 0 });
        a.group(1, names(&["a"]), &splits(1), &mut orders);
        assert_eq!(look(&mut a, 0, |_| None), splits(1));
        a.stopped(split, &Stop::Fenced, 1_000);
        let gone = |_| Some(holder("gone", 1, false));
        assert!(look(&mut a, 60_000, gone).is_empty(), "the list is the same");
        a.group(2, names(&["a"]), &splits(1), &mut orders);
        assert!(look(&mut a, 1_010, gone).is_empty(), "too early");
        assert_eq!(look(&mut a, 1_400, gone), splits(1));
    }

    #[test]
    fn a_split_is_taken_again_only_when_its_worker_has_ended() {
        let mut a = Instance::new("a".into(), Patience::default());
        let (mut orders, split) = (Vec::new(), Split { stage: Stage(0), queue: 0 });
        a.group(1, names(&["a"]), &splits(1), &mut orders);
        look(&mut a, 0, |_| None);
        a.group(2, names(&["b", "c", "d", "e"]), &splits(1), &mut orders);
        assert_eq!(handed(&orders), splits(1));
        a.group(3, names(&["a"]), &splits(1), &mut orders);
        let mine = |_| Some(holder("a", 1, false));
        assert!(look(&mut a, 2, mine).is_empty(), "the worker still hands over");
        a.stopped(split, &Stop::Released, 3);
        assert_eq!(look(&mut a, 4, mine), splits(1));
    }

    #[test]
    fn a_hung_owner_is_replaced_by_the_next_in_line_until_the_list_changes() {
        let split = Split { stage: Stage(0), queue: 0 };
        let members = names(&["a", "b", "c"]);
        let owner = assign(&members, &splits(1)).remove(&split).unwrap();
        let next = candidate(&members, split, &owner).unwrap().clone();
        let mut instance = Instance::new(next, Patience { hung_ms: 10_000, backoff_ms: 100 });
        let mut orders = Vec::new();
        instance.group(1, members.clone(), &splits(1), &mut orders);
        assert_eq!(instance.watch(0).collect::<Vec<_>>(), [(split, Interest::InLine)]);
        let at = |moves| {
            let owner = owner.clone();
            move |_| Some(holder(&owner, moves, false))
        };
        assert!(look(&mut instance, 100, at(4)).is_empty());
        assert!(look(&mut instance, 9_000, at(5)).is_empty());
        assert!(look(&mut instance, 18_900, at(5)).is_empty(), "it has moved in between");
        assert_eq!(look(&mut instance, 19_000, at(5)), splits(1));
        instance.group(2, members, &splits(1), &mut orders);
        assert_eq!(orders, [Order::HandOver(split)], "the owner may have come back");
    }
}
