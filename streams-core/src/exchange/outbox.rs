//! The writing end between machines of one process.

use crate::context::{Context, Cx};
use crate::effects::Parcel;
use crate::exchange::Shipped;
use crate::exchange::combined::{Combiner, Combining};
use crate::key::{self, Key, Shuffled};
use crate::push::{Push, System};
use crate::record::Rec;
use crate::time::UNTIMED;

/// The writing end of a shuffle: one bin per machine, emptied into parcels at each drain.
#[derive(Debug)]
pub struct Outbox<K, T, B> {
    exchange: usize,
    bins: Vec<Shipped<K, T>>,
    /// How many of them went out with records when last any did.
    full: usize,
    watermark_ms: i64,
    idle: bool,
    scratch: Vec<u8>,
    combining: Option<Combining<B>>,
}

impl<K: Key, T: Shuffled, B: Combiner<Rec<K, T>>> Outbox<K, T, B> {
    pub(crate) fn new(exchange: usize, n_machines: usize, combiner: Option<B>) -> Self {
        let mut bins = Vec::new();
        bins.resize_with(n_machines, Shipped::default);
        let combining = combiner.map(Combining::new);
        Self { exchange, bins, full: 0, watermark_ms: UNTIMED, idle: false, scratch: Vec::new(), combining }
    }

    /// What goes out to each machine.
    fn drain(&mut self, cx: &mut Cx) -> Vec<Parcel> {
        let Self { exchange, watermark_ms, idle, .. } = *self;
        let mut combiner = self.combining.as_mut().and_then(Combining::taken);
        if let Some(combiner) = &mut combiner {
            combiner.sort();
        }
        let mut parcels = Vec::with_capacity(self.bins.len());
        let (mut full, mut n_out) = (0, 0);
        for (owner, bin) in self.bins.iter_mut().enumerate() {
            let len = combiner.as_ref().map_or(bin.records.len(), |combiner| combiner.len(owner));
            // The next round mostly needs as much room: that of what has come here, and new one where less comes
            // than goes. A drain in between needs no memory.
            let mut records: Box<Shipped<K, T>> = Box::default();
            if len > 0 {
                let spare = cx.take_spare(exchange, 0);
                match &mut combiner {
                    Some(combiner) => {
                        records = spare.unwrap_or_default();
                        combiner.drain(owner, &mut records.rows, &mut records.marks);
                    }
                    None => {
                        records = spare.unwrap_or_else(|| Box::new(Shipped::with_room(len)));
                        std::mem::swap(bin, &mut *records);
                    }
                }
                full += 1;
                n_out += len;
            }
            parcels.push(Parcel { len, records, watermark_ms, idle });
        }
        if full > 0 {
            self.full = full;
        }
        // Where more comes than goes, the rest goes back to those who send more than they get.
        for parcel in parcels.iter_mut().filter(|parcel| parcel.is_empty()) {
            if let Some(spare) = cx.take_spare::<Shipped<K, T>>(exchange, self.full) {
                parcel.records = spare;
            }
        }
        if let Some(combining) = &mut self.combining {
            combining.drained(n_out);
        }
        parcels
    }
}

#[diagnostic::do_not_recommend]
impl<K, T, B, C> Push<Rec<K, T>, C> for Outbox<K, T, B>
where
    K: Key,
    T: Shuffled,
    B: Combiner<Rec<K, T>>,
    C: Context,
{
    #[inline(always)]
    fn push(&mut self, record: Rec<K, T>, cx: &mut C) {
        if let Some(combiner) = self.combining.as_mut().and_then(Combining::at_work) {
            return combiner.push(self.watermark_ms, record, cx.base());
        }
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
            System::Drain(effects) => effects.set_parcels(self.exchange, self.drain(cx.base())),
            System::Idle => self.idle = true,
            System::Active => self.idle = false,
            // The stage behind hears the others through its own entry, in order with its own input.
            _ => {}
        }
    }
}
