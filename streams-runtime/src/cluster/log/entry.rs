//! What stands in the log of a split, and what it means: the order of the queue decides.
//!
//! An owner begins with an entry that says so; commits count as long as no other owner's entry stands in front of
//! them, and as long as they follow the one before. So the queue itself is the judge: no server compares, and
//! whoever reads it comes to the same result (PROTOCOL B9).

use serde::{Deserialize, Serialize};
use streams_core::codec;
use streams_core::error::CodecError;
use streams_core::protocol::assign::Member;
use streams_core::protocol::ids::Token;
use streams_core::protocol::instance::Holder;

/// One message of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The record of the job.
    Job(Record),
    /// Somebody takes the split.
    Taken(Taken),
    /// The split's owner commits.
    Commit(Box<Commit>),
}

/// The record of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) version: u64,
    /// Whether it was in force when it was written: it is written again from time to time, so that it outlives
    /// the topic's retention.
    pub(super) repeated: bool,
    pub(super) bytes: Vec<u8>,
}

/// Somebody takes the split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    /// Random, one for each take, and the same when the entry is written again.
    pub(super) nonce: u64,
    pub(super) member: Member,
    pub(super) fingerprint: u64,
}

/// The split's owner commits: all there is, since the log of a split holds jobs of little state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Commit {
    /// The offset that the owner expects it to have. Where it has that, nobody else has written since the owner
    /// took the split, so that this entry alone says how the split stands.
    pub(super) at: u64,
    pub(super) owner: Taken,
    pub(super) epoch: u64,
    pub(super) version: u64,
    pub(super) clean: bool,
    pub(super) snapshot: Vec<u8>,
    pub(super) rows: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Entry {
    pub(super) fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let mut bytes = Vec::new();
        codec::to_vec(self, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        codec::from_slice(bytes)
    }

    /// Whether the entry at `offset` says all that the entries in front of it say.
    pub(super) fn stands_alone(&self, offset: u64) -> bool {
        matches!(self, Self::Commit(commit) if commit.at == offset)
    }
}

/// How a split stands at some offset of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) owner: Taken,
    pub(super) epoch: u64,
    pub(super) version: u64,
    /// The last commit's, of whoever made it.
    pub(super) clean: bool,
    /// How many owners there have been since the last commit.
    pub(super) takes: u64,
    pub(super) fingerprint: u64,
    /// None before the first commit.
    pub(super) snapshot: Option<Vec<u8>>,
    pub(super) rows: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Standing {
    pub(super) fn token(&self) -> Token {
        Token { epoch: self.epoch, nonce: self.owner.nonce }
    }

    /// Whether other code has begun something here that it has not ended.
    pub(super) fn belongs_to_other_code(&self, fingerprint: u64) -> bool {
        self.snapshot.is_some() && self.fingerprint != fingerprint && !self.clean
    }

    pub(super) fn holder(&self) -> Holder {
        Holder {
            member: self.owner.member.clone(),
            token: self.token(),
            moves: self.version,
            clean: self.clean,
        }
    }
}

/// What the entry at `offset` makes of the standing in front of it.
pub(super) fn fold(before: Option<Standing>, offset: u64, entry: Entry) -> Option<Standing> {
    let alone = entry.stands_alone(offset);
    match entry {
        Entry::Taken(taken) => match before {
            Some(standing) if standing.owner.nonce == taken.nonce => Some(standing),
            // The last commit still stands, but what its owner began since then is not known.
            Some(standing) => {
                let (epoch, takes) = (offset + 1, standing.takes + 1);
                Some(Standing { owner: taken, epoch, clean: false, takes, ..standing })
            }
            None => Some(Standing {
                fingerprint: taken.fingerprint,
                owner: taken,
                epoch: offset + 1,
                version: 0,
                clean: false,
                takes: 1,
                snapshot: None,
                rows: Vec::new(),
            }),
        },
        Entry::Commit(commit) => {
            let follows = before.as_ref().is_some_and(|standing| {
                standing.owner.nonce == commit.owner.nonce && standing.version + 1 == commit.version
            });
            if !alone && !follows {
                return before;
            }
            let Commit { owner, epoch, version, clean, snapshot, rows, .. } = *commit;
            let (fingerprint, snapshot) = (owner.fingerprint, Some(snapshot));
            Some(Standing { owner, epoch, version, clean, takes: 0, fingerprint, snapshot, rows })
        }
        Entry::Job(_) => before,
    }
}

