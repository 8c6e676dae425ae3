//! The engine allocates nothing per record: neither in stateless operators nor for a key that it knows.
//!
//! A counting allocator stands in for the system's; what the user's own closures allocate (a cloned `String`
//! as key, say) is not the engine's, so the jobs here have closures that allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use streams_core::prelude::*;
use streams_core::testing::Harness;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(
    unsafe_code,
    reason = "counting allocations needs an allocator, and an allocator is unsafe to write"
)]
// SAFETY: every call goes to the system allocator unchanged; counting touches no memory of the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[record]
#[derive(Copy)]
struct Event {
    key: u32,
    amount: u64,
    at: i64,
}

#[record]
struct Row {
    key: u32,
    sum: u64,
    count: u64,
    min: u64,
    max: u64,
    avg: f64,
}

#[stream_job]
fn stateless(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .filter(|e| e.amount % 2 == 0)
        .map(|e| Event { amount: e.amount / 2, ..e })
        .inspect(|_| {})
        .filter_map(|e| (e.amount > 0).then_some(e))
        .flat_map(|e| [e, e])
        .try_map(|e| if e.amount < u64::MAX { Ok(e.amount) } else { Err("too much") })
        .filter(|n| *n == u64::MAX)
}

#[stream_job]
fn keyed(events: Stream<Event>) -> Stream<Row> {
    events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.key).window(tumbling(days(1))).aggregate(
        Row {
            key: key(),
            sum: sum(|e| e.amount),
            count: count(),
            min: min(|e| e.amount),
            max: max(|e| e.amount),
            avg: avg(|e| e.amount),
        },
    )
}

#[stream_job]
fn overlapping(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .window(hopping(days(2), days(1)))
        .aggregate(sum(|e| e.amount))
}

/// Values that come again and again, so that what is kept of them does not grow.
#[stream_job]
fn gathered(events: Stream<Event>) -> Stream<(u64, u64, u64, usize, u64, u64, f64, u64, u64)> {
    events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.key).window(tumbling(days(1))).aggregate(
        (
            first(|e| e.amount),
            last(|e| e.amount),
            max_by(|e| e.at, |e| e.amount),
            top_k(8, |e| e.amount).len(),
            count_distinct(|e| e.amount % 1_000),
            approx_count_distinct(|e| e.amount % 1_000),
            quantile(0.5, |e| e.amount % 1_000),
            reduce(|e| e.amount, |a, b| a ^ b),
            fold(0, |n, e| n ^ e.amount),
        ),
    )
}

#[stream_job]
fn updating(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .window(hopping(days(2), days(1)).lateness(days(1)))
        .aggregate(sum(|e| e.amount))
}

#[stream_job]
fn sessions(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .window(session(mins(1)).early(days(1)))
        .aggregate(sum(|e| e.amount))
}

#[stream_job]
fn counted(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .window(count_window(10, ttl(days(1))))
        .aggregate(sum(|e| e.amount))
        .filter(|n| *n == u64::MAX)
}

#[stream_job]
fn running(events: Stream<Event>) -> Stream<u64> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .running(ttl(days(1)))
        .aggregate(sum(|e| e.amount))
        .filter(|n| *n == u64::MAX)
}

#[stream_job]
fn not_repeated(events: Stream<Event>) -> Stream<Event> {
    events
        .event_time(|e| e.at, out_of_order(secs(1)))
        .key_by(|e| e.key)
        .distinct_within(millis(500))
        .filter(|e| e.amount == u64::MAX)
}

#[stream_job]
fn shared(events: Stream<Event>) -> (Stream<u64>, Stream<Event>) {
    let timed = events.event_time(|e| e.at, out_of_order(secs(1)));
    let even = timed.filter(|e| e.amount % 2 == 0);
    let odd = timed.filter(|e| e.amount % 2 == 1);
    let both = even.union(odd);
    let sums = both.key_by(|e| e.key).window(tumbling(days(1))).aggregate(sum(|e| e.amount));
    let late = sums.late();
    (sums, late)
}

#[record]
struct Named {
    name: String,
    n: u64,
}

/// Every record is for one of the two streams, whose first operator takes it as a whole.
#[stream_job]
fn parted(named: Stream<Named>) -> (Stream<usize>, Stream<usize>) {
    let even = named.filter(|e| e.n % 2 == 0).map(|e| e.name.len()).filter(|len| *len == 0);
    let odd = named.filter(|e| e.n % 2 == 1).map(|e| e.name.len()).filter(|len| *len == 0);
    (even, odd)
}

#[stream_job]
fn table(events: Stream<Event>) -> Stream<u64> {
    let timed = events.event_time(|e| e.at, out_of_order(secs(1)));
    let changes = timed.key_by(|e| e.key).map(|e| (e.amount % 3 > 0).then_some(e));
    timed
        .key_by(|e| e.key)
        .left_join_table(changes, ttl(days(1)), |e, row| e.amount + row.map_or(0, |row| row.amount))
        .filter(|n| *n == u64::MAX)
}

#[stream_job]
fn joined(events: Stream<Event>) -> Stream<u64> {
    let keyed = events.event_time(|e| e.at, out_of_order(secs(1))).key_by(|e| e.key);
    keyed.join(keyed, tumbling(days(1)), |l, r| l.amount + r.amount).filter(|n| *n == u64::MAX)
}

fn events(n: u64) -> Vec<Event> {
    let event =
        |index: u64| Event { key: (index % 100) as u32, amount: index, at: 86_400_000 + index as i64 };
    (0..n).map(event).collect()
}

/// Allocations while 100,000 records of known keys run through the job.
#[track_caller]
fn check<J: streams_core::Job>(job: J) {
    let allocations = allocations(job);
    // Handing over a batch, draining the ends and lists that double take a few, whatever the number of records.
    assert!(allocations < 50, "{allocations} allocations for 100,000 records");
}

fn allocations<J: streams_core::Job>(job: J) -> u64 {
    let mut harness = Harness::new(job);
    harness.push_all("events", events(1_000));
    let records = events(100_000);
    let allocations = counted_in(|| harness.push_all("events", records));
    eprintln!("{}: {allocations} allocations for 100000 records", J::TOPOLOGY.job);
    allocations
}

fn counted_in(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    run();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn stateless_operators_allocate_nothing() {
    check(stateless);
}

#[test]
fn known_keys_allocate_nothing() {
    check(keyed);
    check(overlapping);
    check(gathered);
    check(running);
    check(not_repeated);
    check(updating);
    check(sessions);
    check(counted);
}

/// A join keeps its records: lists grow by doubling, and no key has one of its own.
#[test]
fn joins_allocate_for_what_they_keep() {
    check(table);
    let allocations = allocations(joined);
    assert!(allocations < 50, "{allocations} allocations for 100,000 records on both sides");
}

#[test]
fn fan_out_and_union_allocate_nothing() {
    check(shared);
}

#[test]
fn a_record_that_one_branch_wants_is_not_copied() {
    let named = |n| (0..n).map(|n| Named { name: format!("name {n}"), n }).collect::<Vec<Named>>();
    let mut harness = Harness::new(parted);
    harness.push_all("named", named(1_000));
    let records = named(100_000);
    let allocations = counted_in(|| harness.push_all("named", records));
    assert!(allocations < 20, "{allocations} allocations for 100,000 records");
}
