//! Renoir in its fastest form: each query as folds by key (`group_by_fold`), fused with the source
//! and merged behind one shuffle.
//!
//! This is kind to Renoir: the window is part of the key, there are no watermarks, and all state
//! stays until the input ends, when every row comes out at once.

use renoir::Stream;
use renoir::operator::Operator;
use renoir::prelude::*;

use examples::nexmark::input::{Event, Input};
use examples::nexmark::queries::*;

const BATCH_SIZE: usize = 16 << 10;

pub fn q0(input: Input, threads: usize) -> Vec<TallyRow> {
    let ctx = context(threads);
    let rows = events(&ctx, input).fold_assoc((0, 0), add_to_tally, merge_into_tally).collect_vec();
    execute(ctx, rows)
}

pub fn q1(input: Input, threads: usize) -> Vec<TallyRow> {
    let ctx = context(threads);
    let rows =
        events(&ctx, input).filter_map(project::q1).fold_assoc((0, 0), add_to_tally, merge_into_tally).collect_vec();
    execute(ctx, rows)
}

pub fn q2(input: Input, threads: usize) -> Vec<Q2Row> {
    let ctx = context(threads);
    let rows = events(&ctx, input).filter_map(project::q2).collect_vec();
    execute(ctx, rows)
}

pub fn q3(input: Input, threads: usize) -> Vec<Q3Row> {
    type Matches = (Option<(String, String, String)>, Vec<u64>);

    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::q3)
        .group_by_fold(
            |item| match item {
                Side::Left((id, ..)) => *id,
                Side::Right((seller, _)) => *seller,
            },
            Matches::default(),
            |(resident, auctions), item| match item {
                Side::Left((_, name, city, state)) => *resident = Some((name, city, state)),
                Side::Right((_, auction)) => auctions.push(auction),
            },
            |(resident, auctions), mut other: Matches| {
                *resident = resident.take().or(other.0);
                auctions.append(&mut other.1);
            },
        )
        .drop_key()
        .flat_map(|(resident, auctions)| {
            resident.into_iter().flat_map(move |(name, city, state)| {
                let row = move |auction| (name.clone(), city.clone(), state.clone(), auction);
                auctions.clone().into_iter().map(row)
            })
        })
        .collect_vec();
    execute(ctx, rows)
}

pub fn q4(input: Input, threads: usize) -> Vec<Q4Row> {
    /// The terms and the best price, and the offers that came before the terms.
    type Bidding = (Option<project::Terms>, Option<u64>, Vec<(u64, u64)>);

    fn bid((terms, best, early): &mut Bidding, (ts, price): (u64, u64)) {
        match terms {
            None => early.push((ts, price)),
            Some(terms) if terms.accept(ts, price) => *best = Some(price).max(*best),
            Some(_) => {}
        }
    }

    fn open(bidding: &mut Bidding, terms: project::Terms) {
        bidding.0 = Some(terms);
        for offer in std::mem::take(&mut bidding.2) {
            bid(bidding, offer);
        }
    }

    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::q4)
        .group_by_fold(
            |item| match item {
                Side::Left(terms) => terms.auction,
                Side::Right((auction, ..)) => *auction,
            },
            Bidding::default(),
            |bidding, item| match item {
                Side::Left(terms) => open(bidding, terms),
                Side::Right((_, ts, price)) => bid(bidding, (ts, price)),
            },
            |bidding, (terms, best, early): Bidding| {
                if let Some(terms) = terms {
                    open(bidding, terms);
                }
                bidding.1 = bidding.1.max(best);
                early.into_iter().for_each(|offer| bid(bidding, offer));
            },
        )
        .drop_key()
        .filter_map(|(terms, best, _)| Some((terms?.category, best?)))
        .group_by_fold(
            |(category, _)| *category,
            (0, 0),
            |(sum, count), (_, price)| {
                *sum += price;
                *count += 1;
            },
            |(sum, count), other| {
                *sum += other.0;
                *count += other.1;
            },
        )
        .unkey()
        .map(|(category, (sum, count))| (category, sum, count))
        .collect_vec();
    execute(ctx, rows)
}

pub fn q5(input: Input, threads: usize) -> Vec<Q5Row> {
    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::q5)
        .group_by_fold(
            |(ts, auction)| (pane_of(*ts), *auction),
            0,
            |count, _| *count += 1,
            |count, other| *count += other,
        )
        .unkey()
        .flat_map(|((pane, auction), count)| windows_of_pane(pane).map(move |window| (window, auction, count)))
        .group_by_fold(
            |(window, auction, _)| (*window, *auction),
            0,
            |total, (.., count)| *total += count,
            |total, other| *total += other,
        )
        .unkey()
        .group_by_fold(
            |((window, _), _)| *window,
            None,
            |best, ((_, auction), count)| take_hotter(best, Some((auction, count))),
            take_hotter,
        )
        .unkey()
        .filter_map(|(window, best)| best.map(|(auction, count)| (window, auction, count)))
        .collect_vec();
    execute(ctx, rows)
}

