//! The writing end between machines of one process.

use std::any::Any;

use crate::context::{Context, Cx};
use crate::effects::Parcel;
use crate::exchange::combined::{Combiner, Combining};
use crate::exchange::{Shipped, trade};
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

    /// What goes out to each machine. Event time goes out each time, since what a drain gives may be thrown away.
    fn drain(&mut self, cx: &mut Cx) -> Vec<Parcel> {
        let Self { exchange, watermark_ms, idle, .. } = *self;
        let mut combiner = self.combining.as_mut().and_then(Combining::taken);
        if let Some(combiner) = &mut combiner {
            combiner.sort();
        }
        let len = |(owner, bin): (usize, &Shipped<K, T>)| {
            combiner.as_ref().map_or(bin.records.len(), |combiner| combiner.len(owner))
        };
        let lens: Vec<usize> = self.bins.iter().enumerate().map(len).collect();
        // A drain in between needs no memory.
        let full = lens.iter().filter(|len| **len > 0).count();
        if full > 0 {
            self.full = full;
        }
        let mut fill = |owner: usize, bin: &mut Shipped<K, T>, parcel: &mut Shipped<K, T>| match &mut combiner
        {
            Some(combiner) => combiner.drain(owner, &mut parcel.rows, &mut parcel.marks),
            None => {
                trade(&mut bin.records, &mut parcel.records);
                trade(&mut bin.marks, &mut parcel.marks);
            }
        };
        let mut parcels = Vec::with_capacity(lens.len());
        for ((owner, bin), &len) in self.bins.iter_mut().enumerate().zip(&lens) {
            let mut records: Option<Box<dyn Any + Send>> = None;
            if len > 0 {
                // The next round mostly needs as much room: that of what has come here, and new one where less comes
                // than goes.
                let room = || Box::new(Shipped::with_room(bin.records.len()));
                let mut shipped = cx.take_spare(exchange, 0).unwrap_or_else(room);
                fill(owner, bin, &mut shipped);
                records = Some(shipped);
            }
            parcels.push(Parcel { len, records, watermark_ms, idle });
        }
        // Where more comes than goes, the rest goes back to those who send more than they get.
        let empty =
            self.bins.iter_mut().enumerate().zip(&mut parcels).filter(|(_, parcel)| parcel.is_empty());
        for ((owner, bin), parcel) in empty {
            if let Some(mut spare) = cx.take_spare(exchange, self.full) {
                fill(owner, bin, &mut spare);
                parcel.records = Some(spare);
                continue;
            }
            let mut marks = Shipped::default();
            fill(owner, bin, &mut marks);
            // A drain in between has none, and takes no memory.
            if !marks.marks.is_empty() {
                parcel.records = Some(Box::new(marks));
            }
        }
        if let Some(combining) = &mut self.combining {
            combining.drained(lens.iter().sum());
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
        if B::EXISTS
            && let Some(combiner) = self.combining.as_mut().and_then(Combining::at_work)
        {
            return combiner.push(self.watermark_ms, record, cx.base());
        }
        match key::owner(&record.key, self.bins.len(), &mut self.scratch) {
            Ok(owner) => {
                if let Some(bin) = self.bins.get_mut(owner) {
                    bin.records.push(record);
                }
            }
            Err(error) => cx.base().reject("key_by", format!("the key cannot be encoded: {error}"), None),
        }
    }

    #[inline(always)]
    fn watermark(&mut self, at_ms: i64, _cx: &mut C) {
        self.watermark_ms = at_ms;
        match self.combining.as_mut().and_then(Combining::taken) {
            Some(combiner) => combiner.watermark(at_ms),
            None => self.bins.iter_mut().for_each(|bin| bin.mark(at_ms)),
        }
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
