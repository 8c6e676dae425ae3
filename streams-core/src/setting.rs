//! Settings: parameters of a job that are not streams, read from text.

use std::path::PathBuf;
use std::time::Duration;

/// A type that a setting can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a setting of a job",
    label = "a parameter that is not a stream is a setting",
    note = "settings are `Duration`, numbers, `bool`, `char`, `String`, `PathBuf` and `Option` of them; implement `Setting` for your own type"
)]
pub trait Setting: Sized + Clone + Send + Sync + 'static {
    /// What a value looks like in `--help`.
    const PLACEHOLDER: &'static str;

    /// The text that stands for a setting that was not given and has no default, where one does.
    const ABSENT: Option<&'static str> = None;

    /// Reads a value.
    ///
    /// # Errors
    /// What is wrong and what is expected.
    fn parse(text: &str) -> Result<Self, String>;
}

/// A type of which it is known that it is a [`Setting`]; made by [`setting_type`].
#[derive(Debug)]
pub struct SettingType<T> {
    pub(crate) parse: fn(&str) -> Result<T, String>,
    pub(crate) check: fn(&str) -> Result<(), String>,
    pub(crate) placeholder: &'static str,
    pub(crate) absent: Option<&'static str>,
}

/// The type of a setting; the one place at which the expansion asks whether it can be one.
#[must_use]
pub const fn setting_type<T: Setting>() -> SettingType<T> {
    SettingType { parse: T::parse, check: check::<T>, placeholder: T::PLACEHOLDER, absent: T::ABSENT }
}

/// Whether `text` is a `T`.
///
/// # Errors
/// As [`Setting::parse`].
pub fn check<T: Setting>(text: &str) -> Result<(), String> {
    T::parse(text).map(|_| ())
}

impl Setting for Duration {
    const PLACEHOLDER: &'static str = "DURATION";

    fn parse(text: &str) -> Result<Self, String> {
        duration(text)
    }
}

/// Reads `250ms`, `5s`, `1.5m`, `2h`, `7d`, or several in a row as in `1h30m`.
///
/// # Errors
/// What is wrong and what is expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = |why: &str| {
        format!("`{text}` is no duration: {why}; write for example `250ms`, `5s`, `10m`, `1h30m`")
    };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong("it is empty"));
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let number: f64 = number.parse().map_err(|_| wrong("a number is expected in front of the unit"))?;
        let ms = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" | "min" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            "" => return Err(wrong("the unit is missing")),
            _ => return Err(wrong(&format!("`{unit}` is no unit; units are ms, s, m, h, d"))),
        };
        let ms = (number * ms).round();
        if ms > i64::MAX as f64 {
            return Err(wrong("it is longer than time itself"));
        }
        total = total.checked_add(Duration::from_millis(ms as u64)).ok_or_else(|| wrong("it is too long"))?;
        rest = tail.trim_start();
    }
    Ok(total)
}

macro_rules! from_str {
    ($placeholder:literal, $expected:literal: $($type:ty),*) => {$(
        impl Setting for $type {
            const PLACEHOLDER: &'static str = $placeholder;

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error| {
                    format!(concat!("`{}` is no ", $expected, " ({}): {}"), text, stringify!($type), error)
                })
            }
        }
    )*};
}

from_str!("N", "whole number": u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);
from_str!("NUMBER", "number": f32, f64);
from_str!("true|false", "`true` or `false`": bool);
from_str!("CHAR", "single character": char);

impl Setting for String {
    const PLACEHOLDER: &'static str = "TEXT";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl Setting for PathBuf {
    const PLACEHOLDER: &'static str = "PATH";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self::from(text))
    }
}

/// Absent when the text is empty.
impl<T: Setting> Setting for Option<T> {
    const PLACEHOLDER: &'static str = T::PLACEHOLDER;
    const ABSENT: Option<&'static str> = Some("");

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(None) } else { T::parse(text).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<u64, &str>) {
        match (duration(text), expected) {
            (Ok(found), Ok(ms)) => assert_eq!(found, Duration::from_millis(ms), "{text}"),
            (Err(found), Err(part)) => assert!(found.contains(part), "{text}: {found}"),
            (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn durations() {
        check("250ms", Ok(250));
        check("5s", Ok(5_000));
        check("1.5m", Ok(90_000));
        check("1h30m", Ok(5_400_000));
        check(" 10 s ", Ok(10_000));
        check("1h 30 m", Ok(5_400_000));
        check("0s", Ok(0));
        check("", Err("it is empty"));
        check("5", Err("the unit is missing"));
        check("s", Err("a number is expected"));
        check("-5s", Err("a number is expected"));
        check("10 sekunden", Err("`sekunden` is no unit"));
        check("99999999999999d", Err("longer than time itself"));
    }

    #[test]
    fn an_option_may_be_absent() {
        assert_eq!(Option::<u64>::ABSENT, Some(""));
        assert_eq!(Option::<u64>::parse(""), Ok(None));
        assert_eq!(Option::<u64>::parse("7"), Ok(Some(7)));
        assert!(Option::<u64>::parse("seven").is_err());
    }
}
