//! A shuffle between machines: the writing end of one stage, the reading end of the next.
//!
//! Inside one process records travel as they are ([`outbox`]); through a topic they are encoded
//! ([`letterbox`]). The reading end takes both. [`addressed`] is the end of an output whose results go to queues.

pub mod addressed;
pub mod letterbox;
pub mod outbox;

use std::marker::PhantomData;

use crate::ahead::Ahead;
use crate::batch::{Batch, Taken};
use crate::context::Context;
use crate::effects::Parcel;
use crate::key::{Key, Shuffled};
use crate::machine::Entry;
use crate::push::{Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// The reading end of a shuffle between machines of one process.
pub(crate) struct ExchangeEntry<K, T, N> {
    id: OperatorId,
    watermark_ms: i64,
    idle: bool,
    /// By sender, how far its event time has come, where that of each counts ([`Entry::relay`]).
    senders: Vec<i64>,
    relayed: bool,
    senders_id: OperatorId,
    node: N,
    _type: PhantomData<fn() -> (K, T)>,
}

/// What travels in a [`Parcel`]: each record with its sender's watermark, which includes the record itself.
pub(crate) type Shipped<K, T> = Vec<(i64, Rec<K, T>)>;

impl<K, T, N> ExchangeEntry<K, T, N> {
    /// The end of an exchange between so many machines of one process; through topics there is one sender.
    pub(crate) fn new(exchange: usize, n_senders: usize, node: N) -> Self {
        Self {
            id: OperatorId::exchange(exchange),
            watermark_ms: UNTIMED,
            idle: false,
            senders: vec![UNTIMED; n_senders],
            relayed: false,
            senders_id: OperatorId::senders(exchange),
            node,
            _type: PhantomData,
        }
    }

    // Where the senders read sources, each reads an interleaved part of the same ones, in an order that all
    // receivers keep; so the largest watermark seen is the watermark of everything before. Behind another
    // exchange each sender has keys of its own: what one has given out says nothing of the others, and event time
    // is the smallest of theirs.
    #[inline(always)]
    fn hear<C: Context>(&mut self, sender: usize, at_ms: i64, cx: &mut C)
    where
        N: Push<Rec<K, T>, C>,
    {
        if !self.relayed {
            return self.advance(at_ms, cx);
        }
        if let Some(known) = self.senders.get_mut(sender)
            && at_ms > *known
        {
            *known = at_ms;
            let smallest = self.senders.iter().copied().min().unwrap_or(at_ms);
            self.advance(smallest, cx);
        }
    }

    #[inline(always)]
    fn advance<C: Context>(&mut self, at_ms: i64, cx: &mut C)
    where
        N: Push<Rec<K, T>, C>,
    {
        if at_ms > self.watermark_ms {
            self.watermark_ms = at_ms;
            self.node.watermark(at_ms, cx);
        }
    }

    // All senders turn idle in one round, which brings no records, and active in one round, in front of its
    // records; so the first word counts for all.
    fn rest<C: Context>(&mut self, idle: bool, cx: &mut C)
    where
        N: Push<Rec<K, T>, C>,
    {
        if idle != self.idle {
            self.idle = idle;
            let mut message = if idle { System::Idle } else { System::Active };
            self.node.system(&mut message, cx);
        }
    }

    fn feed_encoded<C: Context>(&mut self, records: &[(i64, &[u8])], cx: &mut C)
    where
        K: Key,
        T: Shuffled,
        N: Push<Rec<K, T>, C>,
    {
        for &(at_ms, bytes) in records {
            self.advance(at_ms, cx);
            match letterbox::decode(bytes) {
                Ok(record) => self.node.push(record, cx),
                Err(error) => cx.base().reject("key_by", format!("a shuffled record: {error}"), None),
            }
        }
    }
}

impl<K, T, N, C> Entry<C> for ExchangeEntry<K, T, N>
where
    K: Key,
    T: Shuffled,
    C: Context,
    N: Push<Rec<K, T>, C> + Send,
{
    fn feed(&mut self, batch: Batch<'_>, cx: &mut C) -> Taken {
        let (sender, parcel) = match batch {
            Batch::Parcel { sender, parcel } => (sender, parcel),
            Batch::Encoded(records) => {
                self.feed_encoded(records, cx);
                return Taken::All;
            }
            Batch::Raw { .. } | Batch::Typed(_) | Batch::Pulled(_) => {
                unreachable!("exchanges take what came through a shuffle")
            }
        };
        let Parcel { records, watermark_ms, idle, .. } = parcel;
        if !idle {
            self.rest(false, cx);
        }
        let records =
            records.downcast::<Shipped<K, T>>().expect("a parcel comes from the shuffle of the same job");
        for (at_ms, record) in *records {
            self.hear(sender, at_ms, cx);
            self.node.push(record, cx);
        }
        self.hear(sender, watermark_ms, cx);
        self.rest(idle, cx);
        Taken::All
    }

    fn ahead(&mut self, records: &[&[u8]], cx: &mut C) {
        // One that does not decode is told when it comes.
        let keys = records.iter().filter_map(|bytes| letterbox::key_of::<K>(bytes).ok());
        let keys: Vec<(K, i64)> = keys.collect();
        let machine = cx.base().attached.as_ref().map(|attached| attached.machine().to_vec());
        let machine = machine.unwrap_or_default();
        let mut message = System::Ahead(Ahead::new(&keys, &machine));
        if !keys.is_empty() {
            self.node.system(&mut message, cx);
        }
        if let System::Ahead(ahead) = message {
            cx.base().read_ahead(ahead.wanted());
        }
    }

    fn watermark(&mut self, at_ms: i64, cx: &mut C) {
        self.advance(at_ms, cx);
    }

    fn system(&mut self, message: &mut System<'_>, cx: &mut C) {
        match message {
            System::NewSplit(loader) => {
                if let Some(saved) = loader.value(self.id, "exchange") {
                    self.watermark_ms = saved;
                    self.senders.fill(saved);
                }
                if let Some(saved) = loader.value::<Vec<i64>>(self.senders_id, "senders") {
                    self.senders.iter_mut().zip(saved).for_each(|(known, saved)| *known = saved);
                }
            }
            System::CheckPoint(saver) => {
                saver.put_value(self.id, "exchange", &self.watermark_ms);
                if self.relayed {
                    saver.put_value(self.senders_id, "senders", &self.senders);
                }
            }
            _ => {}
        }
        self.node.system(message, cx);
    }

    fn relay(&mut self) {
        self.relayed = true;
    }
}
