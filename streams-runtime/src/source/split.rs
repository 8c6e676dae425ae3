//! Splits bytes into records and records into batches.
//!
//! Borders of batches depend on the bytes alone, so that several workers divide the same input in the same
//! way at every run; only a live input (a pipe) is cut where it pauses. A record that is too long, or a quote
//! that is not closed within the length that a record may have, costs its own line and not its neighbors, in
//! time linear in the bytes whatever quotes there are.
//!
//! The first end of the input is final: what is appended afterwards is left to the next run, so that a line
//! never becomes two records because it was written in two pieces.

use std::io::{self, BufRead, Read};

use streams_core::batch::{RawBatch, RawRecord};
use streams_core::time::UNTIMED;

use super::{BATCH_BYTES, BATCH_RECORDS, MAX_RECORD_BYTES, Position};
use crate::codec::decode::{TOO_LONG, split_fields};
use crate::format::Format;

/// How much of a record that is too long is kept to be shown.
const KEPT_BYTES: usize = 1024;

/// How much is read at once.
const READ_BYTES: usize = 256 << 10;

/// A byte order mark, which some programs put in front of text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a look at the input has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// At least one record.
    Records,
    /// The end of the input, and no record in front of it.
    End,
}

/// What is done with a last line that has no line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// It is a record like any other.
    Taken,
    /// It is a record only if nothing could be appended that makes another record of it; otherwise it stays
    /// unread, for a run that finds the whole of it.
    LeftUnlessWhole,
}

