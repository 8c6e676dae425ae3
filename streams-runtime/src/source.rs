//! Where records come from: one reader thread a port, batches whose borders depend on the input alone, and
//! the position that a snapshot keeps.
//!
//! Splitting is in [`split`], the identity of files in [`file`]. Nothing here decodes a record.

pub(crate) mod file;
mod quiet;
pub(crate) mod split;
pub(crate) mod stdin;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::time::{Duration, Instant};

use streams_core::batch::RawBatch;

use crate::error::Error;
use crate::wording::grouped;

pub(crate) use quiet::Quiet;

/// Records in a full batch.
pub(crate) const BATCH_RECORDS: usize = 1024;

/// A batch is cut behind the record that reaches this size.
pub(crate) const BATCH_BYTES: usize = 1 << 20;

/// A longer record is a bad one, so that memory stays bounded whatever a file holds.
pub(crate) const MAX_RECORD_BYTES: usize = 16 << 20;

/// Batches that a reader may be ahead of the machine.
const BATCHES_AHEAD: usize = 2;

/// How long a look at an input that has nothing yet may take, so that signals and checkpoints get their turn.
const PATIENCE: Duration = Duration::from_millis(20);

/// How far a source has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Bytes in front of the next record.
    pub(crate) offset: u64,
    /// Line of the next record, from 1.
    pub(crate) line: u64,
}

impl Position {
    /// Nothing has been read.
    pub(crate) const START: Self = Self { offset: 0, line: 1 };
}

/// A batch with the position behind it.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) batch: RawBatch,
    pub(crate) end: Position,
}

/// What a reader thread tells.
#[derive(Debug)]
pub(crate) enum Message {
    Chunk(Chunk),
    End {
        position: Position,
        /// Bytes behind the position that were left, see [`split::LastLine`].
        unread: u64,
    },
    Failed(String),
}

/// The driver's end of a reader thread.
#[derive(Debug)]
pub(crate) struct Reader {
    messages: Receiver<Message>,
    used: Sender<RawBatch>,
}

/// The reader thread's end.
#[derive(Debug)]
pub(crate) struct ReaderThread {
    messages: SyncSender<Message>,
    used: Receiver<RawBatch>,
}

/// Both ends.
pub(crate) fn reader() -> (Reader, ReaderThread) {
    let (messages, received) = sync_channel(BATCHES_AHEAD);
    let (used, empty) = channel();
    (Reader { messages: received, used }, ReaderThread { messages, used: empty })
}

impl ReaderThread {
    /// Reads to the end, or until nobody listens any more.
    pub(crate) fn run(self, mut splitter: split::Splitter) {
        loop {
            // Buffers come back from the driver, so that steady reading allocates nothing.
            let mut batch = self.used.try_recv().unwrap_or_default();
            let message = match splitter.next(&mut batch) {
                Ok(split::Found::Records) => Message::Chunk(Chunk { batch, end: splitter.position() }),
                Ok(split::Found::End) => {
                    Message::End { position: splitter.position(), unread: splitter.unread() }
                }
                Err(error) => Message::Failed(error.to_string()),
            };
            let more = matches!(message, Message::Chunk(_));
            if self.messages.send(message).is_err() || !more {
                return;
            }
        }
    }

    /// The source failed before its first record.
    pub(crate) fn fail(self, reason: String) {
        let _ = self.messages.send(Message::Failed(reason));
    }
}

/// One input port of a running job.
#[derive(Debug)]
pub(crate) struct Input {
    /// The port's name.
    pub(crate) port: &'static str,
    /// The address, as people see it.
    pub(crate) url: String,
    /// The file behind it.
    pub(crate) path: Option<PathBuf>,
    /// Size of the file when the job began.
    pub(crate) total_bytes: Option<u64>,
    /// The opened file, to look again at what was read; its path may lead to another one by now.
    pub(crate) file: Option<file::Opened>,
    /// How far the machine has been fed.
    pub(crate) position: Position,
    /// Bytes of a last line without a line end that was left, behind the end.
    pub(crate) unread: u64,
    /// Whether the machine has been told that the input has ended.
    pub(crate) ended: bool,
    /// Whether the file has grown since a state saw its end.
    pub(crate) grown: bool,
    /// Whether it may have nothing to say for a while.
    pub(crate) live: bool,
    /// How long it has had nothing.
    pub(crate) quiet: Quiet,
    pub(crate) reader: Reader,
}

