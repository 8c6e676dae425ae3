//! Records that a decoder or an operator could not take: written as dead letters, passed over, or the end of
//! the run, as `--on-bad` says. Each is counted, so nothing disappears without a number.
//!
//! The file is an ordinary file sink with its length in the snapshot, so letters are exactly once as well.

#[cfg(feature = "rocketmq")]
pub(crate) mod letters;

use serde::Serialize;
use streams_core::batch::RawBatch;
use streams_core::effects::{Origin, Reject};

use crate::codec::decode::TOO_LONG;
use crate::error::Error;
use crate::report::Counters;
use crate::sink::Writer;
use crate::source::Input;
use crate::wording::excerpt;

/// What happens to a bad record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBad {
    /// It becomes a dead letter: written with `--dead-letter`, else counted and the first ones shown.
    DeadLetter,
    /// It is counted.
    Skip,
    /// The job stops in front of it.
    Stop,
}

/// Bad records shown on standard error when they are not written anywhere.
const SHOWN: u64 = 10;

/// Takes care of bad records.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    on_bad: OnBad,
    pub(crate) writer: Option<Writer>,
    shown: u64,
}

/// One line of the file.
#[derive(Debug, Serialize)]
struct Letter<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<serde_json::Value>,
    error: &'a str,
}

/// A bad record with where it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bad<'a> {
    reject: &'a Reject,
    input: Option<&'a Input>,
    record: Option<(u64, u64, &'a [u8])>,
}

impl<'a> Bad<'a> {
    /// Finds the record of `reject` in the batch that was fed.
    pub(crate) fn new(reject: &'a Reject, fed: Option<(&'a Input, &'a RawBatch)>) -> Self {
        let Origin::Batch(index) = reject.origin else { return Self { reject, input: None, record: None } };
        let record = fed.and_then(|(_, batch)| {
            let record = batch.records.get(usize::try_from(index).ok()?)?;
            let bytes = batch.slice(record);
            Some((record.line, record.offset, bytes.strip_prefix(TOO_LONG).unwrap_or(bytes)))
        });
        Self { reject, input: fed.map(|(input, _)| input), record }
    }

    /// File and line for a person, e.g. `access.log line 17`.
    pub(crate) fn place(&self) -> String {
        match (self.input, self.record) {
            (Some(input), Some((line, ..))) => format!("{} line {line}", input.shown()),
            _ => format!("operator `{}`", self.reject.operator),
        }
    }

    /// Why it is bad.
    pub(crate) fn reason(&self) -> String {
        let by_operator = self.input.is_none_or(|input| input.port != self.reject.operator);
        match (by_operator, self.record) {
            (true, Some(_)) => format!("operator `{}`: {}", self.reject.operator, self.reject.error),
            _ => self.reject.error.clone(),
        }
    }

    /// Its beginning, as text.
    pub(crate) fn shown(&self) -> String {
        match (self.record, &self.reject.value, &self.reject.key) {
            (_, _, Some(key)) => format!("key {}", excerpt(key.as_bytes(), 80)),
            (Some((_, _, bytes)), ..) => excerpt(bytes, 80),
            (None, Some(value), None) => excerpt(value.as_bytes(), 80),
            (None, None, None) => String::new(),
        }
    }

    fn letter(&self) -> Letter<'a> {
        let raw = self.record.map(|(_, _, bytes)| bytes);
        let text = raw.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let by_operator = self.input.is_none_or(|input| input.port != self.reject.operator);
        // Without the source's bytes the value is what there is to show.
        let value = self.reject.value.as_ref().filter(|_| raw.is_none());
        let parsed = |json: &String| serde_json::from_str(json).unwrap_or_else(|_| json.as_str().into());
        Letter {
            port: self.input.map(|input| input.port),
            file: self.input.map(Input::shown),
            line: self.record.map(|(line, ..)| line),
            offset: self.record.map(|(_, offset, _)| offset),
            raw: text,
            raw_base64: raw.filter(|_| text.is_none()).map(base64),
            operator: by_operator.then_some(self.reject.operator),
            value: value.map(parsed),
            key: self.reject.key.as_ref().map(parsed),
            error: &self.reject.error,
        }
    }
}

impl DeadLetters {
    pub(crate) fn new(on_bad: OnBad, writer: Option<Writer>) -> Self {
        Self { on_bad, writer, shown: 0 }
    }

    /// Takes a bad record; the text, if any, is to be shown on standard error.
    pub(crate) fn take(&mut self, bad: &Bad<'_>, counters: &mut Counters) -> Result<Option<String>, Error> {
        match (self.on_bad, &mut self.writer) {
            (OnBad::Skip, _) => {
                counters.skipped += 1;
                Ok(None)
            }
            (OnBad::DeadLetter | OnBad::Stop, Some(writer)) => {
                counters.dead_letter += 1;
                let mut line = serde_json::to_vec(&bad.letter())
                    .expect("a letter is made of texts and numbers, which always have a JSON form");
                line.push(b'\n');
                writer.write(&line, 1)?;
                Ok(None)
            }
            (OnBad::DeadLetter | OnBad::Stop, None) => {
                counters.dead_letter += 1;
                self.shown += 1;
                if self.shown > SHOWN {
                    return Ok(None);
                }
                let more = if self.shown == SHOWN {
                    "\nnote: further bad records are only counted; keep them with --dead-letter file:PATH"
                } else {
                    ""
                };
                Ok(Some(format!("bad record: {}: {}: {}{more}", bad.place(), bad.reason(), bad.shown())))
            }
        }
    }
}

/// Standard base64 with padding, for bytes that are no text.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            let letter = ALPHABET.get(index as usize).copied().unwrap_or(b'=');
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_all_paddings() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foo"), "Zm9v");
        assert_eq!(base64(b"\xff\xfe\xfd\xfc"), "//79/A==");
    }

    #[test]
    fn letters_without_a_place_show_their_value() {
        let reject = Reject {
            origin: Origin::None,
            operator: "check",
            error: "too big".to_owned(),
            value: Some("{\"a\":1}".to_owned()),
            key: None,
        };
        let letter = serde_json::to_string(&Bad::new(&reject, None).letter()).unwrap();
        assert_eq!(letter, r#"{"operator":"check","value":{"a":1},"error":"too big"}"#);
    }
}
