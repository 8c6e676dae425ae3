//! Renoir with its own joins and event-time windows, closed by watermarks.
//!
//! A Renoir event-time window starts at the first time stamp of its key, not at a multiple of its
//! size, and what a key receives from before that start is dropped without a word. Here the start of
//! the epoch-aligned window is part of the key and is the time stamp too, so that a key has a single
//! window of one tick. The watermark is rounded down in the same way, which delays no result.
//! There is no q5, since a bid cannot have a time stamp for each of its windows, and no q11, since
//! `SessionWindow` goes by wall clock.

use renoir::Stream;
use renoir::operator::Operator;
use renoir::operator::window::EventTimeWindow;

use crate::renoir::{context, events, execute, take_higher};
use examples::nexmark::input::{Event, Input, Watermark};
use examples::nexmark::queries::*;

pub fn q3(input: Input, threads: usize) -> Vec<Q3Row> {
    let ctx = context(threads);
    let (residents, listings) = sides(events(&ctx, input).filter_map(project::q3));
    let rows = residents
        .join(listings, |(id, ..)| *id, |(seller, _)| *seller)
        .drop_key()
        .map(|((_, name, city, state), (_, auction))| (name, city, state, auction))
        .collect_vec();
    execute(ctx, rows)
}

pub fn q7(input: Input, threads: usize) -> Vec<Q7Row> {
    let ctx = context(threads);
    let rows = stamped(events(&ctx, input), input)
        .filter_map(project::q7)
        .map(|(ts, auction, bidder, price)| (window_of(ts), Some((auction, bidder, price))))
        .key_by(|(window, _)| *window)
        .window(one_tick())
        .fold_first(|(_, best), (_, bid)| take_higher(best, *bid))
        .drop_key()
        .group_by(|(window, _)| *window)
        .window(one_tick())
        .fold_first(|(_, best), (_, bid)| take_higher(best, *bid))
        .drop_key()
        .filter_map(|(window, best)| best.map(|(auction, bidder, price)| (window, auction, bidder, price)))
        .collect_vec();
    execute(ctx, rows)
}

pub fn q8(input: Input, threads: usize) -> Vec<Q8Row> {
    let ctx = context(threads);
    let (arrivals, offerings) = sides(stamped(events(&ctx, input), input).filter_map(project::q8));
    let offerings = offerings.group_by(|(ts, seller, _)| (window_of(*ts), *seller));
    let rows = arrivals
        .group_by(|(ts, id, _)| (window_of(*ts), *id))
        .window_join(one_tick(), offerings)
        .unkey()
        .map(|((window, id), ((.., name), (.., reserve)))| (window, id, name, reserve))
        .collect_vec();
    execute(ctx, rows)
}

pub fn qk(input: Input, threads: usize) -> Vec<QkRow> {
    let ctx = context(threads);
    let rows = stamped(events(&ctx, input), input)
        .filter_map(project::qk)
        .group_by(|(ts, bidder, _)| (window_of(*ts), *bidder))
        .window(one_tick())
        .fold((0, 0), |(count, sum), (.., price)| {
            *count += 1;
            *sum += price;
        })
        .unkey()
        .map(|((window, bidder), (count, sum))| (window, bidder, count, sum))
        .collect_vec();
    execute(ctx, rows)
}

fn one_tick() -> EventTimeWindow {
    EventTimeWindow::tumbling(1)
}

/// Stamps each event with the start of its tumbling window, and announces each start that the
/// watermark has reached.
fn stamped(
    events: Stream<impl Operator<Out = Event> + 'static>,
    input: Input,
) -> Stream<impl Operator<Out = Event> + 'static> {
    let start = input.watermark();
    let announce = {
        let mut watermark: Watermark = start;
        let mut announced = 0;
        move |event: &Event, _: &i64| {
            watermark.observe(event.timestamp());
            let reached = window_of(watermark.value());
            (reached > announced).then(|| {
                announced = reached;
                reached as i64
            })
        }
    };
    events.add_timestamps(|event| window_of(event.timestamp()) as i64, announce)
}

/// Splits a stream of two sides.
fn sides<L: Clone + Send + 'static, R: Clone + Send + 'static>(
    both: Stream<impl Operator<Out = Side<L, R>> + 'static>,
) -> (Stream<impl Operator<Out = L>>, Stream<impl Operator<Out = R>>)
where
    Side<L, R>: renoir::operator::ExchangeData,
{
    let routes = both
        .route()
        .add_route(|side| matches!(side, Side::Left(_)))
        .add_route(|side| matches!(side, Side::Right(_)))
        .build();
    let [left, right] = routes.try_into().ok().expect("there are two routes");
    (
        left.filter_map(|side| match side {
            Side::Left(left) => Some(left),
            Side::Right(_) => None,
        }),
        right.filter_map(|side| match side {
            Side::Left(_) => None,
            Side::Right(right) => Some(right),
        }),
    )
}
