//! From the bytes of one record to a value, with errors for people.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use streams_core::ports::Source;

use super::Shapes;
use crate::format::Format;

/// Stands in front of what is left of a record that was longer than [`crate::source::MAX_RECORD_BYTES`]. It is
/// no valid UTF-8, so that no format takes it for a record.
pub(crate) const TOO_LONG: &[u8] = b"\xff\0streams: record too long\0";

/// Decodes one input port.
#[derive(Debug)]
pub(crate) struct TextSource<T> {
    format: Format,
    shapes: Arc<Shapes>,
    port: usize,
    fields: csv::StringRecord,
    scratch: String,
    /// Whether a record must have named fields.
    fields_named: bool,
    _type: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> TextSource<T> {
    pub(crate) fn new(format: Format, shapes: Arc<Shapes>, port: usize) -> Self {
        Self {
            format,
            shapes,
            port,
            fields: csv::StringRecord::new(),
            scratch: String::new(),
            fields_named: super::asks::for_fields::<T>(),
            _type: PhantomData,
        }
    }
}

impl<T: DeserializeOwned + 'static> Source<T> for TextSource<T> {
    fn decode(&mut self, bytes: &[u8]) -> Result<T, String> {
        if bytes.starts_with(TOO_LONG) {
            let limit = crate::wording::bytes(crate::source::MAX_RECORD_BYTES as u64);
            return Err(format!("the record is longer than {limit}"));
        }
        match self.format {
            Format::Json => {
                let array =
                    self.fields_named.then(|| bytes.iter().position(|byte| !byte.is_ascii_whitespace()));
                if let Some(Some(at)) = array.filter(|at| at.and_then(|at| bytes.get(at)) == Some(&b'[')) {
                    return Err(format!("column {}: expected an object `{{…}}`, found an array", at + 1));
                }
                serde_json::from_slice(bytes).map_err(|error| json_error(&error))
            }
            Format::Lines => {
                let text = utf8(bytes)?;
                let text: StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
                T::deserialize(text).map_err(|error| error.to_string())
            }
            Format::Csv => {
                let columns = self.shapes.input(self.port).columns.get();
                let columns = columns.ok_or("there is no header line")?;
                split_fields(utf8(bytes)?, &mut self.fields, &mut self.scratch)?;
                if self.fields.len() != columns.len() {
                    let (found, named) = (self.fields.len(), columns.len());
                    return Err(format!(
                        "{} where the header names {named}",
                        crate::wording::counted(found as u64, "field")
                    ));
                }
                self.fields.deserialize(Some(columns)).map_err(|error| csv_error(&error, columns))
            }
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))
}

/// `… at line 1 column 7` becomes `column 7: …`: a record is one line, and its own place is told elsewhere.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("column {}: {what}", error.column()),
        None => text,
    }
}

fn csv_error(error: &csv::Error, columns: &csv::StringRecord) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else { return error.to_string() };
    let column = err.field().and_then(|field| columns.get(usize::try_from(field).ok()?));
    match column {
        Some(name) => format!("column `{name}`: {}", err.kind()),
        None => err.kind().to_string(),
    }
}

/// Splits one CSV record into its fields.
pub(crate) fn split_fields(
    text: &str,
    fields: &mut csv::StringRecord,
    scratch: &mut String,
) -> Result<(), String> {
    fields.clear();
    let mut rest = text;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            match rest.split_once(',') {
                Some((field, tail)) => {
                    fields.push_field(field);
                    rest = tail;
                    continue;
                }
                None => {
                    fields.push_field(rest);
                    return Ok(());
                }
            }
        };
        scratch.clear();
        rest = quoted;
        loop {
            let (inside, tail) = rest.split_once('"').ok_or("a quote is opened and never closed")?;
            scratch.push_str(inside);
            rest = tail;
            match rest.strip_prefix('"') {
                Some(tail) => {
                    scratch.push('"');
                    rest = tail;
                }
                None => break,
            }
        }
        // Text between the closing quote and the comma belongs to the field, as in most readers.
        match rest.split_once(',') {
            Some((more, tail)) => {
                scratch.push_str(more);
                fields.push_field(scratch);
                rest = tail;
            }
            None => {
                scratch.push_str(rest);
                fields.push_field(scratch);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::{Direction, Url};

    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Flow {
        host: String,
        bytes: u64,
        ok: Option<bool>,
    }

    fn source<T: DeserializeOwned>(format: Format) -> TextSource<T> {
        let shapes = Shapes::new(&[Url::parse("file:x", Direction::From).unwrap()], &[]);
        let columns = csv::StringRecord::from(vec!["host", "bytes", "ok"]);
        shapes.input(0).columns.set(columns).unwrap();
        TextSource::new(format, shapes, 0)
    }

    #[track_caller]
    fn check(format: Format, bytes: &[u8], expect: &str) {
        let shown = match source::<Flow>(format).decode(bytes) {
            Ok(flow) => format!("{} {} {:?}", flow.host, flow.bytes, flow.ok),
            Err(error) => error,
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn json() {
        check(Format::Json, br#"{"host":"a","bytes":3,"ok":true}"#, "a 3 Some(true)");
        check(Format::Json, br#"{"host":"a"}"#, "column 12: missing field `bytes`");
        check(
            Format::Json,
            br#"{"host":"a","bytes":"x"}"#,
            "column 23: invalid type: string \"x\", expected u64",
        );
        check(Format::Json, b"garbage", "column 1: expected value");
        check(Format::Json, b" [\"a\",3,true]", "column 2: expected an object `{…}`, found an array");
        check(Format::Json, TOO_LONG, "the record is longer than 16.0 MiB");
    }

    #[test]
    fn csv() {
        check(Format::Csv, b"a,3,true", "a 3 Some(true)");
        check(Format::Csv, b"a,3,", "a 3 None");
        check(Format::Csv, b"\"a, \"\"b\"\"\",3,false", "a, \"b\" 3 Some(false)");
        check(Format::Csv, b"a,x,true", "column `bytes`: invalid digit found in string");
        check(Format::Csv, b"a,3", "2 fields where the header names 3");
        check(Format::Csv, b"\"a,3,", "a quote is opened and never closed");
        check(Format::Csv, b"\xff,3,", "byte 1 is not UTF-8");
    }

    #[test]
    fn lines() {
        assert_eq!(source::<String>(Format::Lines).decode(b" a b "), Ok(" a b ".to_owned()));
        assert_eq!(source::<String>(Format::Lines).decode(b"ab\xff"), Err("byte 3 is not UTF-8".to_owned()));
        assert_eq!(source::<String>(Format::Json).decode(b"\"a\""), Ok("a".to_owned()));
        assert_eq!(source::<(u64, u64)>(Format::Json).decode(b"[1,2]"), Ok((1, 2)));
        assert_eq!(source::<Vec<Flow>>(Format::Json).decode(b"[]"), Ok(Vec::new()));
    }
}
