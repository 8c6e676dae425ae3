//! The writing end between machines of one process.

use crate::context::Context;
use crate::effects::Parcel;
use crate::exchange::Shipped;
use crate::key::{self, Key, Shuffled};
use crate::push::{Push, System};
use crate::record::Rec;
use crate::time::UNTIMED;

/// The writing end of a shuffle: one bin per machine, emptied into parcels at each drain.
#[derive(Debug)]
pub struct Outbox<K, T> {
    exchange: usize,
    bins: Vec<Shipped<K, T>>,
    /// How many of them went out with records when last any did.
    full: usize,
    watermark_ms: i64,
    idle: bool,
    scratch: Vec<u8>,
}

impl<K, T> Outbox<K, T> {
    pub(crate) fn new(exchange: usize, n_machines: usize) -> Self {
        let mut bins = Vec::new();
        bins.resize_with(n_machines, Shipped::default);
        Self { exchange, bins, full: 0, watermark_ms: UNTIMED, idle: false, scratch: Vec::new() }
    }
}

#[diagnostic::do_not_recommend]
impl<K: Key, T: Shuffled, C: Context> Push<Rec<K, T>, C> for Outbox<K, T> {
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        match key::owner(&record.key, self.bins.len(), &mut self.scratch) {
            Ok(owner) => {
                if let Some(bin) = self.bins.get_mut(owner) {
                    bin.push(self.watermark_ms, record);
                }
            }
            Err(error) => cx.base().reject("key_by", format!("the key cannot be encoded: {error}"), None),
        }
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, _cx: &mut C) {
        self.watermark_ms = at_ms;
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        match message {
            System::Reach(reach) => {
                reach.exchanges.insert(self.exchange);
            }
            System::Drain(effects) => {
                let Self { exchange, watermark_ms, idle, .. } = *self;
                let full = self.bins.iter().filter(|bin| !bin.records.is_empty()).count();
                // A drain in between needs no memory.
                if full > 0 {
                    self.full = full;
                }
                // The next round mostly needs as much room: that of what has come here, and new one where less comes
                // than goes.
                let mut parcels = Vec::with_capacity(self.bins.len());
                for bin in &mut self.bins {
                    let len = bin.records.len();
                    let records: Box<Shipped<K, T>> = if len == 0 {
                        Box::default()
                    } else {
                        let room = || Box::new(Shipped::with_room(len));
                        let mut records = cx.base().take_spare(exchange, 0).unwrap_or_else(room);
                        std::mem::swap(bin, &mut *records);
                        records
                    };
                    parcels.push(Parcel { len, records, watermark_ms, idle });
                }
                // Where more comes than goes, the rest goes back to those who send more than they get.
                for parcel in parcels.iter_mut().filter(|parcel| parcel.is_empty()) {
                    if let Some(spare) = cx.base().take_spare::<Shipped<K, T>>(exchange, self.full) {
                        parcel.records = spare;
                    }
                }
                effects.set_parcels(exchange, parcels);
            }
            System::Idle => self.idle = true,
            System::Active => self.idle = false,
            // The stage behind hears the others through its own entry, in order with its own input.
            _ => {}
        }
    }
}
