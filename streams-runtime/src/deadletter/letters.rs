//! Dead letters of a run on topics: a line with topic, queue, offset and error for each record that failed. They are
//! written at least once: they are on the disk before the commit that counts them, and behind a crash those since the
//! last commit come again.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use streams_core::protocol::worker::Rejected;

use super::{OnBad, SHOWN, base64};
use crate::error::Error;
use crate::run::note;
use crate::wording::excerpt;

/// Takes care of records that failed.
#[derive(Debug)]
pub(crate) struct Letters {
    on_bad: OnBad,
    file: Option<(String, BufWriter<Arc<File>>)>,
    /// How many letters have been written, and how many of them are known to be on the disk.
    written: u64,
    synced: Arc<AtomicU64>,
    shown: u64,
}

/// One line of the file.
#[derive(Debug, Serialize)]
struct Letter<'a> {
    topic: &'a str,
    queue: &'a str,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_base64: Option<String>,
    operator: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    error: &'a str,
}

impl Letters {
    /// Letters are put behind those that the file has.
    pub(crate) fn open(on_bad: OnBad, path: Option<&Path>) -> Result<Self, Error> {
        let file = path.map(|path| {
            let shown = path.display().to_string();
            let file = OpenOptions::new().append(true).create(true).open(path);
            let file =
                file.map_err(|error| Error::usage(format!("--dead-letter: cannot write {shown}: {error}")));
            file.map(|file| (shown, BufWriter::new(Arc::new(file))))
        });
        Ok(Self { on_bad, file: file.transpose()?, written: 0, synced: Arc::default(), shown: 0 })
    }

    /// Whether failed records are only counted, because that was asked for.
    pub(crate) fn skips(&self) -> bool {
        self.on_bad == OnBad::Skip
    }

    /// Takes one.
    pub(crate) fn take(&mut self, topic: &str, queue: &str, rejected: &Rejected) -> Result<(), Error> {
        if self.skips() {
            return Ok(());
        }
        let Rejected { offset, reject, raw } = rejected;
        let text = raw.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        let Some((path, file)) = &mut self.file else {
            self.shown += 1;
            if self.shown <= SHOWN {
                let shown = raw.as_deref().map(|bytes| excerpt(bytes, 80)).unwrap_or_default();
                let operator = reject.operator;
                note(&format!(
                    "bad record: queue {queue} of topic `{topic}`, offset {offset}: `{operator}`: {}: {shown}",
                    reject.error
                ));
            }
            if self.shown == SHOWN {
                note("further bad records are only counted; keep them with --dead-letter file:PATH");
            }
            return Ok(());
        };
        let letter = Letter {
            topic,
            queue,
            offset: *offset,
            raw: text,
            raw_base64: raw.as_deref().filter(|_| text.is_none()).map(base64),
            operator: reject.operator,
            value: reject.value.as_deref().filter(|_| raw.is_none()),
            key: reject.key.as_deref(),
            error: &reject.error,
        };
        let mut line = serde_json::to_vec(&letter)
            .expect("a letter is made of texts and numbers, which have a JSON form");
        line.push(b'\n');
        file.write_all(&line).map_err(|error| failed(path, &error))?;
        self.written += 1;
        Ok(())
    }

    /// Everything taken so far is in the file, and on the disk when that has been waited for.
    pub(crate) fn unsynced(&mut self) -> Result<Unsynced, Error> {
        let Some((path, file)) = &mut self.file else { return Ok(Unsynced(None)) };
        file.flush().map_err(|error| failed(path, &error))?;
        let is_dirty = self.written > self.synced.load(Ordering::SeqCst);
        let letters = || {
            let (file, synced) = (Arc::clone(file.get_ref()), Arc::clone(&self.synced));
            Written { path: path.clone(), file, n: self.written, synced }
        };
        Ok(Unsynced(is_dirty.then(letters)))
    }
}

/// Letters that may not be on the disk yet.
#[derive(Debug)]
pub(crate) struct Unsynced(Option<Written>);

#[derive(Debug)]
struct Written {
    path: String,
    file: Arc<File>,
    /// So many have been written.
    n: u64,
    synced: Arc<AtomicU64>,
}

impl Unsynced {
    /// Waits for the disk.
    pub(crate) async fn sync(self) -> Result<(), Error> {
        let Some(Written { path, file, n, synced }) = self.0 else { return Ok(()) };
        let done = tokio::task::spawn_blocking(move || file.sync_data()).await;
        let done = done.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        done.map_err(|error| failed(&path, &error))?;
        synced.fetch_max(n, Ordering::SeqCst);
        Ok(())
    }
}

fn failed(path: &str, error: &std::io::Error) -> Error {
    Error::output(format!("cannot write dead letters to {path}: {error}; make room there, and start again"))
}
