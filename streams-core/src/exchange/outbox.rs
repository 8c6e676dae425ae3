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
    bins: Vec<Box<Shipped<K, T>>>,
    watermark_ms: i64,
    idle: bool,
    scratch: Vec<u8>,
}

impl<K, T> Outbox<K, T> {
    pub(crate) fn new(exchange: usize, n_machines: usize) -> Self {
        let mut bins = Vec::new();
        bins.resize_with(n_machines, Box::default);
        Self { exchange, bins, watermark_ms: UNTIMED, idle: false, scratch: Vec::new() }
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
                let parcels = self.bins.iter_mut().map(|bin| {
                    // What has come here lay in memory that is free now, and other machines send about as much.
                    let len = bin.records.len();
                    let records = match len {
                        0 => Box::default(),
                        _ => std::mem::replace(bin, cx.base().spare(exchange).unwrap_or_default()),
                    };
                    Parcel { len, records, watermark_ms, idle }
                });
                effects.set_parcels(exchange, parcels.collect());
            }
            System::Idle => self.idle = true,
            System::Active => self.idle = false,
            // The stage behind hears the others through its own entry, in order with its own input.
            _ => {}
        }
    }
}
