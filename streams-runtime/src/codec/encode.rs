//! From results to bytes, gathered until the machine is drained.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use streams_core::effects::OutputBatch;
use streams_core::ports::Sink;

use super::Shapes;
use crate::format::Format;

/// Encodes one output port. The header of a CSV file is no part of what it hands over: of several machines
/// only the writer knows which row is the first.
pub(crate) struct TextSink<T> {
    format: Format,
    shapes: Arc<Shapes>,
    port: usize,
    bytes: Vec<u8>,
    csv: Option<csv::Writer<Vec<u8>>>,
    records: u64,
    error: Option<String>,
    _type: PhantomData<fn(T)>,
}

impl<T> std::fmt::Debug for TextSink<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextSink")
            .field("format", &self.format)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl<T: Serialize + 'static> TextSink<T> {
    pub(crate) fn new(format: Format, shapes: Arc<Shapes>, port: usize) -> Self {
        Self {
            format,
            shapes,
            port,
            bytes: Vec::new(),
            csv: None,
            records: 0,
            error: None,
            _type: PhantomData,
        }
    }

    fn encode(&mut self, value: &T) -> Result<(), String> {
        match self.format {
            Format::Json => {
                let start = self.bytes.len();
                if let Err(error) = serde_json::to_writer(&mut self.bytes, value) {
                    self.bytes.truncate(start);
                    return Err(error.to_string());
                }
                self.bytes.push(b'\n');
                Ok(())
            }
            Format::Lines => line(value, &mut self.bytes),
            Format::Csv => {
                let header = &self.shapes.output(self.port).header;
                if header.get().is_none() {
                    let _ = header.set(csv_header(value).map_err(|error| csv_error(&error))?);
                }
                let writer = self.csv.get_or_insert_with(|| csv_writer(false));
                writer.serialize(value).map_err(|error| csv_error(&error))
            }
        }
    }
}

impl<T: Serialize + Send + 'static> Sink<T> for TextSink<T> {
    #[inline]
    fn accept(&mut self, _ts: i64, value: T) {
        self.records += 1;
        if let Err(error) = self.encode(&value) {
            self.error.get_or_insert(error);
        }
    }

    fn drain(&mut self, out: &mut OutputBatch) {
        if let Some(writer) = self.csv.take() {
            match writer.into_inner() {
                Ok(bytes) => self.bytes.extend_from_slice(&bytes),
                Err(error) => {
                    self.error.get_or_insert(error.to_string());
                }
            }
        }
        if out.bytes.is_empty() {
            std::mem::swap(&mut out.bytes, &mut self.bytes);
        } else {
            out.bytes.append(&mut self.bytes);
        }
        out.records += std::mem::take(&mut self.records);
        if out.error.is_none() {
            out.error = self.error.take();
        }
    }
}

fn csv_writer(with_header: bool) -> csv::Writer<Vec<u8>> {
    csv::WriterBuilder::new().has_headers(with_header).from_writer(Vec::new())
}

/// The header line is what a row with a header has in front of the row.
fn csv_header<T: Serialize>(value: &T) -> Result<Vec<u8>, csv::Error> {
    let bytes = |with_header: bool| -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv_writer(with_header);
        writer.serialize(value)?;
        writer.into_inner().map_err(|error| error.into_error().into())
    };
    let (mut both, row) = (bytes(true)?, bytes(false)?);
    both.truncate(both.len() - row.len());
    Ok(both)
}

fn csv_error(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Serialize(what) => format!("it has no CSV form: {what}; use `?format=json`"),
        _ => error.to_string(),
    }
}

fn line<T: Serialize + 'static>(value: &T, bytes: &mut Vec<u8>) -> Result<(), String> {
    if let Some(text) = (value as &dyn Any).downcast_ref::<String>() {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'\n');
        return Ok(());
    }
    match serde_json::to_value(value).map_err(|error| error.to_string())? {
        serde_json::Value::String(text) => bytes.extend_from_slice(text.as_bytes()),
        serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
            return Err(
                "a record with fields is no plain line; use `?format=json` or `?format=csv`".to_owned()
            );
        }
        scalar => bytes.extend_from_slice(scalar.to_string().as_bytes()),
    }
    bytes.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;

    #[derive(Serialize)]
    struct Total {
        host: &'static str,
        total: u64,
    }

    #[track_caller]
    fn check<T: Serialize + Send + 'static>(format: Format, values: Vec<T>, expect: &str) -> Arc<Shapes> {
        let shapes = Shapes::new(&[], &[Url::print()]);
        let mut sink = TextSink::new(format, Arc::clone(&shapes), 0);
        for value in values {
            sink.accept(0, value);
        }
        let mut out = OutputBatch::default();
        sink.drain(&mut out);
        let shown = out.error.unwrap_or_else(|| String::from_utf8(out.bytes).unwrap());
        assert_eq!(shown, expect);
        shapes
    }

    #[test]
    fn formats() {
        let rows = || vec![Total { host: "a,b", total: 1 }, Total { host: "c", total: 2 }];
        check(Format::Json, rows(), "{\"host\":\"a,b\",\"total\":1}\n{\"host\":\"c\",\"total\":2}\n");
        let shapes = check(Format::Csv, rows(), "\"a,b\",1\nc,2\n");
        assert_eq!(shapes.output(0).header.get().unwrap(), b"host,total\n");
        check(
            Format::Lines,
            rows(),
            "a record with fields is no plain line; use `?format=json` or `?format=csv`",
        );
        check(Format::Lines, vec!["a".to_owned()], "a\n");
        check(Format::Lines, vec![3, 4], "3\n4\n");
        check(Format::Csv, vec![vec![vec![1]]], "1\n");
    }
}
