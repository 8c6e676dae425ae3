//! A shuffle between machines: the writing end of one stage, the reading end of the next.
//!
//! Inside one process records travel as they are ([`outbox`]); through a topic they are encoded
//! ([`letterbox`]). The reading end takes both. [`addressed`] is the end of an output whose results go to queues.

pub mod addressed;
pub mod combined;
pub mod letterbox;
pub mod outbox;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::marker::PhantomData;

use crate::ahead::Ahead;
use crate::batch::{Batch, Taken};
use crate::context::Context;
use crate::effects::Parcel;
use crate::exchange::combined::Combined;
use crate::key::{Key, Shuffled};
use crate::machine::Entry;
use crate::push::{Push, System};
use crate::record::Rec;
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// The reading end of a shuffle between machines of one process.
pub(crate) struct ExchangeEntry<K, T, N> {
    exchange: usize,
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

/// What travels in a [`Parcel`]: records, and where among them their sender's watermark rose; or rows of the operator
/// behind in their place ([`combined`]).
#[derive(Debug)]
pub(crate) struct Shipped<K, T> {
    records: Vec<Rec<K, T>>,
    /// In front of the record of this number event time rises so far; behind the last one too. All rises are here, also
    /// those that records for other machines bring: an operator that gives something out when event time rises gives it
    /// to others with their event time from before, which must not depend on who has which keys.
    marks: Vec<(usize, i64)>,
    rows: Option<Box<dyn Any + Send>>,
}

/// Larger memory, in bytes, is given back.
const MOST_SPARE: usize = 1 << 20;

/// Smaller memory, in bytes, is kept however little came in it: parcels of few records differ much in length, and what
/// one thread frees of another one's memory makes that one wait.
const ALWAYS_SPARE: usize = 1 << 14;

/// Whether memory with room for so many `R` is worth keeping, behind `len` of them; behind none it comes from somebody
/// who has more than enough. What a large window gives at once is not: no more of the kind may come for long.
pub(crate) fn is_worth_keeping<R>(room: usize, len: usize) -> bool {
    let bytes = room * size_of::<R>();
    bytes <= ALWAYS_SPARE || (len == 0 || room / 4 <= len) && bytes <= MOST_SPARE
}

/// Gives items and marks to `to` in their order: each mark stands in front of the item of its number, or behind the
/// last.
// Two closures that share what they work on, each called at one place: so both are compiled into the loop.
#[inline(always)]
pub(crate) fn in_order<S, R>(
    to: &mut S,
    mut items: impl Iterator<Item = R>,
    marks: impl Iterator<Item = (usize, i64)>,
    rise: impl Fn(&mut S, i64),
    take: impl Fn(&mut S, R),
) {
    let mut marks = marks.peekable();
    for number in 0.. {
        while let Some((_, at_ms)) = marks.next_if(|(from, _)| *from <= number) {
            rise(to, at_ms);
        }
        let Some(item) = items.next() else { return };
        take(to, item);
    }
}

/// Hands over what has come for memory that was emptied; where nothing has come, the memory stays for what will.
pub(crate) fn trade<T>(come: &mut Vec<T>, emptied: &mut Vec<T>) {
    if !come.is_empty() {
        std::mem::swap(come, emptied);
    }
}

impl<K, T> Default for Shipped<K, T> {
    fn default() -> Self {
        Self { records: Vec::new(), marks: Vec::new(), rows: None }
    }
}

impl<K, T> Shipped<K, T> {
    /// Event time of the sender has come to `at_ms`.
    #[inline(always)]
    fn mark(&mut self, at_ms: i64) {
        self.marks.push((self.records.len(), at_ms));
    }

    /// Empty, with room for so many records as mostly come.
    fn with_room(len: usize) -> Self {
        Self { records: Vec::with_capacity(len.next_power_of_two()), ..Self::default() }
    }

    /// Whether its memory is worth keeping for what comes behind `len` records.
    fn is_spare(&self, len: usize) -> bool {
        let room = self.records.capacity();
        (room > 0 || self.rows.is_some()) && is_worth_keeping::<Rec<K, T>>(room, len)
    }
}

impl<K, T, N> ExchangeEntry<K, T, N> {
    /// The end of an exchange between so many machines of one process; through topics there is one sender.
    pub(crate) fn new(exchange: usize, n_senders: usize, node: N) -> Self {
        Self {
            exchange,
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
        if self.rises(sender, at_ms) {
            self.node.watermark(self.watermark_ms, cx);
        }
    }

    /// Whether event time rises with that of a sender.
    #[inline(always)]
    fn rises(&mut self, sender: usize, at_ms: i64) -> bool {
        let mut reached_ms = at_ms;
        if self.relayed {
            match self.senders.get_mut(sender) {
                Some(known) if at_ms > *known => *known = at_ms,
                _ => return false,
            }
            reached_ms = self.senders.iter().copied().min().unwrap_or(at_ms);
        }
        self.reaches(reached_ms)
    }

    #[inline(always)]
    fn reaches(&mut self, at_ms: i64) -> bool {
        let rises = at_ms > self.watermark_ms;
        if rises {
            self.watermark_ms = at_ms;
        }
        rises
    }

    #[inline(always)]
    fn advance<C: Context>(&mut self, at_ms: i64, cx: &mut C)
    where
        N: Push<Rec<K, T>, C>,
    {
        if self.reaches(at_ms) {
            self.node.watermark(at_ms, cx);
        }
    }

    /// Takes in a sender's records, and leaves the memory that they lay in to what is sent next.
    fn take<C: Context>(
        &mut self,
        sender: usize,
        n_parcel: usize,
        mut shipped: Box<Shipped<K, T>>,
        cx: &mut C,
    ) where
        K: Send + 'static,
        T: Send + 'static,
        N: Push<Rec<K, T>, C>,
    {
        let Shipped { records, marks, rows } = &mut *shipped;
        let len = records.len();
        if let Some(rows) = rows
            && n_parcel > len
        {
            marks.retain_mut(|(_, at_ms)| {
                let rises = self.rises(sender, *at_ms);
                *at_ms = self.watermark_ms;
                rises
            });
            self.node.system(&mut System::Combined(Combined { rows: &mut **rows, marks }), cx);
            marks.clear();
        }
        in_order(
            &mut (&mut *self, &mut *cx),
            records.drain(..),
            marks.drain(..),
            |(entry, cx), at_ms| entry.hear(sender, at_ms, cx),
            |(entry, cx), record| entry.node.push(record, cx),
        );
        if shipped.is_spare(len) {
            cx.base().put_spare(self.exchange, self.senders.len(), shipped);
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
        let Parcel { records, len, watermark_ms, idle } = parcel;
        if !idle {
            self.rest(false, cx);
        }
        if let Some(records) = records {
            let records =
                records.downcast::<Shipped<K, T>>().expect("a parcel comes from the shuffle of the same job");
            self.take(sender, len, records, cx);
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
