//! Windows that do not begin at the epoch.

use streams_core::prelude::*;
use streams_core::testing::Harness;

use crate::{Event, event};

const HOUR: i64 = 3_600_000;

/// Days of Shanghai, as their first hour in UTC and the sum.
#[stream_job]
fn days_of_shanghai(events: Stream<Event>) -> Stream<(i64, u64)> {
    events
        .event_time(|e| e.at, out_of_order(secs(0)))
        .key_by(|e| e.key)
        .window(tumbling(days(1)).offset_back(hours(8)))
        .aggregate((window_start() / HOUR, sum(|e| e.amount)))
}

#[test]
fn a_day_begins_where_the_zone_says() {
    let mut harness = Harness::new(days_of_shanghai);
    for (amount, at) in [(1, -8 * HOUR), (2, 16 * HOUR - 1), (4, 16 * HOUR), (8, 40 * HOUR)] {
        harness.push("events", event(1, amount, at));
    }
    harness.end();
    assert_eq!(harness.take::<(i64, u64)>("days_of_shanghai"), [(-8, 3), (16, 4), (40, 8)]);
}

/// The offset is a setting.
#[stream_job]
fn shifted(
    events: Stream<Event>,
    #[arg(default = "1s")] offset: std::time::Duration,
) -> Stream<(i64, i64, u64)> {
    events
        .event_time(|e| e.at, out_of_order(secs(0)))
        .key_by(|e| e.key)
        .window(hopping(secs(10), secs(5)).offset(offset))
        .aggregate((window_start(), window_end(), sum(|e| e.amount)))
}

#[test]
fn overlapping_windows_are_shifted_together() {
    let mut harness = Harness::new(shifted);
    harness.push_all("events", vec![event(1, 1, 0), event(1, 2, 1_000), event(1, 4, 6_000)]);
    harness.end();
    let rows = harness.take::<(i64, i64, u64)>("shifted");
    let expected = [(-9_000, 1_000, 1), (-4_000, 6_000, 3), (1_000, 11_000, 6), (6_000, 16_000, 4)];
    assert_eq!(rows, expected);
}

#[test]
fn an_offset_that_is_too_large_is_refused_at_start() {
    let refused = Harness::with_settings(shifted, &[("offset", "5s")]).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|text| text.contains("window offset must be below")));
}
