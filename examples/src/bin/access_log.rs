//! Hits, bytes and errors per client of a web server, every ten seconds.
//!
//! Shows: lines of text that may be broken (`try_map` makes a bad one a dead letter), event time out of order
//! by a setting (`--slack 5s`), a keyed window, several aggregates in one pass.
//!
//! ```text
//! cargo run --release -p examples --bin access_log -- run --from file:examples/data/access.log
//! ```
//!
//! prints 6,237 lines such as
//! `{"host":"83.149.9.216","from":1431857100000,"hits":2,"bytes":243,"errors":0}`.

use std::process::ExitCode;
use std::time::Duration;

use streams_runtime::prelude::*;

#[record]
struct Hit {
    host: String,
    at: i64,
    status: u16,
    bytes: u64,
}

#[record]
struct Traffic {
    host: String,
    from: i64,
    hits: u64,
    bytes: u64,
    errors: u64,
}

/// Hits, bytes and errors (status 400 and above) per client host, every ten seconds of event time.
#[stream_job]
fn access_log(
    lines: Stream<String>,
    /// How far lines may be out of order.
    #[arg(default = "60s")]
    slack: Duration,
) -> Stream<Traffic> {
    lines
        .try_map(|line| parse(line))
        .event_time(|hit| hit.at, out_of_order(slack))
        .key_by(|hit| hit.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Traffic {
            host: key(),
            from: window_start(),
            hits: count(),
            bytes: sum(|hit| hit.bytes),
            errors: sum(|hit| u64::from(hit.status >= 400)),
        })
}

fn main() -> ExitCode {
    streams_runtime::main(access_log)
}

/// Reads the fields of Apache's combined format up to the bytes; the rest of the line is not looked at.
fn parse(line: &str) -> Result<Hit, String> {
    let (host, rest) = line.split_once(' ').ok_or("no host at the start of the line")?;
    let (_, rest) = rest.split_once('[').ok_or("no `[` in front of the time")?;
    let (time, rest) = rest.split_once("] \"").ok_or("no `] \"` behind the time")?;
    let at =
        time_ms(time).ok_or_else(|| format!("`{time}` is no time such as `17/May/2015:10:05:03 +0000`"))?;
    // The request may hold escaped quotes, so its end is the last one in front of a status.
    let (status, rest) = end_of_request(rest).ok_or("no `\"` and status behind the request")?;
    let bytes = rest.split(' ').next().unwrap_or_default();
    let bytes = match bytes {
        "-" => 0,
        number => number.parse().map_err(|_| format!("`{number}` is no number of bytes"))?,
    };
    Ok(Hit { host: host.to_owned(), at, status, bytes })
}

/// The status and what follows it, behind the first quote that a status follows.
fn end_of_request(mut rest: &str) -> Option<(u16, &str)> {
    loop {
        rest = rest.split_once("\" ")?.1;
        if let Some((status, rest)) = rest.split_once(' ')
            && let Ok(status) = status.parse()
        {
            return Some((status, rest));
        }
    }
}

/// `17/May/2015:10:05:03 +0000` in ms since the Unix epoch.
fn time_ms(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date_time, zone) = text.split_once(' ')?;
    let (date, time) = date_time.split_once(':')?;
    let mut date = date.split('/');
    let day: i64 = date.next()?.parse().ok()?;
    let name = date.next()?;
    let month = 1 + i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()?;
    let year: i64 = date.next()?.parse().ok()?;
    let mut seconds = 0;
    for part in time.split(':') {
        seconds = seconds * 60 + part.parse::<i64>().ok()?;
    }
    let (sign, zone) = (if zone.starts_with('-') { -1 } else { 1 }, zone.get(1..5)?);
    let offset = zone.get(..2)?.parse::<i64>().ok()? * 60 + zone.get(2..)?.parse::<i64>().ok()?;
    let days = days_since_epoch(year, month, day)?;
    Some((days * 86_400 + seconds - sign * offset * 60) * 1_000)
}

/// Days from 1970-01-01 in the Gregorian calendar, after Howard Hinnant's `days_from_civil`.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=31).contains(&day) || !(0..=9_999).contains(&year) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        let found = match parse(line) {
            Ok(hit) => format!("{} {} {} {}", hit.host, hit.at, hit.status, hit.bytes),
            Err(error) => error,
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn lines_as_servers_write_them() {
        check(
            r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 7 "-" "x""#,
            "1.2.3.4 1431857103000 200 7",
        );
        check(
            r#"::1 - bob [17/May/2015:12:05:03 +0200] "GET / HTTP/1.1" 304 - "-" "x"#,
            "::1 1431857103000 304 0",
        );
        check(r#"h - - [01/Jan/1970:00:00:00 +0000] "GET /\" 200 5 HTTP/1.1" 404 12"#, "h 0 200 5");
        check(r#"h - - [29/Feb/2024:23:59:59 -0130] "-" 408 0 "-" "-""#, "h 1709256599000 408 0");
    }

    #[test]
    fn a_broken_line_says_where() {
        check("", "no host at the start of the line");
        check("garbage in the middle", "no `[` in front of the time");
        check(
            r#"h - - [17/Mai/2015:10:05:03 +0000] "GET /" 200 7"#,
            "`17/Mai/2015:10:05:03 +0000` is no time such as `17/May/2015:10:05:03 +0000`",
        );
        check(r#"h - - [17/May/2015:10:05:03 +0000] "GET /"#, "no `\"` and status behind the request");
        check(r#"h - - [17/May/2015:10:05:03 +0000] "GET /" 200 x"#, "`x` is no number of bytes");
    }
}