/// A source as a sequence of batches.
pub(crate) struct Splitter {
    input: Box<dyn Read + Send>,
    /// Bytes that were read; those in front of `at` have been taken.
    ahead: Vec<u8>,
    at: usize,
    /// The input has no more bytes.
    exhausted: bool,
    /// Nothing more is taken.
    ended: bool,
    /// Up to where no quote is closed that was opened on a line that ends in front of it.
    unclosed: (u64, Quote),
    last_line: LastLine,
    /// Bytes of a last line that was left.
    unread: u64,
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
            input,
            ahead: Vec::new(),
            at: 0,
            exhausted: false,
            ended: false,
            unclosed: (0, Quote::Open),
            last_line: LastLine::Taken,
            unread: 0,
            format,
            live,
            max_record: MAX_RECORD_BYTES,
            position,
        }
    }

    /// What becomes of a last line without a line end; without this call it is taken.
    pub(crate) fn with_last_line(self, last_line: LastLine) -> Self {
        Self { last_line, ..self }
    }

    /// Where the next record begins.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Bytes of a last line that was left, behind the position.
    pub(crate) fn unread(&self) -> u64 {
        self.unread
    }

    /// Fills `batch` with the next records.
    pub(crate) fn next(&mut self, batch: &mut RawBatch) -> io::Result<Found> {
        batch.bytes.clear();
        batch.records.clear();
        while batch.records.len() < BATCH_RECORDS && batch.bytes.len() < BATCH_BYTES {
            let before = batch.bytes.len();
            let Some(record) = self.record(&mut batch.bytes)? else { break };
            if self.format == Format::Lines || record.start < record.end {
                batch.records.push(record);
            } else {
                // However many blank lines there are, they fill no batch.
                batch.bytes.truncate(before);
            }
            let paused = self.at == self.ahead.len();
            if self.live && paused && !batch.records.is_empty() {
                break;
            }
        }
        Ok(if batch.records.is_empty() { Found::End } else { Found::Records })
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
            return Ok(Some(fields));
        }
    }

    /// Appends the next record to `bytes`; none at the end.
    fn record(&mut self, bytes: &mut Vec<u8>) -> io::Result<Option<RawRecord>> {
        if self.ended {
            return Ok(None);
        }
        let (begin, at) = (bytes.len(), self.position);
        let mut taken = self.line(bytes, self.max_record + 1)?;
        if taken == 0 {
            self.ended = true;
            return Ok(None);
        }
        let line = bytes.get(begin..).unwrap_or_default();
        let mut whole = line.ends_with(b"\n");
        let too_long = !whole && taken > self.max_record;
        let line = if at.offset == 0 { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        let mut lines = 1;
        if whole && self.format == Format::Csv && Quote::Start.after(line) == Quote::Open {
            let more = self.until_closed(at.offset + taken as u64, at.offset + self.max_record as u64)?;
            let more = self.ahead.get(self.at..self.at + more).unwrap_or_default();
            if !more.is_empty() {
                bytes.extend_from_slice(more);
                whole = more.ends_with(b"\n");
                lines += more.iter().filter(|byte| **byte == b'\n').count() as u64 + u64::from(!whole);
                taken += more.len();
                self.at += more.len();
            }
        }
        if too_long {
            let (skipped, ended_by_line_end) = self.skip_line()?;
            (taken, whole) = (taken + skipped, ended_by_line_end);
            bytes.truncate(begin + KEPT_BYTES.min(self.max_record));
            drop(bytes.splice(begin..begin, TOO_LONG.iter().copied()));
        }
        if !whole {
            self.ended = true;
            let record = bytes.get(begin..).unwrap_or_default();
            if self.last_line == LastLine::LeftUnlessWhole && !self.is_complete(record) {
                self.unread = taken as u64;
                bytes.truncate(begin);
                return Ok(None);
            }
        }
        self.position = Position { offset: at.offset + taken as u64, line: at.line + lines };
        let mut record = bytes.get(begin..).unwrap_or_default();
        let start = begin + if at.offset == 0 && record.starts_with(BOM) { BOM.len() } else { 0 };
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
            stored_ms: UNTIMED,
        }))
    }

    /// Whether a line is a record of its own whatever is appended to it. JSON says where a value ends, unless it
    /// is a number; a plain line or a row of CSV is over at its line end only.
    fn is_complete(&self, record: &[u8]) -> bool {
        let text = record.strip_prefix(BOM).unwrap_or(record);
        self.format == Format::Json
            && !text.trim_ascii_end().last().is_some_and(u8::is_ascii_digit)
            && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
    }

    /// Reads more behind what is there; `false` when there is no more.
    fn fill(&mut self) -> io::Result<bool> {
        if self.exhausted {
            return Ok(false);
        }
        if self.at == self.ahead.len() || self.at >= self.ahead.len() / 2 {
            self.ahead.drain(..self.at);
            self.at = 0;
        }
        let end = self.ahead.len();
        self.ahead.resize(end + READ_BYTES, 0);
        let read = loop {
            match self.input.read(self.ahead.get_mut(end..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.ahead.truncate(end + *read.as_ref().unwrap_or(&0));
        self.exhausted = read? == 0;
        Ok(!self.exhausted)
    }

    /// Appends one line with its end, or as much of it as `most` bytes hold.
    fn line(&mut self, bytes: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let mut taken = 0;
        loop {
            let rest = self.ahead.get(self.at..).unwrap_or_default();
            let read = rest.take((most - taken) as u64).read_until(b'\n', bytes)?;
            self.at += read;
            taken += read;
            if taken == most || (read > 0 && bytes.ends_with(b"\n")) || !self.fill()? {
                return Ok(taken);
            }
        }
    }

    /// The bytes behind `here` that belong to a record whose first line ends there within quotes, if these are
    /// closed on a line that ends at most at `limit`; 0 if not. They are ahead then.
    fn until_closed(&mut self, here: u64, limit: u64) -> io::Result<usize> {
        // Between quotes lines do not matter, so what was found for an earlier line holds for this one.
        if self.unclosed.0 < here {
            self.unclosed = (here, Quote::Open);
        }
        loop {
            let (from, mut quote) = self.unclosed;
            let begun = usize::try_from(from - here).unwrap_or(usize::MAX);
            let left = usize::try_from(limit.saturating_sub(from)).unwrap_or(usize::MAX);
            let known = self.ahead.get(self.at..).and_then(|ahead| ahead.get(begun..)).unwrap_or_default();
            let mut looked = 0;
            for byte in known.iter().take(left) {
                quote = quote.then(*byte);
                looked += 1;
                if *byte == b'\n' && quote != Quote::Open {
                    return Ok(begun + looked);
                }
            }
            self.unclosed = (from + looked as u64, quote);
            if looked == left {
                return Ok(0);
            }
            if !self.fill()? {
                return Ok(if quote == Quote::Open { 0 } else { begun + looked });
            }
        }
    }

    /// Takes the rest of a line that is not kept: its length, and whether it had a line end.
    fn skip_line(&mut self) -> io::Result<(usize, bool)> {
        let (mut skipped, mut piece) = (0, Vec::new());
        loop {
            piece.clear();
            let read = self.line(&mut piece, READ_BYTES)?;
            skipped += read;
            if read == 0 || piece.ends_with(b"\n") {
                return Ok((skipped, read > 0));
            }
        }
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
    fn then(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Open, b'"') => Self::Closing,
            (Self::Open, _) | (Self::Start | Self::Closing, b'"') => Self::Open,
            (_, b',') => Self::Start,
            _ => Self::Plain,
        }
    }

    fn after(self, line: &[u8]) -> Self {
        line.iter().fold(self, |state, byte| state.then(*byte))
    }
}

#[cfg(test)]
mod tests;
