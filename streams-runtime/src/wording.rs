//! How numbers, sizes, times and suggestions are written for people.
//!
//! Nothing here decides anything; it is text only.

use std::time::Duration;

/// One text a line.
pub(crate) fn lines(texts: &[String]) -> String {
    texts.join("\n")
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 record`, `2 records`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A size in bytes with three significant digits.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = n as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    match unit {
        "B" => format!("{n} B"),
        _ if value < 10.0 => format!("{value:.2} {unit}"),
        _ if value < 100.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// `0.412 s`, `12.3 s`, `4 min 5 s`, `2 h 3 min`.
pub(crate) fn elapsed(length: Duration) -> String {
    let secs = length.as_secs();
    match secs {
        0..10 => format!("{:.3} s", length.as_secs_f64()),
        10..60 => format!("{:.1} s", length.as_secs_f64()),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}

/// Milliseconds since the epoch as RFC 3339 in UTC; times outside the years 0 to 9999 as the bare number.
pub(crate) fn utc(ms: i64) -> String {
    let days = ms.div_euclid(86_400_000);
    let in_day = ms.rem_euclid(86_400_000);
    // Days to a date of the proleptic Gregorian calendar, counted from 0000-03-01 in eras of 400 years.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if !(0..=9999).contains(&year) {
        return ms.to_string();
    }
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1_000 % 60, in_day % 1_000);
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// The start of a text on one line, at most `max` characters, with control characters made visible.
pub(crate) fn excerpt(bytes: &[u8], max: usize) -> String {
    // Four bytes a character are enough to decide; the rest of a huge record is not looked at.
    let head = bytes.get(..max.saturating_mul(4) + 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let mut shown: String = text
        .chars()
        .take(max)
        .flat_map(|c| {
            let plain = (!c.is_control()).then_some(c);
            plain
                .into_iter()
                .chain(if c.is_control() { Some(c.escape_default()) } else { None }.into_iter().flatten())
        })
        .collect();
    if text.chars().nth(max).is_some() || head.len() < bytes.len() {
        shown.push('…');
    }
    shown
}

/// The name in `known` that is meant by `given`, when one is near enough to suggest.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let best = known.into_iter().map(|name| (distance(given, name), name)).min()?;
    let (edits, name) = best;
    let prefix = given.len() >= 3 && name.starts_with(given);
    (prefix || edits <= 1 + name.chars().count().min(given.chars().count()) / 4).then_some(name)
}

/// How many letters must be changed, added, removed or swapped with their neighbor.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut cost =
                (get(&row, j) + usize::from(x != y)).min(get(&row, j + 1) + 1).min(get(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                cost = cost.min(get(&before, j - 1) + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(2_747_282_740), "2,747,282,740");
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(2_400_000), "2.29 MiB");
        assert_eq!(elapsed(Duration::from_millis(412)), "0.412 s");
        assert_eq!(elapsed(Duration::from_secs(245)), "4 min 5 s");
    }

    #[test]
    fn times() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(utc(1_709_164_800_000), "2024-02-29T00:00:00Z");
        assert_eq!(utc(1_431_857_103_250), "2015-05-17T10:05:03.250Z");
        assert_eq!(utc(i64::MAX), i64::MAX.to_string());
        assert_eq!(utc(i64::MIN), i64::MIN.to_string());
    }

    #[test]
    fn excerpts() {
        assert_eq!(excerpt(b"abc", 3), "abc");
        assert_eq!(excerpt(b"abcd", 3), "abc…");
        assert_eq!(excerpt(b"a\tb", 9), "a\\tb");
        assert_eq!(excerpt(b"\xff", 9), "\u{fffd}");
    }

    #[test]
    fn suggestions() {
        assert_eq!(nearest("slak", ["slack", "state"]), Some("slack"));
        assert_eq!(nearest("flie", ["file", "stdin"]), Some("file"));
        assert_eq!(nearest("checkpoint", ["checkpoint-interval", "state"]), Some("checkpoint-interval"));
        assert_eq!(nearest("kafka", ["file", "stdin"]), None);
    }
}
