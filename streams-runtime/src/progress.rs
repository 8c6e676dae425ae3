//! One line on a terminal that tells how far a run is. Without a terminal there is none.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::wording::{bytes, elapsed, grouped, utc};

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(200);

/// The line.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: bool,
    started: Instant,
    drawn: Option<Instant>,
    visible: bool,
    records_before: u64,
    bytes_before: u64,
}

/// Where people see the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    OnTerminal,
    Elsewhere,
}

/// What it shows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sight {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) total_bytes: Option<u64>,
    pub(crate) watermark_ms: Option<i64>,
}

impl Progress {
    /// Begins at what earlier runs have done. Where results appear on a terminal they are progress enough.
    pub(crate) fn start(records_before: u64, bytes_before: u64, results: Results) -> Self {
        Self {
            terminal: results == Results::Elsewhere && std::io::stderr().is_terminal(),
            started: Instant::now(),
            drawn: None,
            visible: false,
            records_before,
            bytes_before,
        }
    }

    /// Whether it is time to draw.
    pub(crate) fn is_due(&self) -> bool {
        self.terminal && self.drawn.unwrap_or(self.started).elapsed() >= INTERVAL
    }

    /// Draws the line.
    pub(crate) fn draw(&mut self, sight: &Sight) {
        self.drawn = Some(Instant::now());
        self.visible = true;
        let text = line(sight, self.started.elapsed(), self.records_before, self.bytes_before);
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K{text}");
    }

    /// Writes a line of text, above the progress where that is visible.
    pub(crate) fn say(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.visible) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn line(sight: &Sight, time: Duration, records_before: u64, bytes_before: u64) -> String {
    let secs = time.as_secs_f64().max(0.001);
    let rate = sight.records.saturating_sub(records_before) as f64 / secs;
    let mut text = bytes(sight.bytes);
    if let Some(total) = sight.total_bytes {
        let percent = if total == 0 { 100.0 } else { sight.bytes as f64 * 100.0 / total as f64 };
        text.push_str(&format!(" of {} ({percent:.0} %)", bytes(total)));
    }
    text.push_str(&format!("  {} records/s", grouped(rate as u64)));
    if let Some(ms) = sight.watermark_ms {
        text.push_str(&format!("  watermark {}", utc(ms)));
    }
    let read = sight.bytes.saturating_sub(bytes_before);
    if let Some(left) =
        sight.total_bytes.and_then(|total| total.checked_sub(sight.bytes)).filter(|_| read > 0)
    {
        let seconds = (left as f64 / (read as f64 / secs)).ceil() as u64;
        let left = if seconds < 60 { format!("{seconds} s") } else { elapsed(Duration::from_secs(seconds)) };
        text.push_str(&format!("  {left} left"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let sight = Sight {
            records: 3_000,
            bytes: 1 << 20,
            total_bytes: Some(4 << 20),
            watermark_ms: Some(1_431_857_103_000),
        };
        assert_eq!(
            line(&sight, Duration::from_secs(2), 1_000, 0),
            "1.00 MiB of 4.00 MiB (25 %)  1,000 records/s  watermark 2015-05-17T10:05:03Z  6 s left"
        );
        let live = Sight { records: 10, bytes: 100, ..Sight::default() };
        assert_eq!(line(&live, Duration::from_secs(1), 0, 0), "100 B  10 records/s");
    }
}
