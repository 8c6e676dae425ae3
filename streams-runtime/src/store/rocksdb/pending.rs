//! Commits in two steps: a pending one lies beside the rows, in pieces, until it is promoted or discarded.
//!
//! Marks are keyed by a letter and the split, pieces by the split and their number. Two splits cannot meet:
//! keys of the same length have splits of the same length in front.

use streams_core::error::StateError;
use streams_core::store::local::{CommitId, Load, LocalCommits, Marks};
use streams_core::store::{Delta, Write};

use super::batch::Batch;
use super::errors::damaged;
use super::{MARKS, PENDING, RocksStore};

/// A piece is closed when it has so many bytes; large values make large pieces.
const PIECE_BYTES: usize = 1024 * 1024;

/// A pending commit's mark: its id and how many pieces it has.
struct Pending {
    id: CommitId,
    n_pieces: u32,
}

impl LocalCommits for RocksStore {
    fn marks(&self, split: &[u8]) -> Result<Marks, StateError> {
        let committed = self.mark(b'c', split, id)?;
        let pending = self.pending(split)?.map(|pending| pending.id);
        let load = self.mark(b'l', split, |bytes| match bytes.split_first()? {
            (0, []) => Some(Load::Complete),
            (1, cursor) => Some(Load::Cursor(cursor.to_vec())),
            _ => None,
        })?;
        Ok(Marks { committed, pending, load: load.unwrap_or_default() })
    }

    fn prepare(&mut self, split: &[u8], id: CommitId, delta: &Delta) -> Result<(), StateError> {
        self.expect_none_pending(split)?;
        let mut batch = Batch::new(self.database());
        let mut n_pieces = 0_u32;
        let mut piece = Vec::new();
        let mut close = |batch: &mut Batch<'_>, piece: &mut Vec<u8>| {
            batch.put(PENDING, &piece_key(split, n_pieces), piece);
            n_pieces += 1;
            piece.clear();
        };
        for write in delta.writes() {
            encode(write, &mut piece);
            if piece.len() >= PIECE_BYTES {
                close(&mut batch, &mut piece);
            }
        }
        if !piece.is_empty() {
            close(&mut batch, &mut piece);
        }
        let mark = [&encoded(id)[..], &n_pieces.to_le_bytes()].concat();
        batch.put(MARKS, &mark_key(b'p', split), &mark);
        self.write(batch.finish())
    }

    fn promote(&mut self, split: &[u8], id: CommitId) -> Result<(), StateError> {
        let Some(pending) = self.pending(split)?.filter(|pending| pending.id == id) else {
            return match self.marks(split)? {
                // A promotion that was done, but whose caller did not live to hear of it.
                Marks { committed: Some(committed), pending: None, .. } if committed == id => Ok(()),
                marks => Err(self.unexpected(split, &format!("{id:?} is to be promoted"), &marks)),
            };
        };
        let mut batch = Batch::new(self.database());
        for n in 0..pending.n_pieces {
            let key = piece_key(split, n);
            let piece = self.read(PENDING, &key)?.ok_or_else(|| self.torn("a piece is missing"))?;
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                let write = decode(&mut rest).ok_or_else(|| self.torn("a piece does not decode"))?;
                batch.row(write).map_err(|error| self.failed("reading", &error))?;
            }
            batch.delete(PENDING, &key);
        }
        batch.delete(MARKS, &mark_key(b'p', split));
        batch.put(MARKS, &mark_key(b'c', split), &encoded(id));
        self.write(batch.finish())
    }

    fn discard(&mut self, split: &[u8], id: CommitId) -> Result<(), StateError> {
        match self.pending(split)? {
            None => Ok(()),
            Some(pending) if pending.id == id => {
                let mut batch = Batch::new(self.database());
                drop_pending(&mut batch, split, &pending);
                self.write(batch.finish())
            }
            Some(_) => {
                let marks = self.marks(split)?;
                Err(self.unexpected(split, &format!("{id:?} is to be discarded"), &marks))
            }
        }
    }

    fn load(&mut self, split: &[u8], id: CommitId, page: &Delta, load: &Load) -> Result<(), StateError> {
        self.expect_none_pending(split)?;
        let mut batch = Batch::new(self.database());
        for write in page.writes() {
            batch.row(write).map_err(|error| self.failed("reading", &error))?;
        }
        let mark = match load {
            Load::Complete => vec![0],
            Load::Cursor(cursor) => [&[1], cursor.as_slice()].concat(),
        };
        batch.put(MARKS, &mark_key(b'l', split), &mark);
        batch.put(MARKS, &mark_key(b'c', split), &encoded(id));
        self.write(batch.finish())
    }

    fn forget(&mut self, split: &[u8], prefix: &[u8]) -> Result<(), StateError> {
        let mut batch = Batch::new(self.database());
        batch.row(Write::DeletePrefix { prefix }).map_err(|error| self.failed("reading", &error))?;
        if let Some(pending) = self.pending(split)? {
            drop_pending(&mut batch, split, &pending);
        }
        batch.delete(MARKS, &mark_key(b'c', split));
        batch.delete(MARKS, &mark_key(b'l', split));
        self.write(batch.finish())
    }
}

