//! timely dataflow: the stages of the hand-written loop as operators, between exchanges by key.
//!
//! The time of the dataflow is the watermark: records travel at the watermark that held when they
//! were read, and a stage closes its windows by its input frontier.

use std::cell::RefCell;
use std::rc::Rc;

use timely::dataflow::channels::pact::{Exchange, ParallelizationContract, Pipeline};
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::{InputHandle, StreamVec};
use timely::worker::Worker;

use examples::nexmark::input::{Event, Input, hand_over};
use examples::nexmark::queries::*;
use examples::nexmark::stages::*;

type Items<'scope, T> = StreamVec<'scope, u64, T>;

pub fn q0(input: Input, threads: usize) -> Vec<TallyRow> {
    execute(input, threads, tally_all)
}

pub fn q1(input: Input, threads: usize) -> Vec<TallyRow> {
    execute(input, threads, |events| tally_all(events.flat_map(project::q1)))
}

pub fn q2(input: Input, threads: usize) -> Vec<Q2Row> {
    execute(input, threads, |events| events.flat_map(project::q2))
}

pub fn q3(input: Input, threads: usize) -> Vec<Q3Row> {
    execute(input, threads, |events| {
        let by_person = Exchange::new(|item: &Side<project::Resident, project::Listing>| match item {
            Side::Left((id, ..)) => spread(*id),
            Side::Right((seller, _)) => spread(*seller),
        });
        stage(events.flat_map(project::q3), by_person, "LocalItems", LocalItems::default())
    })
}

pub fn q4(input: Input, threads: usize) -> Vec<Q4Row> {
    execute(input, threads, |events| {
        let by_auction = Exchange::new(|item: &Side<project::Terms, project::Offer>| match item {
            Side::Left(terms) => spread(terms.auction),
            Side::Right((auction, ..)) => spread(*auction),
        });
        let by_category = Exchange::new(|(category, _): &(u64, u64)| spread(*category));
        let winning = stage(events.flat_map(project::q4), by_auction, "WinningBids", WinningBids::default());
        stage(winning, by_category, "CategoryAverages", CategoryAverages::default())
    })
}

pub fn q5(input: Input, threads: usize) -> Vec<Q5Row> {
    execute(input, threads, |events| {
        let by_auction = Exchange::new(|(_, auction): &(u64, u64)| spread(*auction));
        let by_window = Exchange::new(|(window, ..): &Q5Row| spread(*window));
        let candidates = stage(events.flat_map(project::q5), by_auction, "HotItems", HotItems::default());
        stage(candidates, by_window, "HottestOfAll", HottestOfAll::default())
    })
}

pub fn q7(input: Input, threads: usize) -> Vec<Q7Row> {
    execute(input, threads, |events| {
        let by_window = Exchange::new(|(window, ..): &Q7Row| spread(*window));
        let candidates = stage(events.flat_map(project::q7), Pipeline, "HighestBid", HighestBid::default());
        stage(candidates, by_window, "HighestOfAll", HighestBid::default())
    })
}

pub fn q8(input: Input, threads: usize) -> Vec<Q8Row> {
    execute(input, threads, |events| {
        let by_person = Exchange::new(|item: &Side<project::Arrival, project::Offering>| match item {
            Side::Left((_, id, _)) => spread(*id),
            Side::Right((_, seller, _)) => spread(*seller),
        });
        stage(events.flat_map(project::q8), by_person, "NewSellers", NewSellers::default())
    })
}

pub fn q11(input: Input, threads: usize) -> Vec<Q11Row> {
    execute(input, threads, |events| {
        let by_bidder = Exchange::new(|(_, bidder): &(u64, u64)| spread(*bidder));
        stage(events.flat_map(project::q11), by_bidder, "Sessions", Sessions::default())
    })
}

pub fn qk(input: Input, threads: usize) -> Vec<QkRow> {
    execute(input, threads, |events| {
        let by_bidder = Exchange::new(|(_, bidder, _): &(u64, u64, u64)| spread(*bidder));
        stage(events.flat_map(project::qk), by_bidder, "BidderTotals", BidderTotals::default())
    })
}

/// Spreads keys over the workers. An exchange takes the low bits of its function, and the ids of hot
/// auctions are all even, those of hot bidders all odd.
fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

fn tally_all<T: Weigh + 'static>(records: Items<'_, T>) -> Items<'_, TallyRow> {
    let to_one = Exchange::new(|_: &TallyRow| 0);
    let parts = stage(records, Pipeline, "Tally", Tally::default());
    stage(parts, to_one, "MergeTallies", MergeTallies::default())
}

/// Runs a stage as an operator.
///
/// It holds one capability, at the frontier it has seen last: what a watermark closes leaves at the
/// time before it, so the next stage has everything once its own frontier is there.
fn stage<'scope, S, P>(items: Items<'scope, S::In>, pact: P, name: &str, mut stage: S) -> Items<'scope, S::Out>
where
    S: Stage<In: 'static, Out: 'static> + 'static,
    P: ParallelizationContract<u64, Vec<S::In>>,
{
    items.unary_frontier(pact, name, |capability, _info| {
        let mut held = Some(capability);
        let mut out = Vec::new();
        move |(input, frontier), output| {
            let Some(capability) = &mut held else { return };
            input.for_each(|_, batch| batch.drain(..).for_each(|item| stage.push(item, &mut out)));

            let watermark = frontier.frontier().first().copied();
            stage.close(watermark.unwrap_or(END), &mut out);
            if !out.is_empty() {
                output.session(capability).give_container(&mut out);
            }
            match watermark {
                Some(watermark) => capability.downgrade(&watermark),
                None => held = None,
            }
        }
    })
}

fn execute<R, B>(input: Input, threads: usize, build: B) -> Vec<R>
where
    R: Send + 'static,
    B: for<'scope> Fn(Items<'scope, Event>) -> Items<'scope, R> + Send + Sync + 'static,
{
    let work = move |worker: &mut Worker| feed(worker, input, &build);
    if threads == 1 {
        return timely::execute_directly(work);
    }
    let guards = timely::execute(timely::Config::process(threads), work).expect("the configuration is valid");
    guards.join().into_iter().flat_map(|rows| rows.expect("no worker panics")).collect()
}

/// Builds the dataflow on one worker, feeds it this worker's batches and returns this worker's rows.
fn feed<R: 'static>(
    worker: &mut Worker,
    input: Input,
    build: impl for<'scope> Fn(Items<'scope, Event>) -> Items<'scope, R>,
) -> Vec<R> {
    let rows = Rc::new(RefCell::new(Vec::new()));
    let mut handle = InputHandle::new();
    worker.dataflow::<u64, _, _>(|scope| {
        let rows = Rc::clone(&rows);
        build(handle.to_stream(scope)).sink(Pipeline, "Collect", move |(results, _)| {
            results.for_each(|_, batch| rows.borrow_mut().append(batch));
        });
    });

    let mut watermark = input.watermark();
    for events in input.batches(worker.index(), worker.peers()) {
        for event in events {
            watermark.observe(event.timestamp());
            handle.send(hand_over(event));
        }
        handle.advance_to(watermark.value());
        worker.step();
    }
    handle.close();
    while worker.has_dataflows() {
        worker.step_or_park(None);
    }
    rows.take()
}
