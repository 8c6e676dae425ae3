//! Splits bytes into records and records into batches.
//!
//! Borders of batches depend on the bytes alone, so that several workers divide the same input in the same
//! way at every run; only a live input (a pipe) is cut where it pauses. A record that is too long, or a quote
//! that is never closed, costs that record and not its neighbors.

use std::io::{self, BufRead, BufReader, Read};

use streams_core::batch::{RawBatch, RawRecord};

use super::{BATCH_BYTES, BATCH_RECORDS, MAX_RECORD_BYTES, Position};
use crate::codec::decode::{TOO_LONG, split_fields};
use crate::format::Format;

/// How much of a record that is too long is kept to be shown.
const KEPT_BYTES: usize = 1024;

/// How much is read at once.
const READ_BYTES: usize = 256 << 10;

/// A source as a sequence of batches.
pub(crate) struct Splitter {
    input: BufReader<Box<dyn Read + Send>>,
    /// Read and handed back: looked at before the input.
    again: io::Cursor<Vec<u8>>,
    format: Format,
    live: bool,
    max_record: usize,
    position: Position,
}

impl std::fmt::Debug for Splitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Splitter").field("position", &self.position).finish_non_exhaustive()
    }
}

impl Splitter {
    /// Splits `input`, whose first byte stands at `position`.
    pub(crate) fn new(input: Box<dyn Read + Send>, format: Format, live: bool, position: Position) -> Self {
        Self {
            input: BufReader::with_capacity(READ_BYTES, input),
            again: io::Cursor::default(),
            format,
            live,
            max_record: MAX_RECORD_BYTES,
            position,
        }
    }

    /// Where the next record begins.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Fills `batch` with the next records; none when the input has ended.
    pub(crate) fn next(&mut self, batch: &mut RawBatch) -> io::Result<()> {
        batch.bytes.clear();
        batch.records.clear();
        while batch.records.len() < BATCH_RECORDS && batch.bytes.len() < BATCH_BYTES {
            let Some(record) = self.record(&mut batch.bytes)? else { break };
            if self.format == Format::Lines || record.start < record.end {
                batch.records.push(record);
            }
            let paused = self.input.buffer().is_empty() && self.again.fill_buf()?.is_empty();
            if self.live && paused && !batch.records.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Takes the header line of a CSV input.
    pub(crate) fn header(&mut self) -> io::Result<Option<csv::StringRecord>> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let Some(record) = self.record(&mut bytes)? else { return Ok(None) };
            let text = bytes.get(record.start as usize..record.end as usize).unwrap_or_default();
            if text.is_empty() {
                continue;
            }
            let wrong =
                |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("its header line: {what}"));
            let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
            let mut fields = csv::StringRecord::new();
            split_fields(text, &mut fields, &mut String::new()).map_err(wrong)?;
            fields.trim();
            return Ok(Some(fields));
        }
    }

    /// Appends the next record to `bytes`.
    fn record(&mut self, bytes: &mut Vec<u8>) -> io::Result<Option<RawRecord>> {
        let begin = bytes.len();
        let at = self.position;
        let mut quote = Quote::Start;
        let mut first_line_end = None;
        let too_long = loop {
            let line_start = bytes.len();
            let read = self.line(bytes, begin)?;
            let line = bytes.get(line_start..).unwrap_or_default();
            self.position.offset += read as u64;
            let complete = line.ends_with(b"\n");
            if read > 0 && (complete || line_start == begin) {
                self.position.line += 1;
            }
            if self.format == Format::Csv {
                quote = quote.after(line);
            }
            if !complete && bytes.len() - begin > self.max_record {
                break true;
            }
            if quote != Quote::Open || read == 0 || !complete {
                break false;
            }
            first_line_end.get_or_insert(bytes.len());
        };
        if bytes.len() == begin {
            return Ok(None);
        }
        if let (Quote::Open, Some(end)) = (quote, first_line_end) {
            // The quote is never closed: only the line that opened it is bad.
            self.hand_back(bytes.split_off(end), at, (end - begin) as u64);
        } else if too_long {
            self.skip_line()?;
            let shown = bytes.get(begin..begin + KEPT_BYTES).unwrap_or_default().to_vec();
            bytes.truncate(begin);
            bytes.extend_from_slice(TOO_LONG);
            bytes.extend_from_slice(&shown);
        }
        let mut record = bytes.get(begin..).unwrap_or_default();
        let mut start = begin;
        if at.offset == 0 && record.starts_with(b"\xef\xbb\xbf") {
            start += 3;
        }
        if !too_long {
            record = record.strip_suffix(b"\n").unwrap_or(record);
            record = record.strip_suffix(b"\r").unwrap_or(record);
        }
        let end = begin + record.len();
        let narrow = |at: usize| u32::try_from(at).expect("a batch is far smaller than 4 GiB");
        Ok(Some(RawRecord {
            start: narrow(start.min(end)),
            end: narrow(end),
            line: at.line,
            offset: at.offset,
        }))
    }

    /// Appends one line with its end, or its beginning when the record would become too long.
    fn line(&mut self, bytes: &mut Vec<u8>, begin: usize) -> io::Result<usize> {
        let left = (self.max_record + 1).saturating_sub(bytes.len() - begin) as u64;
        let mut read = self.again.by_ref().take(left).read_until(b'\n', bytes)?;
        if !(read > 0 && bytes.ends_with(b"\n")) {
            let left = left - read as u64;
            read += self.input.by_ref().take(left).read_until(b'\n', bytes)?;
        }
        Ok(read)
    }

    fn skip_line(&mut self) -> io::Result<()> {
        let mut skipped = Vec::new();
        loop {
            skipped.clear();
            let mut read = self.again.by_ref().take(READ_BYTES as u64).read_until(b'\n', &mut skipped)?;
            if read == 0 {
                read = self.input.by_ref().take(READ_BYTES as u64).read_until(b'\n', &mut skipped)?;
            }
            self.position.offset += read as u64;
            if read == 0 || skipped.ends_with(b"\n") {
                return Ok(());
            }
        }
    }

    /// Puts bytes back in front of the input; `kept` bytes of the record that began at `at` stay taken.
    fn hand_back(&mut self, mut taken: Vec<u8>, at: Position, kept: u64) {
        let left = usize::try_from(self.again.position()).unwrap_or(usize::MAX);
        taken.extend_from_slice(self.again.get_ref().get(left..).unwrap_or_default());
        self.again = io::Cursor::new(taken);
        self.position = Position { offset: at.offset + kept, line: at.line + 1 };
    }
}

