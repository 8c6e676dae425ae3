//! Runs the jobs on the input, and turns their results into the rows of the specification as they come.

use std::time::Duration;

use streams_runtime::embed::{Embedded, Gather, Job, Output};

use super::input::{BATCH, Bid, Event, Input};
use super::jobs::{Busy, Heat, Highest, LocalItem, NewSeller, Offered, Paid, Selected};
use super::queries::*;
use super::{jobs, queries};

/// Counts and sums up what comes: q0 and q1 total in a sink.
#[derive(Default)]
struct Tally(TallyRow);

impl<R: Weigh + Send + 'static> Gather<R> for Tally {
    #[inline(always)]
    fn gather(&mut self, _at_ms: i64, record: R) {
        self.0 = tally(self.0, &record);
    }
}

/// A result as a row.
trait Listed: Output {
    type Row: Send + 'static;

    fn row(self) -> Self::Row;
}

struct Rows<R: Listed>(Vec<R::Row>);

impl<R: Listed> Default for Rows<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R: Listed> Gather<R> for Rows<R> {
    #[inline(always)]
    fn gather(&mut self, _at_ms: i64, result: R) {
        self.0.push(result.row());
    }
}

/// Takes a result apart, and puts it together as a row.
macro_rules! listed {
    ($($result:ident { $($field:ident),* } -> $row:ident $parts:tt)*) => {$(
        impl Listed for $result {
            type Row = queries::$row;

            #[inline(always)]
            fn row(self) -> Self::Row {
                let Self { $($field),* } = self;
                listed!(@ $parts)
            }
        }
    )*};
    (@ ($($part:expr),*)) => { ($($part),*) };
}

listed! {
    Selected { auction, price } -> Q2Row (auction as u64, price as u64)
    LocalItem { name, city, state, auction } -> Q3Row (name, city, state, auction as u64)
    Paid { category, sum, auctions } -> Q4Row (category as u64, sum, auctions)
    Heat { from, auction, bids } -> Q5Row (from as u64, auction as u64, bids)
    Highest { from, bid } -> Q7Row (from as u64, bid.0 as u64, bid.1 as u64, bid.2 as u64)
    NewSeller { from, person, name, reserve } -> Q8Row (from as u64, person as u64, name, reserve as u64)
    Busy { bidder, from, to, bids } -> Q11Row (bidder as u64, from as u64, to as u64, bids)
    Offered { from, bidder, bids, sum } -> QkRow (from as u64, bidder as u64, bids, sum)
}

/// The job on this input; what each worker gathered.
fn run<J: Job, R: Output, G: Gather<R>>(job: J, input: Input, threads: usize) -> Vec<G> {
    let mut job = Embedded::new(job).workers(threads).batch(BATCH);
    for setting in J::SETTINGS {
        let length = match setting.name {
            "slack" => input.bound(),
            // An auction that is still bid on is looked at again and again; not more often than it has to be.
            _ => input.longest().max(Duration::from_secs(1)),
        };
        job = job.setting(setting.name, format!("{}ms", length.as_millis()));
    }
    let outcome = job
        .run::<_, R, G>(|share| input.events_of(share.worker, share.workers))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.rejects.is_empty() && outcome.late == 0, "{:?}, {} late", outcome.rejects, outcome.late);
    outcome.gathered
}

fn total<R: Output + Weigh>(job: impl Job, input: Input, threads: usize) -> Vec<TallyRow> {
    let parts = run::<_, R, Tally>(job, input, threads);
    parts.into_iter().map(|Tally(part)| part).reduce(merge_tallies).into_iter().collect()
}

fn rows<R: Listed>(job: impl Job, input: Input, threads: usize) -> Vec<R::Row> {
    let parts = run::<_, R, Rows<R>>(job, input, threads);
    // One part is the whole as it stands.
    let all = parts.into_iter().map(|Rows(part)| part).reduce(|mut all, mut part| {
        all.append(&mut part);
        all
    });
    all.unwrap_or_default()
}

macro_rules! queries {
    ($($query:ident $how:ident $result:ty => $row:ident),*) => {$(
        pub fn $query(input: Input, threads: usize) -> Vec<$row> {
            $how::<$result>(jobs::$query, input, threads)
        }
    )*};
}

queries!(
    q0 total Event => TallyRow,
    q1 total Bid => TallyRow,
    q2 rows Selected => Q2Row,
    q3 rows LocalItem => Q3Row,
    q4 rows Paid => Q4Row,
    q5 rows Heat => Q5Row,
    q7 rows Highest => Q7Row,
    q8 rows NewSeller => Q8Row,
    q11 rows Busy => Q11Row,
    qk rows Offered => QkRow
);
