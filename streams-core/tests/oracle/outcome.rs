//! What can be seen of a run, and how two runs differ.

use std::fmt::Write as _;

use crate::event::Event;

/// One result.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The step of the input that made it come out; the step behind the last is the end of all inputs.
    pub(crate) step: usize,
    /// Its event time.
    pub(crate) at: i64,
    pub(crate) event: Event,
}

/// Everything that a run gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Results by output port.
    pub(crate) ports: Vec<Vec<Row>>,
    pub(crate) late: u64,
    pub(crate) repeated: u64,
    pub(crate) rejects: u64,
    /// How often `inspect` looked.
    pub(crate) looks: u64,
}

/// Whether two runs must also agree on the step at which each result comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    Compared,
    Ignored,
}

impl Outcome {
    /// How many results.
    pub(crate) fn n_rows(&self) -> usize {
        self.ports.iter().map(Vec::len).sum()
    }

    /// The first difference, for a person to read.
    pub(crate) fn difference(&self, actual: &Self, steps: Steps) -> Option<String> {
        for (port, (expected, found)) in self.ports.iter().zip(&actual.ports).enumerate() {
            let same = |a: &Row, b: &Row| {
                (steps == Steps::Ignored || a.step == b.step) && a.at == b.at && a.event.same(&b.event)
            };
            if expected.len() != found.len() || !expected.iter().zip(found).all(|(a, b)| same(a, b)) {
                return Some(format!(
                    "output {port} differs\nexpected:\n{}actual:\n{}",
                    listing(expected),
                    listing(found)
                ));
            }
        }
        let counts = |outcome: &Self| {
            (outcome.ports.len(), outcome.late, outcome.repeated, outcome.rejects, outcome.looks)
        };
        let (expected, found) = (counts(self), counts(actual));
        (expected != found).then(|| {
            format!(
                "(outputs, late, repeated, rejects, looks) differ: expected {expected:?}, actual {found:?}"
            )
        })
    }
}

fn listing(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "  step {} at {} {:?}", row.step, row.at, row.event);
    }
    text
}
