//! Where the inputs of a union meet: records pass as they come, watermarks as their minimum.

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::push::{Push, System};
use crate::state::OperatorId;
use crate::time::UNTIMED;

/// The shared downstream of a union, kept in the machine's context so that every input can reach it.
///
/// **State** the watermark of each input. **Time** event time behind a union is the smallest of its inputs';
/// an input that has ended or is idle holds nothing back, and where all that have not ended are idle, so is the
/// union. Neither is state: a driver says again after `NewSplit` that an input has ended, since a bounded one may
/// have grown; and an idle one must have been quiet for its time again. An input that has ended and is active again
/// counts again.
#[derive(Debug)]
pub struct Merge<N> {
    id: OperatorId,
    pub(crate) next: N,
    inputs: Vec<Arrival>,
    watermark_ms: i64,
    /// Whether what lies behind was told that nothing comes for a while.
    idle: bool,
    /// How many inputs the current system message has come in through.
    heard: usize,
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    watermark_ms: i64,
    ended: bool,
    idle: bool,
    /// Nothing can come in here, not even a message.
    absent: bool,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    inputs: Vec<i64>,
    watermark: i64,
}

impl<N> Merge<N> {
    /// A union of `n_inputs` in front of `next`.
    #[must_use]
    pub fn new(id: &'static str, n_inputs: usize, next: N) -> Self {
        let inputs =
            vec![Arrival { watermark_ms: UNTIMED, ended: false, idle: false, absent: false }; n_inputs];
        Self { id: OperatorId::new(id), next, inputs, watermark_ms: UNTIMED, idle: false, heard: 0 }
    }

    pub(crate) fn watermark<R, C: Context>(&mut self, input: usize, at_ms: i64, cx: &mut C)
    where
        N: Push<R, C>,
    {
        if let Some(arrival) = self.inputs.get_mut(input) {
            arrival.watermark_ms = at_ms;
        }
        self.advance(cx);
    }

    fn advance<R, C: Context>(&mut self, cx: &mut C)
    where
        N: Push<R, C>,
    {
        let open = self.inputs.iter().filter(|arrival| !arrival.ended && !arrival.idle);
        let smallest = open.map(|arrival| arrival.watermark_ms).min().unwrap_or(UNTIMED);
        if smallest > self.watermark_ms {
            self.watermark_ms = smallest;
            self.next.watermark(smallest, cx);
        }
    }

    /// An input has ended, or was never there.
    fn end<R, C: Context>(&mut self, input: usize, message: &mut System<'_>, cx: &mut C)
    where
        N: Push<R, C>,
    {
        if let Some(arrival) = self.inputs.get_mut(input) {
            arrival.ended = true;
            arrival.absent |= matches!(message, System::Absent);
        }
        let through = match message {
            System::Absent => self.inputs.iter().all(|arrival| arrival.absent),
            _ => self.inputs.iter().all(|arrival| arrival.ended),
        };
        if through {
            self.next.system(message, cx);
        } else {
            self.rest(cx);
        }
    }

    /// Moves event time on for the inputs that count now, or tells that none does.
    fn rest<R, C: Context>(&mut self, cx: &mut C)
    where
        N: Push<R, C>,
    {
        let mut open = self.inputs.iter().filter(|arrival| !arrival.ended).peekable();
        let idle = open.peek().is_some() && open.all(|arrival| arrival.idle);
        if idle == self.idle {
            return self.advance(cx);
        }
        self.idle = idle;
        let mut message = if idle { System::Idle } else { System::Active };
        self.next.system(&mut message, cx);
        self.advance(cx);
    }

    pub(crate) fn system<R, C: Context>(&mut self, input: usize, message: &mut System<'_>, cx: &mut C)
    where
        N: Push<R, C>,
    {
        match message {
            System::Absent | System::End => return self.end(input, message, cx),
            System::Idle | System::Active => {
                if let Some(arrival) = self.inputs.get_mut(input) {
                    arrival.idle = matches!(message, System::Idle);
                    arrival.ended &= arrival.idle || arrival.absent;
                }
                return self.rest(cx);
            }
            _ => {}
        }
        // A question about the ways from one entry, or about the records that come through it, needs no answer from
        // the others; nor does what time it is.
        if matches!(message, System::Reach(_) | System::Ahead(_) | System::Clock) {
            return self.next.system(message, cx);
        }
        // Each input brings the same message once; what lies behind hears it once, when all have.
        self.heard += 1;
        if self.heard < self.inputs.iter().filter(|arrival| !arrival.absent).count() {
            return;
        }
        self.heard = 0;
        match message {
            System::NewSplit(loader) => {
                if let Some(saved) = loader.value::<Saved>(self.id, "union") {
                    self.watermark_ms = saved.watermark;
                    for (arrival, watermark_ms) in self.inputs.iter_mut().zip(saved.inputs) {
                        arrival.watermark_ms = watermark_ms;
                    }
                }
            }
            System::CheckPoint(saver) => {
                let inputs = self.inputs.iter().map(|arrival| arrival.watermark_ms).collect();
                saver.put_value(self.id, "union", &Saved { inputs, watermark: self.watermark_ms });
            }
            _ => {}
        }
        self.next.system(message, cx);
    }
}
