//! The writing end through a topic, and the encoding of what is in it.

use std::marker::PhantomData;

use crate::bug::{Bug, planted};
use crate::codec;
use crate::context::Context;
use crate::effects::Run;
use crate::error::CodecError;
use crate::key::{self, Key, Shuffled};
use crate::push::{Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// The writing end of a shuffle through a topic: one run of encoded records per queue, emptied at each drain.
///
/// A record is its watermark and event time (8 bytes each, little endian), its key and its value.
#[derive(Debug)]
pub struct Letterbox<K, T> {
    exchange: usize,
    runs: Vec<Run>,
    watermark_ms: i64,
    scratch: Vec<u8>,
    _type: PhantomData<fn(K, T)>,
}

impl<K: Key, T: Shuffled> Letterbox<K, T> {
    pub(crate) fn new(exchange: usize, n_queues: usize) -> Self {
        let runs = vec![Run::default(); n_queues];
        Self { exchange, runs, watermark_ms: UNTIMED, scratch: Vec::new(), _type: PhantomData }
    }

    fn post(&mut self, record: &Rec<K, T>) -> Result<(), CodecError> {
        self.scratch.clear();
        codec::key_to_vec(&record.key, &mut self.scratch)?;
        let owner = key::owner_of_encoded(&record.key, &self.scratch, self.runs.len());
        let Some(run) = self.runs.get_mut(owner) else { return Ok(()) };
        let start = run.bytes.len();
        run.bytes.extend_from_slice(&[0; 4]);
        run.bytes.extend_from_slice(&self.watermark_ms.to_le_bytes());
        run.bytes.extend_from_slice(&record.ts.to_le_bytes());
        run.bytes.extend_from_slice(&(self.scratch.len() as u32).to_le_bytes());
        run.bytes.extend_from_slice(&self.scratch);
        if let Err(error) = codec::to_vec(&record.val, &mut run.bytes) {
            run.bytes.truncate(start);
            return Err(error);
        }
        let len = (run.bytes.len() - start - 4) as u32;
        if let Some(place) = run.bytes.get_mut(start..start + 4) {
            place.copy_from_slice(&len.to_le_bytes());
        }
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<K: Key, T: Shuffled, C: Context> Push<Rec<K, T>, C> for Letterbox<K, T> {
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        if let Err(error) = self.post(&record) {
            cx.base().reject("key_by", format!("the record cannot be encoded: {error}"), None);
        }
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, _cx: &mut C) {
        self.watermark_ms = at_ms;
    }

    fn system(&mut self, message: &mut System<'_>, _cx: &mut C) {
        match message {
            System::Reach(reach) => {
                reach.exchanges.insert(self.exchange);
            }
            System::Drain(effects) => {
                let watermark_ms = self.watermark_ms;
                let runs = self.runs.iter_mut().map(|run| Run { watermark_ms, ..std::mem::take(run) });
                effects.set_runs(self.exchange, runs.collect());
            }
            // Records carry the watermark, so it is the same behind a restart; the operators in front tell it
            // again only when it moves.
            System::NewSplit(loader) if !planted(Bug::BorderForgets) => {
                if let Some(saved) = loader.value(OperatorId::border(self.exchange), "border") {
                    self.watermark_ms = saved;
                }
            }
            System::CheckPoint(saver) => {
                saver.put_value(OperatorId::border(self.exchange), "border", &self.watermark_ms);
            }
            _ => {}
        }
    }
}

/// Reads a record that a [`Letterbox`] wrote.
pub(crate) fn decode<K: Key, T: Shuffled>(bytes: &[u8]) -> Result<Rec<K, T>, CodecError> {
    let Parts { ts, key, val } = Parts::of(bytes)?;
    Ok(Rec { ts, key: codec::key_from_slice(key)?, val: codec::from_slice(val)? })
}

/// The key and the event time of a shuffled record.
pub(crate) fn key_of<K: Key>(bytes: &[u8]) -> Result<(K, i64), CodecError> {
    let Parts { ts, key, .. } = Parts::of(bytes)?;
    Ok((codec::key_from_slice(key)?, ts))
}

/// A shuffled record, taken apart.
struct Parts<'a> {
    ts: i64,
    key: &'a [u8],
    val: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let short = || CodecError::Truncated { at: bytes.len(), what: "a shuffled record" };
        let (_watermark, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let (ts, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
        let (key_len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let (key, val) = rest.split_at_checked(u32::from_le_bytes(*key_len) as usize).ok_or_else(short)?;
        Ok(Parts { ts: i64::from_le_bytes(*ts), key, val })
    }
}

/// The watermark that a shuffled record carries: its sender's, the record included.
#[must_use]
pub fn carried_watermark(bytes: &[u8]) -> i64 {
    bytes.first_chunk::<8>().map_or(UNTIMED, |watermark| i64::from_le_bytes(*watermark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<K: Key + PartialEq + std::fmt::Debug>(keys: impl IntoIterator<Item = K>) {
        for key in keys {
            let mut letterbox: Letterbox<K, u8> = Letterbox::new(0, 3);
            let record = Rec { ts: 7, key, val: 9 };
            letterbox.post(&record).unwrap();
            let owner = key::owner(&record.key, 3, &mut Vec::new()).unwrap();
            let (owned, others): (Vec<_>, Vec<_>) =
                letterbox.runs.iter().enumerate().partition(|(queue, _)| *queue == owner);
            assert!(others.iter().all(|(_, run)| run.bytes.is_empty()), "{record:?}");
            let bytes = owned.first().and_then(|(_, run)| run.bytes.get(4..)).unwrap();
            assert_eq!(decode::<K, u8>(bytes).unwrap(), record);
            assert_eq!(key_of::<K>(bytes).unwrap(), (record.key, 7));
        }
    }

    #[test]
    fn a_record_arrives_as_it_was_in_the_queue_of_its_key() {
        check([0_u64, 1, 300, u64::MAX]);
        check([-1_i32, 0, i32::MAX]);
        check([0_u8, 255]);
        check(["", "a", "host-17"].map(str::to_owned));
        check([("a".to_owned(), 3_u32), (String::new(), 0)]);
    }
}
