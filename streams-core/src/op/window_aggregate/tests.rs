//! A record is kept once, however many windows it is in; and is brought together with others before a shuffle.

use std::sync::Mutex;

use super::*;
use crate::aggregate::{Count, Typer, count, last, max, sum};
use crate::batch::Batch;
use crate::chain::{Closed, Fronted, Id, Then};
use crate::context::Cx;
use crate::effects::Effects;
use crate::exchange::ExchangeEntry;
use crate::exchange::combined::Combines;
use crate::exchange::outbox::Outbox;
use crate::machine::Entry as Machine;

const SECOND: i64 = 1_000;

type Counts = WindowAggregate<u32, u64, (Count,), fn(&u32, Window, (u64,)) -> u64>;

/// The rows of one key with a record every second for an hour and a half, in windows of an hour every second.
#[test]
fn an_hour_by_the_second_keeps_a_row_a_second() {
    let cut = Cut { size_ms: 3_600 * SECOND, slide_ms: SECOND, offset_ms: 0 };
    let mut counts: Counts = WindowAggregate::new("counts", cut, (count(),), |_, _, (n,)| n);
    let mut cx = Cx::new();
    for second in 0..5_400 {
        let ts = second * SECOND + 999;
        Operator::<Rec<u32, u64>>::watermark(&mut counts, ts, &mut Nowhere, &mut cx);
        counts.push(Rec { ts, key: 7, val: 1 }, &mut Nowhere, &mut cx);
    }
    let rows = |pane: &Pane<u32, (u64,)>| pane.rows.len() + pane.in_order.len();
    let rows = counts.panes.values().map(rows).sum::<usize>() + counts.hot.len();
    // 3,600 seconds are in windows that are open, where copies would be 3,600 times as many.
    assert!((3_600..3_605).contains(&rows), "{rows} rows");
}

/// What a machine gave out, watermarks and all, and how many records were late.
type Told = (Vec<String>, u64);

/// Writes results down.
#[derive(Default, Clone)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Push<Rec<u64, String>, Cx> for Heard {
    fn push(&mut self, record: Rec<u64, String>, _cx: &mut Cx) {
        self.0.lock().unwrap().push(format!("{} at {}: {}", record.key, record.ts, record.val));
    }

    fn watermark(&mut self, at_ms: i64, _cx: &mut Cx) {
        self.0.lock().unwrap().push(format!("watermark {at_ms}"));
    }

    fn system(&mut self, _message: &mut System<'_>, _cx: &mut Cx) {}
}

/// What one sender gives out in one round: records, and in front of which its event time rises.
type Sent = Vec<(i64, Rec<u64, u64>)>;

