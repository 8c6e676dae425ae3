//! Positions in files: by byte, and for people by line.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use streams_core::batch::RawBatch;
use streams_core::store::{Delta, Store};

use super::{Source, impossible};
use crate::cli::upkeep::{Reset, ResetTo};
use crate::error::Error;
use crate::format::Format;
use crate::snapshot::{Snapshot, SourceMark};
use crate::source::Position;
use crate::source::file::tail_hash;
use crate::source::split::{Found, LastLine, Splitter};
use crate::wording::counted;

/// How far each file was read.
pub(super) fn sources(snapshot: &Snapshot) -> Vec<Source> {
    let one = |mark: &SourceMark| {
        let length =
            mark.path.as_deref().and_then(|path| std::fs::metadata(path).ok()).map(|file| file.len());
        Source {
            input: mark.port.clone(),
            place: mark.path.clone().unwrap_or_else(|| "standard input".to_owned()),
            offset: mark.offset,
            line: Some(mark.line),
            behind: length.map(|length| length.saturating_sub(mark.offset)),
            commits: None,
            note: match (length, mark.ended) {
                (None, _) => "is not there",
                (Some(_), true) => "read to its end",
                (Some(_), false) => "",
            },
        }
    };
    snapshot.sources.iter().map(one).collect()
}

/// Moves the inputs that are meant, in one commit.
pub(super) fn reset(snapshot: &mut Snapshot, store: &mut dyn Store, reset: &Reset) -> Result<(), Error> {
    let mut moved = snapshot.clone();
    let is_meant = |mark: &&mut SourceMark| reset.input.as_deref().is_none_or(|input| mark.port == input);
    for mark in moved.sources.iter_mut().filter(is_meant) {
        let Some(path) = mark.path.clone() else {
            return Err(impossible("standard input", reset.to, "cannot be read again"));
        };
        let format = if mark.columns.is_some() { Format::Csv } else { Format::Lines };
        let failed = |error: std::io::Error| Error::source(format!("cannot read {path}: {error}"));
        let position = find(Path::new(&path), format, reset.to)?;
        if (position.offset, position.line) == (mark.offset, mark.line) {
            continue;
        }
        mark.tail = tail_hash(Path::new(&path), position.offset).map_err(failed)?;
        (mark.offset, mark.line) = (position.offset, position.line);
        (mark.ended, mark.unread) = (false, 0);
    }
    if moved != *snapshot {
        moved.id += 1;
        moved.committed_ms = Some(crate::clock::now_ms());
        let mut delta = Delta::new();
        moved.save(&mut delta)?;
        store.commit(&delta).map_err(Error::state)?;
        *snapshot = moved;
    }
    Ok(())
}

fn find(path: &Path, format: Format, to: ResetTo) -> Result<Position, Error> {
    let shown = path.display().to_string();
    let wanted = match to {
        ResetTo::Earliest => return Ok(Position::START),
        ResetTo::Latest => u64::MAX,
        ResetTo::Time(_) => {
            return Err(impossible(
                &shown,
                to,
                "is a file, which has no times; give earliest, latest or a line",
            ));
        }
        ResetTo::Number(0) => return Err(impossible(&shown, to, "begins with line 1")),
        ResetTo::Number(line) => line,
    };
    let failed = |error: std::io::Error| Error::source(format!("cannot read {shown}: {error}"));
    let file = File::open(path).map_err(failed)?;
    // A last line that may still grow is left for the run that finds the whole of it.
    let splitter = Splitter::new(Box::new(BufReader::new(file)), format, false, Position::START);
    let mut splitter = splitter.with_last_line(LastLine::LeftUnlessWhole);
    let mut batch = RawBatch::default();
    loop {
        let found = splitter.next(&mut batch).map_err(failed)?;
        if let Some(record) = batch.records.iter().find(|record| record.line >= wanted) {
            return Ok(Position { offset: record.offset, line: record.line });
        }
        if found == Found::End {
            break;
        }
    }
    let end = splitter.position();
    if to != ResetTo::Latest && end.line != wanted {
        let lines = counted(end.line.saturating_sub(1), "line");
        return Err(impossible(&shown, to, &format!("has {lines}")));
    }
    Ok(end)
}
