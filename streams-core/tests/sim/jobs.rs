//! The jobs that are simulated: one per shape that the protocol has to carry.

use streams_core::prelude::*;

#[record]
pub(crate) struct Flow {
    pub(crate) host: String,
    pub(crate) out_flow: u64,
    pub(crate) at: i64,
}

#[record]
pub(crate) struct Total {
    pub(crate) host: String,
    pub(crate) from: i64,
    pub(crate) total: u64,
    pub(crate) count: u64,
}

#[record]
pub(crate) struct Busy {
    pub(crate) from: i64,
    pub(crate) hosts: u64,
    pub(crate) total: u64,
}

/// One shuffle.
#[stream_job]
pub(crate) fn traffic(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
}

/// No shuffle and no state.
#[stream_job]
pub(crate) fn stateless(flows: Stream<Flow>) -> Stream<Flow> {
    flows.filter(|f| f.out_flow != 1).map(|f| Flow { out_flow: f.out_flow * 2, ..f })
}

/// A result with each record; hosts are forgotten.
#[stream_job]
pub(crate) fn so_far(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .key_by(|f| f.host.clone())
        .running(ttl(secs(20)))
        .aggregate(Total { host: key(), from: max(|f| f.at), total: sum(|f| f.out_flow), count: count() })
}

/// A result with each record; no host is forgotten.
#[stream_job]
pub(crate) fn for_ever(flows: Stream<Flow>) -> Stream<Total> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(Total {
        host: key(),
        from: max(|f| f.at),
        total: sum(|f| f.out_flow),
        count: count(),
    })
}

/// Event time has a bound, which some records do not keep.
#[stream_job]
pub(crate) fn bounded(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)).at_most_ahead(secs(10)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
}