/// The record that is in force behind these entries.
///
/// The first one that was written is, and whoever wrote another at the same time sees that it lost. A later one
/// counts when it follows the one in force. One that is repeated was in force, so that what stands in front of it,
/// as far as retention has left it, need not be known.
pub(super) fn record(entries: impl IntoIterator<Item = Record>) -> Option<Record> {
    let entries: Vec<Record> = entries.into_iter().collect();
    let first = entries.iter().position(|record| record.repeated).unwrap_or(0);
    let mut entries = entries.into_iter().skip(first);
    let mut current = entries.next()?;
    for record in entries {
        if record.version == current.version + 1 && !record.repeated {
            current = record;
        }
    }
    Some(current)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(nonce: u64) -> Taken {
        Taken { nonce, member: format!("m{nonce}"), fingerprint: 1 }
    }

    fn commit(at: u64, nonce: u64, version: u64) -> Entry {
        Entry::Commit(Box::new(Commit {
            at,
            owner: taken(nonce),
            epoch: 1,
            version,
            clean: false,
            snapshot: vec![u8::try_from(version).unwrap()],
            rows: Vec::new(),
        }))
    }

    /// Owner and version behind a log that begins at offset 0.
    #[track_caller]
    fn check(log: Vec<Entry>, nonce: u64, version: u64) {
        let end = (0..).zip(log).fold(None, |standing, (offset, entry)| fold(standing, offset, entry));
        let end = end.unwrap();
        assert_eq!((end.owner.nonce, end.version), (nonce, version));
        assert_eq!(end.snapshot, (version > 0).then(|| vec![u8::try_from(version).unwrap()]));
    }

    #[test]
    fn commits_follow_each_other() {
        check(vec![Entry::Taken(taken(7))], 7, 0);
        check(vec![Entry::Taken(taken(7)), commit(1, 7, 1), commit(2, 7, 2)], 7, 2);
    }

    #[test]
    fn what_comes_behind_another_owner_is_nothing() {
        let log = vec![Entry::Taken(taken(7)), commit(1, 7, 1), Entry::Taken(taken(8)), commit(2, 7, 2)];
        check(log.clone(), 8, 1);
        check([log, vec![commit(3, 8, 2)]].concat(), 8, 2);
    }

    #[test]
    fn a_commit_that_was_sent_twice_counts_once() {
        check(vec![Entry::Taken(taken(7)), commit(1, 7, 1), commit(1, 7, 1), commit(3, 7, 2)], 7, 2);
    }

    #[test]
    fn a_take_that_was_sent_twice_fences_nobody() {
        check(vec![Entry::Taken(taken(7)), commit(1, 7, 1), Entry::Taken(taken(7)), commit(2, 7, 2)], 7, 2);
    }

    #[test]
    fn other_code_takes_over_only_what_was_left_clean() {
        let standing = |clean| {
            let mut entry = commit(0, 7, 1);
            if let Entry::Commit(commit) = &mut entry {
                commit.clean = clean;
            }
            fold(None, 0, entry).unwrap()
        };
        assert!(standing(false).belongs_to_other_code(2));
        assert!(!standing(false).belongs_to_other_code(1) && !standing(true).belongs_to_other_code(2));
        let again = fold(Some(standing(true)), 1, Entry::Taken(taken(8))).unwrap();
        assert!(again.belongs_to_other_code(2), "a take clears the mark");
        assert_eq!(again.takes, 1, "whoever comes next knows all that was sent");
        let third = fold(Some(again), 2, Entry::Taken(taken(9))).unwrap();
        assert_eq!(third.takes, 2, "the one before may have sent something");
    }

    #[test]
    fn of_two_records_the_first_is_in_force() {
        let new = |version, byte| Record { version, repeated: false, bytes: vec![byte] };
        let again = |version, byte| Record { version, repeated: true, bytes: vec![byte] };
        let check = |records: Vec<Record>, byte| assert_eq!(record(records).unwrap().bytes, [byte]);
        check(vec![new(1, 1), new(1, 2)], 1);
        check(vec![new(1, 1), new(2, 2), new(2, 3), new(3, 4)], 4);
        // Retention has taken the first.
        check(vec![new(1, 2), again(1, 1), new(2, 3), again(2, 3)], 3);
        assert_eq!(record([]), None);
    }
}