pub fn q7(input: Input, threads: usize) -> Vec<Q7Row> {
    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::q7)
        .group_by_fold(
            |(ts, ..)| window_of(*ts),
            None,
            |best, (_, auction, bidder, price)| take_higher(best, Some((auction, bidder, price))),
            take_higher,
        )
        .unkey()
        .filter_map(|(window, best)| best.map(|(auction, bidder, price)| (window, auction, bidder, price)))
        .collect_vec();
    execute(ctx, rows)
}

pub fn q8(input: Input, threads: usize) -> Vec<Q8Row> {
    type Matches = (Option<String>, Vec<u64>);

    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::q8)
        .group_by_fold(
            |item| match item {
                Side::Left((ts, id, _)) => (window_of(*ts), *id),
                Side::Right((ts, seller, _)) => (window_of(*ts), *seller),
            },
            Matches::default(),
            |(name, reserves), item| match item {
                Side::Left((.., arrived)) => *name = Some(arrived),
                Side::Right((.., reserve)) => reserves.push(reserve),
            },
            |(name, reserves), mut other: Matches| {
                *name = name.take().or(other.0);
                reserves.append(&mut other.1);
            },
        )
        .unkey()
        .flat_map(|((window, person), (name, reserves))| {
            name.into_iter().flat_map(move |name| {
                let row = move |reserve| (window, person, name.clone(), reserve);
                reserves.clone().into_iter().map(row)
            })
        })
        .collect_vec();
    execute(ctx, rows)
}

pub fn q11(input: Input, threads: usize) -> Vec<Q11Row> {
    /// (first ts, last ts, bids) of the sessions of a bidder, all apart.
    type Sessions = Vec<(u64, u64, u64)>;

    fn touch(a: &(u64, u64, u64), b: &(u64, u64, u64)) -> bool {
        a.0 < b.1 + GAP_MS && b.0 < a.1 + GAP_MS
    }

    fn union(a: &(u64, u64, u64), b: &(u64, u64, u64)) -> (u64, u64, u64) {
        (a.0.min(b.0), a.1.max(b.1), a.2 + b.2)
    }

    fn absorb(sessions: &mut Sessions, mut session: (u64, u64, u64)) {
        if let [only] = &mut sessions[..]
            && touch(only, &session)
        {
            *only = union(only, &session);
            return;
        }
        sessions.retain(|other| {
            let apart = !touch(other, &session);
            if !apart {
                session = union(other, &session);
            }
            apart
        });
        sessions.push(session);
    }

    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::q11)
        .group_by_fold(
            |(_, bidder)| *bidder,
            Sessions::new(),
            |sessions, (ts, _)| absorb(sessions, (ts, ts, 1)),
            |sessions, other| other.into_iter().for_each(|session| absorb(sessions, session)),
        )
        .unkey()
        .flat_map(|(bidder, sessions)| {
            sessions.into_iter().map(move |(first, last, bids)| (bidder, first, last + GAP_MS, bids))
        })
        .collect_vec();
    execute(ctx, rows)
}

pub fn qk(input: Input, threads: usize) -> Vec<QkRow> {
    let ctx = context(threads);
    let rows = events(&ctx, input)
        .filter_map(project::qk)
        .group_by_fold(
            |(ts, bidder, _)| (window_of(*ts), *bidder),
            (0, 0),
            |(count, sum), (.., price)| {
                *count += 1;
                *sum += price;
            },
            |(count, sum), other| {
                *count += other.0;
                *sum += other.1;
            },
        )
        .unkey()
        .map(|((window, bidder), (count, sum))| (window, bidder, count, sum))
        .collect_vec();
    execute(ctx, rows)
}

pub(super) fn context(threads: usize) -> StreamContext {
    StreamContext::new(RuntimeConfig::local(threads as u64).expect("there is a thread"))
}

/// The source: each replica reads its batches of the input.
pub(super) fn events(ctx: &StreamContext, input: Input) -> Stream<impl Operator<Out = Event> + use<>> {
    ctx.stream_par_iter(move |index, peers| input.events_of(index as usize, peers as usize))
        .batch_mode(BatchMode::fixed(BATCH_SIZE))
}

pub(super) fn execute<R>(ctx: StreamContext, rows: StreamOutput<Vec<R>>) -> Vec<R> {
    ctx.execute_blocking();
    rows.get().expect("this process holds the sink")
}

fn add_to_tally<T: Weigh>(sum: &mut TallyRow, record: T) {
    *sum = tally(*sum, &record);
}

fn merge_into_tally(sum: &mut TallyRow, other: TallyRow) {
    *sum = merge_tallies(*sum, other);
}

fn take_hotter(best: &mut Option<(u64, u64)>, next: Option<(u64, u64)>) {
    if let Some(next) = next
        && best.is_none_or(|best| hotter(next, best))
    {
        *best = Some(next);
    }
}

pub(super) fn take_higher(best: &mut Option<(u64, u64, u64)>, next: Option<(u64, u64, u64)>) {
    if let Some(next) = next
        && best.is_none_or(|best| higher(next, best))
    {
        *best = Some(next);
    }
}
