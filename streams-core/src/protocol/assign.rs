//! Which member of a group owns which split: a pure function of both, the same in every instance.
//!
//! Highest random weight (Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM
//! Transactions on Networking 6(1), 1998) with a bound on each member's load: every split goes to the member
//! that ranks first for it among those that still have room. So loads differ by one at most, and a member that
//! joins or leaves moves little beside its own share.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use super::ids::Split;

/// The name of an instance in its group.
pub type Member = String;

/// The owner of every split; nothing when there is no member.
#[must_use]
pub fn assign(members: &BTreeSet<Member>, splits: &BTreeSet<Split>) -> BTreeMap<Split, Member> {
    let Some(share) = splits.len().checked_div(members.len()) else { return BTreeMap::new() };
    // So many members have one more than the others.
    let mut extra = splits.len() % members.len();
    let mut loads: BTreeMap<&Member, usize> = members.iter().map(|member| (member, 0)).collect();
    let mut owners = BTreeMap::new();
    for &split in splits {
        let room = |load: usize| load < share || (load == share && extra > 0);
        let owner =
            ranking(members, split).into_iter().find(|member| room(loads.get(member).copied().unwrap_or(0)));
        let Some(owner) = owner else { continue };
        let load = loads.entry(owner).or_insert(0);
        if *load == share {
            extra -= 1;
        }
        *load += 1;
        owners.insert(split, owner.clone());
    }
    owners
}

/// Who takes a split when its owner hangs: the member behind the owner in the split's ranking.
#[must_use]
pub fn candidate<'a>(members: &'a BTreeSet<Member>, split: Split, owner: &Member) -> Option<&'a Member> {
    ranking(members, split).into_iter().find(|member| *member != owner)
}

/// The members, best first; equal weights go by name.
fn ranking(members: &BTreeSet<Member>, split: Split) -> Vec<&Member> {
    let weight = |member: &Member| {
        let mut name = member.as_bytes().to_vec();
        name.extend_from_slice(&split.stage.0.to_be_bytes());
        name.extend_from_slice(&split.queue.to_be_bytes());
        xxh3_64(&name)
    };
    let mut ranked: Vec<&Member> = members.iter().collect();
    ranked.sort_by_cached_key(|member| (std::cmp::Reverse(weight(member)), *member));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ids::Stage;

    fn members(n: usize) -> BTreeSet<Member> {
        (0..n).map(|index| format!("instance-{index}")).collect()
    }

    fn splits(n: u16) -> BTreeSet<Split> {
        (0..n).map(|index| Split { stage: Stage(index % 3), queue: index / 3 }).collect()
    }

    fn moved(before: &BTreeMap<Split, Member>, after: &BTreeMap<Split, Member>) -> usize {
        before.iter().filter(|(split, owner)| after.get(split) != Some(owner)).count()
    }

    #[test]
    fn every_split_has_one_owner_and_loads_differ_by_one_at_most() {
        for n_members in 1..12 {
            for n_splits in 0..60 {
                let (members, splits) = (members(n_members), splits(n_splits));
                let owners = assign(&members, &splits);
                assert_eq!(owners.len(), splits.len());
                let load = |member: &Member| owners.values().filter(|owner| *owner == member).count();
                let loads: Vec<usize> = members.iter().map(load).collect();
                let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
                assert!(most - least <= 1, "{n_splits} splits over {n_members}: {loads:?}");
            }
        }
        assert!(assign(&BTreeSet::new(), &splits(8)).is_empty());
    }

    #[test]
    fn a_member_that_leaves_moves_little_beside_its_share() {
        for n_members in 2..10 {
            let (all, splits) = (members(n_members), splits(48));
            let before = assign(&all, &splits);
            for gone in &all {
                let rest: BTreeSet<Member> = all.iter().filter(|member| *member != gone).cloned().collect();
                let after = assign(&rest, &splits);
                let share = splits.len().div_ceil(n_members);
                let moved = moved(&before, &after);
                assert!(moved <= 2 * share + 2, "{moved} of 48 moved, the share is {share}");
            }
        }
    }

    #[test]
    fn the_candidate_is_somebody_else() {
        let members = members(3);
        for split in splits(9) {
            let owner = assign(&members, &BTreeSet::from([split])).remove(&split).unwrap();
            assert_ne!(candidate(&members, split, &owner), Some(&owner));
            assert!(candidate(&BTreeSet::from([owner.clone()]), split, &owner).is_none());
        }
    }
}