/// Whether a record of CSV goes on behind a line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    /// At the start of a field.
    Start,
    /// In a field that does not begin with a quote.
    Plain,
    /// Between quotes.
    Open,
    /// Behind a quote between quotes: the end, or the first of two that stand for one.
    Closing,
}

impl Quote {
    fn after(self, line: &[u8]) -> Self {
        line.iter().fold(self, |state, byte| match (state, byte) {
            (Self::Open, b'"') => Self::Closing,
            (Self::Open, _) | (Self::Start | Self::Closing, b'"') => Self::Open,
            (_, b',') => Self::Start,
            _ => Self::Plain,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splitter(bytes: &[u8], format: Format) -> Splitter {
        Splitter::new(Box::new(io::Cursor::new(bytes.to_vec())), format, false, Position::START)
    }

    #[track_caller]
    fn check(format: Format, bytes: &[u8], expect: &[(u64, u64, &str)]) {
        let mut splitter = splitter(bytes, format);
        splitter.max_record = 40;
        let mut batch = RawBatch::default();
        let mut found = Vec::new();
        loop {
            splitter.next(&mut batch).unwrap();
            if batch.records.is_empty() {
                break;
            }
            for record in &batch.records {
                let text = String::from_utf8_lossy(batch.slice(record)).into_owned();
                found.push((record.line, record.offset, text));
            }
        }
        let found: Vec<_> =
            found.iter().map(|(line, offset, text)| (*line, *offset, text.as_str())).collect();
        assert_eq!(found, expect);
        assert_eq!(splitter.position().offset, bytes.len() as u64);
    }

    #[test]
    fn lines() {
        check(Format::Lines, b"a\n\r\nb\r\nc", &[(1, 0, "a"), (2, 2, ""), (3, 4, "b"), (4, 7, "c")]);
        check(Format::Json, b"a\n\n\r\nb\n", &[(1, 0, "a"), (4, 5, "b")]);
        check(Format::Json, b"", &[]);
        check(Format::Json, b"\xef\xbb\xbfa\nb", &[(1, 0, "a"), (2, 5, "b")]);
    }

    #[test]
    fn quotes() {
        check(Format::Csv, b"a,\"b\nc\",d\ne\n", &[(1, 0, "a,\"b\nc\",d"), (3, 10, "e")]);
        check(Format::Csv, b"a\"b\nc\n", &[(1, 0, "a\"b"), (2, 4, "c")]);
        check(Format::Csv, b"\"a\"\"\nb\",1\nc\n", &[(1, 0, "\"a\"\"\nb\",1"), (3, 10, "c")]);
        // A quote that is never closed costs its own line only.
        check(Format::Csv, b"a,\"b\nc,d\ne\n", &[(1, 0, "a,\"b"), (2, 5, "c,d"), (3, 9, "e")]);
    }

    #[test]
    fn too_long() {
        let mut long = vec![b'x'; 3_000_000];
        long.push(b'\n');
        let mut bytes = b"a\n".to_vec();
        bytes.extend_from_slice(&long);
        bytes.extend_from_slice(b"b\n");
        let mut splitter = splitter(&bytes, Format::Lines);
        splitter.max_record = 2_000;
        let mut batch = RawBatch::default();
        splitter.next(&mut batch).unwrap();
        let [a, long, b] = batch.records.as_slice() else { panic!("three records") };
        assert_eq!(batch.slice(a), b"a");
        assert!(batch.slice(long).starts_with(TOO_LONG) && batch.slice(long).len() < 2_000);
        assert_eq!(batch.slice(b), b"b");
        assert_eq!((b.line, b.offset), (3, 3_000_003));
    }

    #[test]
    fn batches_are_cut_by_count_and_size() {
        let mut batch = RawBatch::default();
        let mut by_count = splitter(&b"x\n".repeat(1500), Format::Lines);
        by_count.next(&mut batch).unwrap();
        assert_eq!(batch.records.len(), BATCH_RECORDS);
        by_count.next(&mut batch).unwrap();
        assert_eq!(batch.records.len(), 1500 - BATCH_RECORDS);
        let mut line = vec![b'y'; 400_000];
        line.push(b'\n');
        let mut by_size = splitter(&line.repeat(5), Format::Lines);
        by_size.next(&mut batch).unwrap();
        assert_eq!(batch.records.len(), 3);
    }

    #[test]
    fn headers() {
        let mut csv = splitter(b"\xef\xbb\xbfhost, bytes\n1,2\n", Format::Csv);
        assert_eq!(csv.header().unwrap().unwrap(), vec!["host", "bytes"]);
        assert_eq!(csv.position(), Position { offset: 15, line: 2 });
    }
}