impl RocksStore {
    fn mark<T>(
        &self,
        letter: u8,
        split: &[u8],
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, StateError> {
        let Some(bytes) = self.read(MARKS, &mark_key(letter, split))? else { return Ok(None) };
        decode(&bytes).map(Some).ok_or_else(|| self.torn("a mark does not decode"))
    }

    fn pending(&self, split: &[u8]) -> Result<Option<Pending>, StateError> {
        self.mark(b'p', split, |bytes| {
            let (head, n_pieces) = bytes.split_last_chunk()?;
            Some(Pending { id: id(head)?, n_pieces: u32::from_le_bytes(*n_pieces) })
        })
    }

    fn expect_none_pending(&self, split: &[u8]) -> Result<(), StateError> {
        match self.marks(split)? {
            Marks { pending: None, .. } => Ok(()),
            marks => Err(self.unexpected(split, "a commit begins", &marks)),
        }
    }

    /// The caller's steps are out of order; going on would lose or double rows.
    fn unexpected(&self, split: &[u8], what: &str, marks: &Marks) -> StateError {
        StateError::Mismatch(format!(
            "state `{}`, split `{}`: {what} while {marks:?}; compare with the remote store, then promote, discard \
             or load again",
            self.folder().display(),
            split.escape_ascii()
        ))
    }

    fn torn(&self, reason: &str) -> StateError {
        damaged(self.folder(), &format!("pending commit: {reason}"))
    }
}

fn drop_pending(batch: &mut Batch<'_>, split: &[u8], pending: &Pending) {
    for n in 0..pending.n_pieces {
        batch.delete(PENDING, &piece_key(split, n));
    }
    batch.delete(MARKS, &mark_key(b'p', split));
}

fn mark_key(letter: u8, split: &[u8]) -> Vec<u8> {
    [&[letter], split].concat()
}

fn piece_key(split: &[u8], n: u32) -> Vec<u8> {
    [split, &n.to_be_bytes()].concat()
}

fn encoded(id: CommitId) -> Vec<u8> {
    [id.epoch, id.nonce, id.version].map(u64::to_le_bytes).concat()
}

fn id(mut bytes: &[u8]) -> Option<CommitId> {
    let id =
        CommitId { epoch: number(&mut bytes)?, nonce: number(&mut bytes)?, version: number(&mut bytes)? };
    bytes.is_empty().then_some(id)
}

fn encode(write: Write<'_>, out: &mut Vec<u8>) {
    let (letter, key, value) = match write {
        Write::Put { key, value } => (b'p', key, value),
        Write::Delete { key } => (b'd', key, &[][..]),
        Write::DeletePrefix { prefix } => (b'r', prefix, &[][..]),
    };
    out.push(letter);
    for bytes in [key, value] {
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    }
}

fn decode<'a>(rest: &mut &'a [u8]) -> Option<Write<'a>> {
    let (letter, behind) = rest.split_first()?;
    *rest = behind;
    let (key, value) = (slice(rest)?, slice(rest)?);
    match letter {
        b'p' => Some(Write::Put { key, value }),
        b'd' if value.is_empty() => Some(Write::Delete { key }),
        b'r' if value.is_empty() => Some(Write::DeletePrefix { prefix: key }),
        _ => None,
    }
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

fn slice<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(number(rest)?).ok()?;
    let (slice, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(slice)
}