/// Records of it: one in ten lies too far ahead, by a few seconds or by much.
pub(crate) fn ahead(random: u64, at: i64) -> String {
    let ahead = match random % 20 {
        0 => 3_600_000,
        1 => 15_000,
        _ => 0,
    };
    let host = random / 16 % 4;
    format!(r#"{{"host":"h{host}","out_flow":{},"at":{}}}"#, random % 5, at + ahead)
}

/// Two shuffles: totals per host, then per second.
#[stream_job]
pub(crate) fn two_shuffles(flows: Stream<Flow>) -> Stream<Busy> {
    flows
        .event_time(|f| f.at, out_of_order(secs(3)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(2)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
        .key_by(|t| t.from.div_euclid(4_000) % 3)
        .window(tumbling(secs(8)))
        .aggregate(Busy { from: window_start(), hosts: count(), total: sum(|t| t.total) })
}

/// Two sources into one shuffle.
#[stream_job]
pub(crate) fn union_of_two(left: Stream<Flow>, right: Stream<Flow>) -> Stream<Total> {
    let left = left.event_time(|f| f.at, out_of_order(secs(3))).filter(|f| f.out_flow > 0);
    let right = right.event_time(|f| f.at, out_of_order(secs(4))).map(|f| Flow { host: "b".to_owned(), ..f });
    left.union(right).key_by(|f| f.host.clone()).window(hopping(secs(10), secs(5))).aggregate(Total {
        host: key(),
        from: window_start(),
        total: sum(|f| f.out_flow),
        count: count(),
    })
}

/// Two outputs, one of them of late records, and bounds that many records miss.
#[stream_job]
pub(crate) fn late(flows: Stream<Flow>) -> (Stream<Total>, Stream<Flow>) {
    let totals = flows
        .event_time(|f| f.at, out_of_order(millis(200)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(1)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    let late = totals.late();
    (totals, late)
}

#[record]
pub(crate) struct Both {
    pub(crate) host: String,
    pub(crate) left: Option<u64>,
    pub(crate) right: Option<u64>,
}

fn both(left: Option<&Flow>, right: Option<&Flow>) -> Both {
    let host = left.or(right).map(|f| f.host.clone()).unwrap_or_default();
    Both { host, left: left.map(|f| f.out_flow), right: right.map(|f| f.out_flow) }
}

/// Two sources, joined in windows.
#[stream_job]
pub(crate) fn join_in_windows(left: Stream<Flow>, right: Stream<Flow>) -> Stream<Both> {
    let left = left.event_time(|f| f.at, out_of_order(secs(3))).key_by(|f| f.host.clone());
    let right = right.event_time(|f| f.at, out_of_order(secs(4))).key_by(|f| f.host.clone());
    left.left_join(right, hopping(secs(6), secs(3)), |l, r| both(Some(l), r))
}

/// Two sources, joined where they are near each other.
#[stream_job]
pub(crate) fn join_near(left: Stream<Flow>, right: Stream<Flow>) -> Stream<Both> {
    let left = left.event_time(|f| f.at, out_of_order(secs(3))).key_by(|f| f.host.clone());
    let right = right.event_time(|f| f.at, out_of_order(secs(4))).key_by(|f| f.host.clone());
    left.full_join(right, within(secs(2), secs(1)), both)
}

/// One source, joined with totals of itself: one side has a shuffle of its own in front of the join's.
#[stream_job]
pub(crate) fn join_with_totals(flows: Stream<Flow>) -> Stream<Both> {
    let timed = flows.event_time(|f| f.at, out_of_order(secs(3)));
    let totals = timed.key_by(|f| f.host.clone()).window(tumbling(secs(2))).aggregate(Flow {
        host: key(),
        out_flow: sum(|f| f.out_flow),
        at: window_start(),
    });
    timed.key_by(|f| f.host.clone()).join(totals, within(secs(0), secs(2)), |l, r| both(Some(l), Some(r)))
}

/// Two sources whose records come too late for each other, which is an output.
#[stream_job]
pub(crate) fn late_of_a_join(left: Stream<Flow>, right: Stream<Flow>) -> (Stream<Both>, Stream<String>) {
    let left = left.event_time(|f| f.at, out_of_order(millis(200))).key_by(|f| f.host.clone());
    let right = right.event_time(|f| f.at, out_of_order(millis(300))).key_by(|f| f.host.clone());
    let pairs = left.full_join(right, within(secs(1), secs(1)), both);
    let late = pairs.late().map(|side| match side {
        Side::Left(flow) => format!("l {} {}", flow.host, flow.at),
        Side::Right(flow) => format!("r {} {}", flow.host, flow.at),
    });
    (pairs, late)
}

/// Two sources, of which one is a table.
#[stream_job]
pub(crate) fn join_with_a_table(flows: Stream<Flow>, limits: Stream<Flow>) -> Stream<Both> {
    let limits = limits
        .event_time(|f| f.at, out_of_order(secs(4)))
        .key_by(|f| f.host.clone())
        .map(|f| (f.out_flow % 3 > 0).then_some(f));
    flows.event_time(|f| f.at, out_of_order(secs(3))).key_by(|f| f.host.clone()).left_join_table(
        limits,
        ttl(secs(20)),
        |f, limit| both(Some(f), limit),
    )
}

/// Panics as a closure does, without a word at the terminal.
fn panic_at(what: &str) -> ! {
    std::panic::resume_unwind(Box::new(what.to_owned()))
}

/// Code that panics on some records in front of the shuffle, and on some behind it.
#[stream_job]
pub(crate) fn panics(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .map(|f| if f.out_flow == 3 { panic_at("three") } else { f })
        .key_by(|f| f.host.clone())
        .running(forever())
        .aggregate(Total { host: key(), from: max(|f| f.at), total: sum(|f| f.out_flow), count: count() })
        .map(|t| if t.count % 5 == 4 { panic_at("four") } else { t })
}

/// Code that panics on the result of a window.
#[stream_job]
pub(crate) fn panics_at_windows(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(1)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(2)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
        .map(|t| if t.count == 3 { panic_at("a window of three") } else { t })
}

/// Records of it.
pub(crate) fn few_flows(random: u64, at: i64) -> String {
    format!(r#"{{"host":"h{}","out_flow":{},"at":{at}}}"#, random % 3, random / 16 % 12)
}

/// Sessions, and what is late for them.
#[stream_job]
pub(crate) fn sessions(flows: Stream<Flow>) -> (Stream<Total>, Stream<Flow>) {
    let totals = flows
        .event_time(|f| f.at, out_of_order(millis(200)))
        .key_by(|f| f.host.clone())
        .window(session(millis(700)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    let late = totals.late();
    (totals, late)
}

/// Early results and updates.
#[stream_job]
pub(crate) fn updates(flows: Stream<Flow>) -> (Stream<Total>, Stream<Flow>) {
    let totals = flows
        .event_time(|f| f.at, out_of_order(millis(200)))
        .key_by(|f| f.host.clone())
        .window(hopping(secs(2), secs(1)).early(millis(300)).lateness(secs(1)))
        .aggregate(Total {
            host: key(),
            from: window_start(),
            total: sum(|f| f.out_flow),
            count: count() * 3 + fired() as u64,
        });
    let late = totals.late();
    (totals, late)
}

/// Windows of three records; hosts are forgotten.
#[stream_job]
pub(crate) fn counted(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(1)))
        .key_by(|f| f.host.clone())
        .window(count_window(3, ttl(secs(2))))
        .aggregate(Total { host: key(), from: max(|f| f.at), total: sum(|f| f.out_flow), count: count() })
}

/// Windows of the time at which records come in, and sessions of it.
#[stream_job]
pub(crate) fn arrivals(flows: Stream<Flow>) -> (Stream<Total>, Stream<Flow>) {
    let totals = flows
        .processing_time()
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(session(millis(400)).early(millis(100)))
        .aggregate(Total {
            host: key(),
            from: window_start(),
            total: sum(|f| f.out_flow),
            count: count() * 3 + fired() as u64,
        });
    let late = totals.late();
    (totals, late)
}

/// Two sources, of which one is in processing time.
#[stream_job]
pub(crate) fn arrivals_and_flows(left: Stream<Flow>, right: Stream<Flow>) -> Stream<Total> {
    let left = left.processing_time();
    let right = right.store_time(out_of_order(secs(1)));
    left.union(right).key_by(|f| f.host.clone()).window(tumbling(secs(2))).aggregate(Total {
        host: key(),
        from: window_start(),
        total: sum(|f| f.out_flow),
        count: count(),
    })
}

/// What comes in, with the time at which it did: no shuffle.
#[stream_job]
pub(crate) fn stamped(flows: Stream<Flow>) -> Stream<Flow> {
    flows.processing_time().filter(|f| f.out_flow > 0)
}

/// Each record with what a table has of its host, in totals: rows that were looked up go into state.
#[stream_job]
pub(crate) fn looked_up(flows: Stream<Flow>, limits: Table<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(3)))
        .left_lookup(
            limits,
            |f| f.host.clone(),
            |limit| limit.host.clone(),
            |f, limit| Flow { out_flow: limit.map_or(7, |limit| limit.out_flow), ..f.clone() },
        )
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(2)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
}

/// The results of windows with what a table has of their host; without a row there is no result.
#[stream_job]
pub(crate) fn results_looked_up(flows: Stream<Flow>, limits: Table<Flow>) -> Stream<Both> {
    flows
        .event_time(|f| f.at, out_of_order(secs(3)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(2)))
        .aggregate(Flow { host: key(), out_flow: sum(|f| f.out_flow), at: window_start() })
        .lookup(
            limits,
            |total| total.host.clone(),
            |limit| limit.host.clone(),
            |total, limit| both(Some(total), Some(limit)),
        )
}

/// Rows of the table `limits`, which are all others in each version; one host is missing in each.
pub(crate) fn limits(version: u64) -> Vec<String> {
    let row = |(n, host): (u64, &str)| {
        format!(r#"{{"host":"{host}","out_flow":{},"at":{version}}}"#, 10 * version + n)
    };
    let hosts = (0..).zip(["", "a", "b", "c", "d"]);
    hosts.filter(|(n, _)| n % 5 != version % 5).map(row).collect()
}
