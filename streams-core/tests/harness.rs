//! What a wrong test is told, and where: at its own line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use streams_core::prelude::*;
use streams_core::testing::Harness;

#[record]
struct Line {
    text: String,
}

#[record]
struct Host {
    name: String,
}

mod other {
    #[streams_core::record]
    pub(crate) struct Line {
        pub(crate) text: String,
    }
}

#[stream_job]
fn named(lines: Stream<Line>, #[arg(default = "file:hosts.csv")] hosts: Table<Host>) -> Stream<String> {
    lines.lookup(hosts, |line| line.text.clone(), |host| host.name.clone(), |line, _| line.text.clone())
}

#[derive(Clone)]
struct Even;

impl streams_core::setting::Setting for Even {
    const PLACEHOLDER: &'static str = "EVEN";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
            .ok()
            .filter(|n: &u64| n.is_multiple_of(2))
            .map(|_| Self)
            .ok_or_else(|| format!("`{text}` is not even"))
    }
}

#[stream_job]
fn evened(lines: Stream<Line>, #[arg(default = "3")] even: Even) -> Stream<Line> {
    lines.inspect(|_| drop(even.clone()))
}

static PLACE: Mutex<(String, u32)> = Mutex::new((String::new(), 0));

/// The message of the panic, which must be at the line that the closure is on.
#[track_caller]
fn check(wrong: impl FnOnce(&mut Harness<named>), expected: &str) {
    let line = std::panic::Location::caller().line();
    let mut harness = Harness::new(named);
    check_at(line, || wrong(&mut harness), expected);
}

fn check_at(line: u32, wrong: impl FnOnce(), expected: &str) {
    let payload = catch_unwind(AssertUnwindSafe(wrong)).unwrap_err();
    let place = PLACE.lock().unwrap();
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some(expected));
    assert!(place.0.ends_with("tests/harness.rs") && place.1 == line, "{place:?} instead of line {line}");
}

#[test]
#[rustfmt::skip]
fn a_wrong_test_is_told_at_its_line() {
    std::panic::set_hook(Box::new(|panic| {
        if let (Some(place), Ok(mut last)) = (panic.location(), PLACE.lock()) {
            *last = (place.file().to_owned(), place.line());
        }
    }));
    check(|job| job.push("lines", Host { name: String::new() }), "the input port `lines` takes records of `Line`, but was given `Host`");
    check(|job| job.push_all("lines", vec![1_u64]), "the input port `lines` takes records of `Line`, but was given `u64`");
    check(|job| job.push("lines", other::Line { text: String::new() }), "the input port `lines` takes records of `harness::Line`, but was given `harness::other::Line`");
    check(|job| job.push("line", 1_u64), "the job has no input port `line`; its input ports are: lines");
    check(|job| job.push_json("named", ""), "the job has no input port `named`; its input ports are: lines");
    check(|job| job.push_stored("line", "", 0), "the job has no input port `line`; its input ports are: lines");
    check(|job| job.advance("line", 0), "the job has no input port `line`; its input ports are: lines");
    check(|job| job.idle("line"), "the job has no input port `line`; its input ports are: lines");
    check(|job| job.end_port("line"), "the job has no input port `line`; its input ports are: lines");
    check(|job| drop(job.take::<u64>("named")), "the output port `named` gives records of `String`, but was asked for `u64`");
    check(|job| drop(job.take_timed::<Line>("named")), "the output port `named` gives records of `String`, but was asked for `Line`");
    check(|job| drop(job.take::<String>("lines")), "the job has no output port `lines`; its output ports are: named");
    check(|job| job.table("host", &[0_u64]), "the job has no table `host`; its tables are: hosts");
    check(|job| job.table("hosts", &[0_u64]), "a row of `hosts`: invalid type: integer `0`, expected struct Host at line 1 column 1");
    let wrong_default = "setting `even`: its default in the source of `evened` is wrong (streams-core/tests/harness.rs:49): `3` is not even; correct `#[arg(default = \"3\")]` there, or give the setting a value";
    check_at(line!(), || drop(Harness::new(evened)), wrong_default);
    drop(std::panic::take_hook());
}

#[test]
fn a_default_that_is_no_value_is_the_sources_mistake() {
    assert!(Harness::with_settings(evened, &[("even", "4")]).is_ok());
    let given = Harness::with_settings(evened, &[("even", "5")]).unwrap_err();
    assert_eq!(given.to_string(), "setting `even`: `5` is not even");
}
