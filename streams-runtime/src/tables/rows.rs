//! The rows of a table in the text of a file or of an answer: CSV with a header line, JSON values one a line, or one
//! JSON array.

use std::sync::Arc;

use serde_json::value::RawValue;
use streams_core::lookup::Row;

use crate::format::Format;

/// Takes each row with the line on which it begins, or why there is none on it.
pub(crate) type Take<'a> = dyn FnMut(u64, Result<Row, String>) + 'a;

/// Gives all rows of a text.
///
/// # Errors
/// Why the text as a whole cannot be read, for a person.
pub(crate) fn each(text: &[u8], format: Format, take: &mut Take<'_>) -> Result<(), String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match format {
        Format::Csv => csv(text, take),
        _ if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') => array(text, take),
        _ => {
            json_lines(text, take);
            Ok(())
        }
    }
}

fn csv(text: &[u8], take: &mut Take<'_>) -> Result<(), String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let header = reader.headers().map_err(|error| format!("its header line: {error}"))?;
    if header.is_empty() {
        return Err("it is empty; the first line of a table as CSV names the columns".to_owned());
    }
    let columns: Vec<Arc<str>> = header.iter().map(Arc::from).collect();
    for record in reader.records() {
        let (line, row) = match record {
            Ok(record) => {
                let line = record.position().map_or(0, csv::Position::line);
                let row = if record.len() == columns.len() {
                    let fields = columns.iter().zip(&record);
                    Ok(Row::Fields(
                        fields.map(|(name, text)| (Arc::clone(name), Some(text.to_owned()))).collect(),
                    ))
                } else {
                    let found = crate::wording::counted(record.len() as u64, "field");
                    Err(format!("{found} where the header names {}", columns.len()))
                };
                (line, row)
            }
            Err(error) => {
                (error.position().map_or(0, csv::Position::line), Err("it is not UTF-8".to_owned()))
            }
        };
        take(line, row);
    }
    Ok(())
}

fn json_lines(text: &[u8], take: &mut Take<'_>) {
    for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if !text.iter().all(u8::is_ascii_whitespace) {
            take(line, Ok(Row::Json(text.to_vec())));
        }
    }
}

fn array(text: &[u8], take: &mut Take<'_>) -> Result<(), String> {
    let rows: Vec<&RawValue> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let (mut line, mut counted) = (1, 0);
    for row in rows {
        // A raw value is a part of the text.
        let start = row.get().as_ptr().addr().saturating_sub(text.as_ptr().addr());
        let between = text.get(counted..start).unwrap_or_default();
        line += between.iter().filter(|byte| **byte == b'\n').count() as u64;
        counted = start;
        take(line, Ok(Row::Json(row.get().as_bytes().to_vec())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, format: Format, expected: &[&str]) {
        let mut found = Vec::new();
        let result = each(text.as_bytes(), format, &mut |line, row| {
            found.push(match row {
                Ok(Row::Json(bytes)) => format!("{line} {}", String::from_utf8(bytes).unwrap()),
                Ok(Row::Fields(fields)) => {
                    let fields =
                        fields.iter().map(|(name, text)| format!("{name}={}", text.as_deref().unwrap()));
                    format!("{line} {}", fields.collect::<Vec<_>>().join(" "))
                }
                Err(why) => format!("{line} bad: {why}"),
            });
        });
        if let Err(why) = result {
            found.push(format!("all: {why}"));
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn csv_has_columns() {
        check(
            "a,b\n1,\"x\ny\"\n2\n3,z\n",
            Format::Csv,
            &["2 a=1 b=x\ny", "4 bad: 1 field where the header names 2", "5 a=3 b=z"],
        );
        check("", Format::Csv, &["all: it is empty; the first line of a table as CSV names the columns"]);
    }

    #[test]
    fn json_is_lines_or_an_array() {
        check("{\"a\":1}\n\n {\"a\":2}", Format::Json, &["1 {\"a\":1}", "3  {\"a\":2}"]);
        check(" [\n{\"a\":1}, 7,\n\n{\"a\":\n2}]", Format::Json, &["2 {\"a\":1}", "2 7", "4 {\"a\":\n2}"]);
        check("[1,\n2", Format::Json, &["all: EOF while parsing a list at line 2 column 1"]);
        check("", Format::Json, &[]);
    }
}
