//! The yardstick: one loop on one thread, with nothing between an event and the state it changes.

use super::input::{Event, Input, hand_over};
use super::queries::*;
use super::stages::*;

pub fn q0(input: Input, _threads: usize) -> Vec<TallyRow> {
    run(input, Some, Tally::default())
}

pub fn q1(input: Input, _threads: usize) -> Vec<TallyRow> {
    run(input, project::q1, Tally::default())
}

pub fn q2(input: Input, _threads: usize) -> Vec<Q2Row> {
    run(input, project::q2, Emit::default())
}

pub fn q3(input: Input, _threads: usize) -> Vec<Q3Row> {
    run(input, project::q3, LocalItems::default())
}

pub fn q4(input: Input, _threads: usize) -> Vec<Q4Row> {
    run(input, project::q4, Then::new(WinningBids::default(), CategoryAverages::default()))
}

pub fn q5(input: Input, _threads: usize) -> Vec<Q5Row> {
    run(input, project::q5, HotItems::default())
}

pub fn q7(input: Input, _threads: usize) -> Vec<Q7Row> {
    run(input, project::q7, HighestBid::default())
}

pub fn q8(input: Input, _threads: usize) -> Vec<Q8Row> {
    run(input, project::q8, NewSellers::default())
}

pub fn q11(input: Input, _threads: usize) -> Vec<Q11Row> {
    run(input, project::q11, Sessions::default())
}

pub fn qk(input: Input, _threads: usize) -> Vec<QkRow> {
    run(input, project::qk, BidderTotals::default())
}

fn run<S: Stage>(input: Input, project: impl Fn(Event) -> Option<S::In>, mut stage: S) -> Vec<S::Out> {
    let mut rows = Vec::new();
    let mut watermark = input.watermark();
    for events in input.batches(0, 1) {
        for event in events.iter().map(hand_over) {
            watermark.observe(event.timestamp());
            if let Some(item) = project(event) {
                stage.push(item, &mut rows);
            }
        }
        stage.close(watermark.value(), &mut rows);
    }
    stage.close(END, &mut rows);
    rows
}