/// Runs rounds through a shuffle between as many machines as there are senders; by machine, what came of them, and how
/// many rows and records crossed.
fn shuffled(cut: Cut, rounds: &[Vec<Sent>], combine: bool, relayed: bool) -> (Vec<Told>, usize) {
    let n = rounds[0].len();
    let typer = Typer(PhantomData);
    let (mut entries, mut outboxes, mut heard) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let aggregates =
            (count(), max(typer.by_ref(|n: &u64| *n)), last(typer.by_ref(|n| *n)), sum(typer.by_ref(|n| *n)));
        let finish = |_: &u64, window: Window, values: (u64, u64, u64, u64)| format!("{window:?} {values:?}");
        let aggregate = WindowAggregate::new("totals", cut, aggregates, finish);
        let own = Heard::default();
        heard.push(own.clone());
        let closed = Closed { operators: Then(Id, aggregate), _head: PhantomData };
        let node = closed.connect(own);
        let combiner = if combine { node.front().combiner(n) } else { None };
        assert_eq!(combiner.is_some(), combine);
        outboxes.push(Outbox::new(0, n, combiner));
        let mut entry = ExchangeEntry::new(0, n, node);
        if relayed {
            Machine::<Cx>::relay(&mut entry);
        }
        entries.push(entry);
    }
    let mut contexts: Vec<Cx> = (0..n).map(|_| Cx::new()).collect();
    let mut crossed = 0;
    let mut reached = vec![UNTIMED; n];
    for round in rounds {
        let mut parcels = Vec::new();
        for (((outbox, reached), sent), cx) in
            outboxes.iter_mut().zip(&mut reached).zip(round).zip(&mut contexts)
        {
            for (at_ms, record) in sent {
                if *at_ms > *reached {
                    *reached = *at_ms;
                    Push::<_, Cx>::watermark(outbox, *at_ms, cx);
                }
                outbox.push(record.clone(), cx);
            }
            let mut message = System::Drain(Effects::default());
            outbox.system(&mut message, cx);
            let System::Drain(mut effects) = message else { unreachable!("the message is a drain") };
            parcels.push(effects.parcels.remove(0).into_iter());
        }
        for (entry, cx) in entries.iter_mut().zip(&mut contexts) {
            for (sender, parcels) in parcels.iter_mut().enumerate() {
                let parcel = parcels.next().unwrap();
                crossed += parcel.len();
                entry.feed(Batch::Parcel { sender, parcel }, cx);
            }
        }
    }
    let mut told = Vec::new();
    for ((mut entry, heard), cx) in entries.into_iter().zip(heard).zip(&mut contexts) {
        Machine::<Cx>::system(&mut entry, &mut System::End, cx);
        let mut message = System::Drain(Effects::default());
        Machine::<Cx>::system(&mut entry, &mut message, cx);
        let System::Drain(effects) = message else { unreachable!("the message is a drain") };
        told.push((std::mem::take(&mut *heard.0.lock().unwrap()), effects.late));
    }
    (told, crossed)
}

/// Rounds of records of so many keys, some of them late, from times `from_ms` on.
fn rounds(seed: u64, n_senders: usize, n_keys: u64, from_ms: i64) -> Vec<Vec<Sent>> {
    let mut seed = seed * 2 + 1;
    let mut next = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 20) % below
    };
    let mut reached = vec![UNTIMED; n_senders];
    let mut base_ms = from_ms;
    let mut rounds = Vec::new();
    for _ in 0..40 {
        let mut round = Vec::new();
        for reached in &mut reached {
            let mut sent = Vec::new();
            for _ in 0..next(60) {
                base_ms = base_ms.saturating_add((next(8) == 0).into());
                let ts = base_ms.saturating_sub(next(15) as i64);
                // Some senders have said nothing yet.
                if next(20) > 0 && ts > from_ms {
                    *reached = (*reached).max(ts.saturating_sub(9));
                }
                sent.push((*reached, Rec { ts, key: next(n_keys), val: next(1_000) }));
            }
            round.push(sent);
        }
        rounds.push(round);
    }
    rounds
}

#[test]
fn records_that_are_brought_together_before_a_shuffle_change_nothing() {
    let (mut records, mut rows, mut all, mut late) = (0, 0, 0, 0);
    for (size_ms, slide_ms, offset_ms) in [(10, 10, 0), (40, 40, 7), (30, 10, 0), (25, 10, 3), (1, 1, 0)] {
        let cut = Cut { size_ms, slide_ms, offset_ms };
        for seed in 0..15 {
            for (n_keys, from_ms) in [(1, 0), (5, i64::MIN), (5, i64::MAX - 500), (40, -300)] {
                let rounds = rounds(seed, 1 + (seed % 3) as usize, n_keys, from_ms);
                for relayed in [false, true] {
                    let (plain, plain_crossed) = shuffled(cut, &rounds, false, relayed);
                    let (combined, crossed) = shuffled(cut, &rounds, true, relayed);
                    assert_eq!(combined, plain, "{cut:?}, seed {seed}, {n_keys} keys from {from_ms}");
                    if size_ms > 10 && n_keys < 10 {
                        records += plain_crossed;
                        rows += crossed;
                    }
                    all += plain_crossed as u64;
                    late += plain.iter().map(|(_, late)| late).sum::<u64>();
                }
            }
        }
    }
    assert!(rows * 4 < records * 3, "{rows} rows of {records} records");
    assert!(late * 100 > all, "{late} of {all} records were late");
}
