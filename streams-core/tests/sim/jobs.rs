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
