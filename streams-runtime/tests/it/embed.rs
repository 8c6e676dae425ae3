//! Runs inside a program: what they give, and what is refused before they begin.

use streams_runtime::embed::{Embedded, Outcome, Share};
use streams_runtime::prelude::*;

#[record]
struct Click {
    user: u64,
    at: i64,
}

#[record]
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Clicks {
    user: u64,
    from: i64,
    n: u64,
}

#[stream_job]
fn clicks(
    events: Stream<Click>,
    #[arg(default = "1s")] size: std::time::Duration,
    #[arg(default = "0")] poison: u64,
) -> Stream<Clicks> {
    events
        .event_time(|c| c.at, out_of_order(millis(50)))
        .inspect(|c| assert!(poison == 0 || c.user != poison, "poisoned"))
        .key_by(|c| c.user)
        .window(tumbling(size))
        .aggregate(Clicks { user: key(), from: window_start(), n: count() })
}

/// Clicks of the batches of one worker, up to 50 ms out of order, and some too late.
fn share(Share { worker, workers }: Share) -> impl Iterator<Item = Click> + Send {
    (0..20_000_u64).filter(move |n| (n / 64) as usize % workers == worker).map(|n| {
        let late = if n % 1_000 == 999 { 5_000 } else { 0 };
        Click { user: n * 7_919 % 101, at: n as i64 + (n % 50) as i64 - late }
    })
}

fn sorted(outcome: Outcome<Vec<Clicks>>) -> Vec<Clicks> {
    let mut rows: Vec<Clicks> = outcome.gathered.into_iter().flatten().collect();
    rows.sort();
    rows
}

#[test]
fn any_number_of_workers_gives_the_same() {
    let run = |workers| Embedded::new(clicks).workers(workers).batch(64).run(share).unwrap();
    let one = run(1);
    assert!(one.late > 0 && one.gathered.len() == 1);
    let late = one.late;
    let expected = sorted(one);
    assert_eq!(expected.iter().map(|row| row.n).sum::<u64>(), 20_000 - late);
    for workers in [2, 3, 5] {
        let outcome = run(workers);
        assert_eq!((outcome.gathered.len(), outcome.late), (workers, late));
        assert_eq!(sorted(outcome), expected);
    }
}

/// How many windows a user has had since a pause of a second and more.
#[stream_job]
fn streaks(events: Stream<Click>) -> Stream<Clicks> {
    events
        .event_time(|c| c.at, out_of_order(millis(0)))
        .key_by(|c| c.user)
        .window(tumbling(millis(20)))
        .aggregate(Clicks { user: key(), from: window_start(), n: count() })
        .running(ttl(secs(1)))
        .aggregate(Clicks { user: key(), from: last(|c| c.from), n: count() })
}

#[test]
fn what_is_forgotten_behind_a_window_is_the_same_with_any_number_of_workers_and_any_batch() {
    // Event time stands still for long, and jumps by more or less than the second, with some users at a time.
    let events = |batch: u64| {
        move |Share { worker, workers }: Share| {
            (0..6_000_u64).filter(move |n| (n / batch) as usize % workers == worker).map(|n| {
                let at = (n / 7 * 13 + n / 50 * 400 + n / 333 * 777) as i64;
                Click { user: n / 5 % 11, at }
            })
        }
    };
    let run = |workers, batch: u64| {
        let job = Embedded::new(streaks).workers(workers).batch(batch as usize);
        sorted(job.run(events(batch)).unwrap())
    };
    let expected = run(1, 64);
    assert!(expected.iter().any(|row| row.n > 3));
    assert!(expected.iter().any(|row| row.n == 1 && row.from > 5_000), "some are forgotten on the way");
    for (workers, batch) in [(1, 7), (2, 7), (2, 64), (2, 1_000), (3, 50), (5, 33)] {
        assert_eq!(run(workers, batch), expected, "{workers} workers, batches of {batch}");
    }
}

