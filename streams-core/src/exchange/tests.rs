//! Parcels: what they bring in which order, and what becomes of their memory.

use super::*;
use crate::context::Cx;
use crate::effects::Effects;
use crate::key;

/// Writes down what it hears.
#[derive(Default)]
struct Heard(Vec<String>);

impl Push<Rec<u8, u8>, Cx> for Heard {
    fn push(&mut self, record: Rec<u8, u8>, _cx: &mut Cx) {
        self.0.push(format!("record {}", record.val));
    }

    fn watermark(&mut self, at_ms: i64, _cx: &mut Cx) {
        self.0.push(format!("watermark {at_ms}"));
    }

    fn system(&mut self, _message: &mut System<'_>, _cx: &mut Cx) {}
}

type Plain = outbox::Outbox<u8, u8, combined::Never>;

/// What goes out now.
fn drained(outbox: &mut Plain, cx: &mut Cx) -> Vec<Parcel> {
    let mut message = System::Drain(Effects::default());
    outbox.system(&mut message, cx);
    let System::Drain(mut effects) = message else { unreachable!("the message is a drain") };
    effects.parcels.remove(0)
}

/// Sends records, each with its sender's watermark, in `memory`; gives what the reading end made of them.
fn sent(
    mut memory: Box<Shipped<u8, u8>>,
    records: &[(i64, u8)],
    watermark_ms: i64,
    cx: &mut Cx,
) -> Vec<String> {
    let mut reached_ms = UNTIMED;
    for &(at_ms, val) in records {
        if at_ms > reached_ms {
            memory.mark(at_ms);
            reached_ms = at_ms;
        }
        memory.records.push(Rec { ts: at_ms, key: 0, val });
    }
    let parcel = Parcel { len: records.len(), records: Some(memory), watermark_ms, idle: false };
    let mut entry = ExchangeEntry::new(0, 2, Heard::default());
    assert_eq!(entry.feed(Batch::Parcel { sender: 0, parcel }, cx), Taken::All);
    entry.node.0
}

#[test]
fn watermarks_stand_where_they_rose() {
    let mut cx = Cx::new();
    assert_eq!(
        sent(Box::default(), &[(UNTIMED, 1), (5, 2), (5, 3), (9, 4)], 11, &mut cx),
        ["record 1", "watermark 5", "record 2", "record 3", "watermark 9", "record 4", "watermark 11"]
    );
    // Memory that was used before brings nothing of it along.
    let emptied = cx.take_spare(0, 0).expect("a parcel that was taken leaves its memory");
    assert_eq!(sent(emptied, &[(5, 6)], UNTIMED, &mut cx), ["watermark 5", "record 6"]);
    assert_eq!(sent(cx.take_spare(0, 0).unwrap(), &[], UNTIMED, &mut cx), Vec::<String>::new());
}

#[test]
fn behind_another_exchange_event_time_is_the_smallest_of_the_senders() {
    let mut entry: ExchangeEntry<u8, u8, Heard> = ExchangeEntry::new(0, 2, Heard::default());
    Entry::<Cx>::relay(&mut entry);
    let mut cx = Cx::new();
    for (sender, times) in [(0, [3, 7]), (1, [5, 5]), (0, [9, 9])] {
        let mut records: Box<Shipped<u8, u8>> = Box::default();
        for ts in times {
            records.mark(ts);
            records.records.push(Rec { ts, key: 0, val: sender as u8 });
        }
        let parcel = Parcel { len: 2, records: Some(records), watermark_ms: times[1], idle: false };
        entry.feed(Batch::Parcel { sender, parcel }, &mut cx);
    }
    let heard = ["record 0", "record 0", "watermark 5", "record 1", "record 1", "record 0", "record 0"];
    assert_eq!(entry.node.0, heard);
}

#[test]
fn a_bin_goes_out_with_its_marks_and_begins_anew() {
    let mut cx = Cx::new();
    let mut outbox: Plain = Plain::new(0, 1, None);
    let mut entry = ExchangeEntry::new(0, 1, Heard::default());
    for round in 1..=3 {
        Push::<_, Cx>::watermark(&mut outbox, 5, &mut cx);
        for val in [round, 10 * round] {
            outbox.push(Rec { ts: 5, key: 0, val }, &mut cx);
        }
        for parcel in drained(&mut outbox, &mut cx) {
            assert_eq!(parcel.len(), 2);
            entry.feed(Batch::Parcel { sender: 0, parcel }, &mut cx);
        }
    }
    let heard = ["watermark 5", "record 1", "record 10", "record 2", "record 20", "record 3", "record 30"];
    assert_eq!(entry.node.0, heard);
}

#[test]
fn every_machine_hears_every_rise() {
    let mut cx = Cx::new();
    let mut outbox: Plain = Plain::new(0, 2, None);
    let key = (0..).find(|key| key::owner(key, 2, &mut Vec::new()).unwrap() == 1).unwrap();
    for at_ms in [5, 7] {
        Push::<_, Cx>::watermark(&mut outbox, at_ms, &mut cx);
        outbox.push(Rec { ts: at_ms, key, val: at_ms as u8 }, &mut cx);
    }
    Push::<_, Cx>::watermark(&mut outbox, 9, &mut cx);
    let heard = drained(&mut outbox, &mut cx).into_iter().map(|parcel| {
        let mut entry = ExchangeEntry::new(0, 2, Heard::default());
        entry.feed(Batch::Parcel { sender: 0, parcel }, &mut cx);
        entry.node.0
    });
    let expected = [
        vec!["watermark 5", "watermark 7", "watermark 9"],
        vec!["watermark 5", "record 5", "watermark 7", "record 7", "watermark 9"],
    ];
    assert_eq!(heard.collect::<Vec<_>>(), expected);
}

/// A drain may be thrown away, as those behind a load are: what it said is said again.
#[test]
fn each_drain_says_how_far_event_time_is_and_who_rests_and_takes_memory_only_for_news() {
    let mut cx = Cx::new();
    let mut outbox: Plain = Plain::new(0, 2, None);
    let key = (0..).find(|key| key::owner(key, 2, &mut Vec::new()).unwrap() == 1).unwrap();
    let mut sent = |outbox: &mut Plain, watermark_ms, idle| {
        let parcels = drained(outbox, &mut cx);
        for parcel in &parcels {
            assert_eq!((parcel.watermark_ms, parcel.idle), (watermark_ms, idle));
        }
        parcels.into_iter().map(|parcel| parcel.records.is_some()).collect::<Vec<_>>()
    };
    let mut cx = Cx::new();
    assert_eq!(sent(&mut outbox, UNTIMED, false), [false, false]);
    Push::<_, Cx>::watermark(&mut outbox, 5, &mut cx);
    assert_eq!(sent(&mut outbox, 5, false), [true, true]);
    assert_eq!(sent(&mut outbox, 5, false), [false, false]);
    outbox.push(Rec { ts: 5, key, val: 0 }, &mut cx);
    assert_eq!(sent(&mut outbox, 5, false), [false, true]);
    outbox.system(&mut System::Idle, &mut cx);
    assert_eq!(sent(&mut outbox, 5, true), [false, false]);
    assert_eq!(sent(&mut outbox, 5, true), [false, false]);
}

#[test]
fn memory_goes_back_to_who_sends_more_than_it_gets() {
    let mut cx = Cx::new();
    let mut outbox: Plain = Plain::new(0, 2, None);
    for _ in 0..2 {
        cx.put_spare(0, 2, Box::new(Shipped::<u8, u8>::with_room(8)));
    }
    // Of two pieces of memory it needs one itself each round.
    let key = (0..).find(|key| key::owner(key, 2, &mut Vec::new()).unwrap() == 1).unwrap();
    outbox.push(Rec { ts: 5, key, val: 0 }, &mut cx);
    drop(drained(&mut outbox, &mut cx));
    assert!(cx.take_spare::<Shipped<u8, u8>>(0, 0).is_some(), "one is kept for the next round");
    cx.put_spare(0, 2, Box::new(Shipped::<u8, u8>::with_room(8)));
    cx.put_spare(0, 2, Box::new(Shipped::<u8, u8>::with_room(8)));
    let mut other = Cx::new();
    for parcel in drained(&mut outbox, &mut cx) {
        assert!(parcel.is_empty());
        let mut entry = ExchangeEntry::new(0, 2, Heard::default());
        entry.feed(Batch::Parcel { sender: 0, parcel }, &mut other);
    }
    assert!(other.take_spare::<Shipped<u8, u8>>(0, 0).is_some());
    assert!(other.take_spare::<Shipped<u8, u8>>(0, 0).is_none());
}

#[test]
fn memory_is_kept_for_as_many_as_send_and_neither_when_it_was_mostly_empty_nor_when_it_is_large() {
    let mut cx = Cx::new();
    for _ in 0..3 {
        sent(Box::default(), &[(1, 1), (1, 2)], 1, &mut cx);
    }
    let kept = std::iter::from_fn(|| cx.take_spare::<Shipped<u8, u8>>(0, 0)).count();
    assert_eq!(kept, 2, "there are two senders");
    for (room, is_kept) in [(64, true), (4_096, false)] {
        let mostly_empty = Box::new(Shipped::with_room(room));
        sent(mostly_empty, &[(1, 1)], 1, &mut cx);
        assert_eq!(cx.take_spare::<Shipped<u8, u8>>(0, 0).is_some(), is_kept, "room for {room}");
    }
    let many = vec![(1, 1); MOST_SPARE / size_of::<Rec<u8, u8>>() + 1];
    sent(Box::default(), &many, 1, &mut cx);
    assert!(cx.take_spare::<Shipped<u8, u8>>(0, 0).is_none());
}
