//! Jobs for the tests to run as programs; `TEST_JOB` in the environment says which.

use std::process::ExitCode;
use std::time::Duration;

use streams_runtime::prelude::*;

/// What a host sent.
#[record]
struct Flow {
    host: String,
    out_flow: u64,
    at: i64,
}

/// A host's traffic in a window.
#[record]
struct Total {
    host: String,
    from: i64,
    total: u64,
    count: u64,
}

/// Outgoing traffic per host, every ten seconds.
///
/// Records may be out of order by the slack; what is later is counted and left out.
#[stream_job]
fn traffic(
    flows: Stream<Flow>,
    /// How far records may be out of order.
    #[arg(default = "5s")]
    slack: Duration,
) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(slack))
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
}

/// Lines as they are, refused and panicking ones apart.
#[stream_job]
fn echo(lines: Stream<String>) -> Stream<String> {
    lines.try_map(|line| {
        assert!(line != "panic", "asked to panic");
        if line.starts_with("bad") { Err("it is bad") } else { Ok(line.clone()) }
    })
}

/// Traffic per host, of which totals above a limit are refused behind the window.
#[stream_job]
fn strict(flows: Stream<Flow>, #[arg(default = "900")] limit: u64) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
        .try_map(|t| {
            assert!(t.host != "panic", "asked to panic");
            if t.total > limit { Err("too much") } else { Ok(t.clone()) }
        })
}

/// Two inputs, each with a time of its own, in windows together.
#[stream_job]
fn joined(left: Stream<Flow>, right: Stream<Flow>) -> Stream<Total> {
    let left = left.event_time(|f| f.at, out_of_order(secs(5)));
    let right = right.event_time(|f| f.at, out_of_order(secs(5)));
    left.union(right).key_by(|f| f.host.clone()).window(tumbling(secs(10))).aggregate(Total {
        host: key(),
        from: window_start(),
        total: sum(|f| f.out_flow),
        count: count(),
    })
}

/// Traffic per host, by when it came in.
#[stream_job]
fn arrivals(flows: Stream<Flow>) -> Stream<Total> {
    flows.processing_time().key_by(|f| f.host.clone()).window(tumbling(millis(200))).aggregate(Total {
        host: key(),
        from: window_start(),
        total: sum(|f| f.out_flow),
        count: count(),
    })
}

/// What is known of a host.
#[record]
struct Host {
    host: String,
    owner: String,
    rack: Option<u16>,
}

/// A flow and whose host it is of.
#[record]
struct Owned {
    host: String,
    owner: String,
    rack: u16,
}

/// Flows of known hosts.
#[stream_job]
fn racks(flows: Stream<Flow>, hosts: Table<Host>) -> Stream<Owned> {
    flows.lookup(
        hosts,
        |f| f.host.clone(),
        |h| h.host.clone(),
        |f, h| Owned { host: f.host.clone(), owner: h.owner.clone(), rack: h.rack.unwrap_or(0) },
    )
}

/// Flows of known hosts, and of all.
#[stream_job]
fn owners(flows: Stream<Flow>, hosts: Table<Host>) -> (Stream<Owned>, Stream<Owned>) {
    let known = flows.lookup(
        hosts,
        |f| f.host.clone(),
        |h| h.host.clone(),
        |f, h| Owned { host: f.host.clone(), owner: h.owner.clone(), rack: h.rack.unwrap_or(0) },
    );
    let all = flows.key_by(|f| f.host.clone()).left_lookup(
        hosts,
        |f| f.host.clone(),
        |h| h.host.clone(),
        |f, h| Owned {
            host: f.host.clone(),
            owner: h.map_or("nobody".to_owned(), |h| h.owner.clone()),
            rack: h.and_then(|h| h.rack).unwrap_or(0),
        },
    );
    (known, all)
}

/// Sessions per host, and the records of a million as they come.
#[stream_job]
fn sessions(flows: Stream<Flow>, #[arg(default = "30s")] gap: Duration) -> (Stream<Flow>, Stream<Total>) {
    let marks = flows.filter(|f| f.out_flow == 1_000_000);
    let totals = flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .key_by(|f| f.host.clone())
        .window(session(gap))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    (marks, totals)
}

/// A state that no checkpoint can keep.
#[derive(Debug, Clone)]
struct Unkept;

impl serde::Serialize for Unkept {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("this cannot be kept")
    }
}

impl<'de> serde::Deserialize<'de> for Unkept {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

/// Counts nothing.
struct Nothing;

impl Accumulator<u64> for Nothing {
    type State = Unkept;
    type Out = u64;

    fn init(&self) -> Unkept {
        Unkept
    }
    fn add(&self, _: &mut Unkept, _: u64) {}
    fn merge(&self, _: &mut Unkept, _: Unkept) {}
    fn finish(&self, _: Unkept) -> u64 {
        0
    }
}

/// Totals that panic when they are to be kept.
#[stream_job]
fn fragile(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total {
            host: key(),
            from: window_start(),
            total: acc(Nothing, |f| f.out_flow),
            count: count(),
        })
}

/// Two inputs, two outputs.
#[stream_job]
fn pair(left: Stream<Flow>, right: Stream<Flow>) -> (Stream<Flow>, Stream<Total>) {
    let both = left.union(right);
    let large = both.filter(|f| f.out_flow >= 100);
    let totals = both
        .event_time(|f| f.at, out_of_order(secs(60)))
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    (large, totals)
}

/// Outgoing traffic per host, every ten seconds, for two readers.
#[stream_job]
fn twice(flows: Stream<Flow>) -> (Stream<Total>, Stream<Total>) {
    let totals = flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    let topic = totals.filter(|t| t.count > 0);
    let table = totals.filter(|t| t.count > 0);
    (topic, table)
}

/// The same, with each window kept for half a day, so that there is much state.
#[stream_job]
fn kept(flows: Stream<Flow>) -> (Stream<Total>, Stream<Total>) {
    let totals = flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)).lateness(hours(12)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    let topic = totals.filter(|t| t.count > 0);
    let table = totals.filter(|t| t.count > 0);
    (topic, table)
}

/// Traffic per host and parity so far; every key is kept.
#[stream_job]
fn sums(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .key_by(|f| (f.host.clone(), f.out_flow % 2))
        .running(forever())
        .aggregate(Total { host: key().0, from: 0, total: sum(|f| f.out_flow), count: count() })
        .named("sums")
}

/// Half of the flows, with twice the traffic: no state and no shuffle.
#[stream_job]
fn halves(flows: Stream<Flow>) -> Stream<Flow> {
    flows.filter(|f| f.out_flow % 2 == 0).map(|f| Flow { out_flow: f.out_flow * 2, ..f })
}

fn main() -> ExitCode {
    match std::env::var("TEST_JOB").as_deref() {
        Ok("halves") => streams_runtime::main(halves),
        Ok("sums") => streams_runtime::main(sums),
        Ok("echo") => streams_runtime::main(echo),
        Ok("strict") => streams_runtime::main(strict),
        Ok("fragile") => streams_runtime::main(fragile),
        Ok("pair") => streams_runtime::main(pair),
        Ok("twice") => streams_runtime::main(twice),
        Ok("kept") => streams_runtime::main(kept),
        Ok("sessions") => streams_runtime::main(sessions),
        Ok("racks") => streams_runtime::main(racks),
        Ok("owners") => streams_runtime::main(owners),
        Ok("arrivals") => streams_runtime::main(arrivals),
        Ok("joined") => streams_runtime::main(joined),
        _ => streams_runtime::main(traffic),
    }
}