#[test]
fn a_worker_gives_the_same_in_every_run() {
    let run = || Embedded::new(clicks).workers(3).batch(64).run::<_, _, Vec<Clicks>>(share).unwrap().gathered;
    assert_eq!(run(), run());
}

#[test]
fn one_that_has_no_records_waits_for_the_others() {
    let run = |workers| {
        let all = |own: Share| share(Share { worker: 0, workers: 1 }).filter(move |_| own.worker == 1);
        Embedded::new(clicks).workers(workers).batch(64).run(all).unwrap()
    };
    let whole = sorted(Embedded::new(clicks).run(share).unwrap());
    assert_eq!(sorted(run(2)), whole);
}

#[test]
fn settings_are_those_of_the_job() {
    let job = || Embedded::new(clicks);
    let rows = |job: Embedded<clicks>| sorted(job.run(share).unwrap()).len();
    assert!(rows(job()) > rows(job().setting("size", "10s")));
    let error = job().setting("sise", "10s").run::<_, Clicks, Vec<_>>(share).unwrap_err().to_string();
    assert!(error.contains("sise") && error.contains("size, poison"), "{error}");
    let error = job().setting("size", "0s").run::<_, Clicks, Vec<_>>(share).unwrap_err().to_string();
    assert!(error.contains("at least a millisecond"), "{error}");
}

#[test]
fn ports_of_other_types_are_refused() {
    let error = Embedded::new(clicks).run::<_, Clicks, Vec<_>>(|_| 0..3_u64).unwrap_err().to_string();
    assert!(error.contains("port `events`") && error.contains("gives `u64`"), "{error}");
    let error = Embedded::new(clicks).run::<_, u64, Vec<_>>(share).unwrap_err().to_string();
    assert!(error.contains("gathers `u64`"), "{error}");

    #[stream_job]
    fn two(a: Stream<u64>, b: Stream<u64>) -> Stream<u64> {
        a.union(b)
    }
    let error = Embedded::new(two).run::<_, u64, Vec<_>>(|_| 0..3_u64).unwrap_err().to_string();
    assert!(error.contains("port `b`") && error.contains("one input"), "{error}");
}

#[test]
fn a_panic_of_the_job_is_the_callers() {
    for workers in [1, 3] {
        let job = Embedded::new(clicks).workers(workers).setting("poison", "7");
        let run = std::panic::AssertUnwindSafe(|| job.run::<_, Clicks, Vec<_>>(share));
        let payload = std::panic::catch_unwind(run).unwrap_err();
        let text = payload.downcast_ref::<&str>().copied();
        assert_eq!(text, Some("poisoned"));
    }
}

#[record]
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Busiest {
    from: i64,
    user: u64,
    users: u64,
}

/// Of windows of windows nothing is late, however many machines the inner ones come from.
#[stream_job]
fn busiest(events: Stream<Click>) -> Stream<Busiest> {
    events
        .event_time(|c| c.at, out_of_order(secs(10)))
        .key_by(|c| c.user)
        .window(hopping(secs(1), millis(250)))
        .aggregate(Clicks { user: key(), from: window_start(), n: count() })
        .key_by(|c| c.from % 1_000)
        .window(tumbling(millis(250)))
        .aggregate((window_start(), max_by(|c| (c.n, c.user), |c| c.user), count()))
        .key_by(|_| ())
        .window(tumbling(millis(250)))
        .aggregate(Busiest {
            from: min(|window| window.0),
            user: max(|window| window.1),
            users: sum(|window| window.2),
        })
}

#[test]
fn windows_behind_windows_are_the_same_with_any_number_of_workers() {
    let run = |workers| {
        let outcome =
            Embedded::new(busiest).workers(workers).batch(64).run::<_, Busiest, Vec<_>>(share).unwrap();
        assert_eq!(outcome.late, 0, "{workers} workers");
        let mut rows: Vec<Busiest> = outcome.gathered.into_iter().flatten().collect();
        rows.sort();
        rows
    };
    let expected = run(1);
    assert!(expected.len() > 60);
    for workers in [2, 3, 4] {
        assert_eq!(run(workers), expected, "{workers} workers");
    }
}