impl Input {
    /// How records of this input are called in messages.
    pub(crate) fn shown(&self) -> String {
        self.path.as_ref().map_or_else(|| self.url.clone(), |path| path.display().to_string())
    }

    /// What a person should know about a last line that was left.
    pub(crate) fn left(&self) -> Option<String> {
        (self.ended && self.unread > 0).then(|| {
            format!(
                "{} line {} has no line end yet and was not read; it is read by the next run that finds it ended",
                self.shown(),
                grouped(self.position.line)
            )
        })
    }
}

/// All inputs of a running job, taken in turn.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) ports: Vec<Input>,
    /// Whose turn it is.
    pub(crate) turn: usize,
    /// What was received behind the word that its port is awake.
    pub(crate) held_back: Option<(usize, Message)>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A batch of the port with this index.
    Chunk(usize, Chunk),
    /// The port with this index has had nothing for so long that nobody waits for it any more.
    Quiet(usize),
    /// The port with this index, which was said to be quiet, has something; it comes next.
    Awake(usize),
    /// The port with this index has ended.
    End(usize),
    /// Nothing yet.
    Idle,
    /// All ports have ended.
    Done,
}

impl Inputs {
    /// Takes the next batch. The order between files is fixed: one batch each in turn, while they last. A live
    /// port that has nothing yet is passed over.
    pub(crate) fn next(&mut self) -> Result<Next, Error> {
        if let Some((index, message)) = self.held_back.take() {
            return self.received(index, message);
        }
        let n = self.ports.len();
        let open = self.ports.iter().filter(|port| !port.ended).count();
        if open == 0 {
            return Ok(Next::Done);
        }
        for step in 0..n {
            let index = (self.turn + step) % n;
            let Some(input) = self.ports.get_mut(index).filter(|port| !port.ended) else { continue };
            let received = if input.live && open > 1 {
                input.reader.messages.try_recv().map_err(|error| error == TryRecvError::Empty)
            } else {
                let waited = input.reader.messages.recv_timeout(PATIENCE);
                waited.map_err(|error| error == RecvTimeoutError::Timeout)
            };
            let message = match received {
                Ok(message) => message,
                // A file will deliver, and its turn must not be missed.
                Err(true) if !input.live => return Ok(Next::Idle),
                Err(true) if input.quiet.looked(Instant::now()) => return Ok(Next::Quiet(index)),
                Err(true) => continue,
                Err(false) => Message::Failed("its reader thread ended unexpectedly".to_owned()),
            };
            if input.quiet.heard() {
                self.held_back = Some((index, message));
                return Ok(Next::Awake(index));
            }
            return self.received(index, message);
        }
        if open > 1 {
            // Only live ports are open and none has anything; wait for one of them, then look at all again.
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(Next::Idle)
    }

    fn received(&mut self, index: usize, message: Message) -> Result<Next, Error> {
        self.turn = (index + 1) % self.ports.len();
        let Some(input) = self.ports.get_mut(index) else { return Ok(Next::Idle) };
        match message {
            Message::Chunk(chunk) => Ok(Next::Chunk(index, chunk)),
            Message::End { position, unread } => {
                input.position = position;
                input.unread = unread;
                input.ended = true;
                Ok(Next::End(index))
            }
            Message::Failed(reason) => {
                Err(Error::source(format!("cannot read {} (port `{}`): {reason}", input.shown(), input.port)))
            }
        }
    }

    /// The ports that are idle.
    pub(crate) fn idle_ports(&self) -> Vec<usize> {
        self.ports
            .iter()
            .enumerate()
            .filter(|(_, input)| input.quiet.is_idle())
            .map(|(port, _)| port)
            .collect()
    }

    /// Gives a batch's buffers back to its reader.
    pub(crate) fn recycle(&self, port: usize, batch: RawBatch) {
        if let Some(input) = self.ports.get(port) {
            let _ = input.reader.used.send(batch);
        }
    }

    /// Bytes read of the bytes there are, where all inputs are files.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        let done = self.ports.iter().map(|port| port.position.offset).sum();
        let total = self.ports.iter().map(|port| port.total_bytes).sum();
        (done, total)
    }
}
