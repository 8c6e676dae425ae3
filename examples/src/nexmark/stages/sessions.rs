//! q11: session windows by bidder.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{FxMap, Stage};
use crate::nexmark::queries::{GAP_MS, Q11Row};

/// The sessions of all bidders.
#[derive(Default)]
pub struct Sessions {
    bidders: FxMap<u64, Vec<Session>>,
    /// For each bidder with an open session a timer that is due no later than the first to end.
    timers: BinaryHeap<Reverse<(u64, u64)>>,
}

/// An open session: first and last time stamp, and the number of bids.
#[derive(Clone, Copy)]
struct Session {
    first: u64,
    last: u64,
    count: u64,
}

impl Session {
    fn end(&self) -> u64 {
        self.last + GAP_MS
    }

    fn touches(&self, other: &Self) -> bool {
        self.first < other.end() && other.first < self.end()
    }

    fn absorb(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.count += other.count;
    }
}

impl Stage for Sessions {
    type In = (u64, u64);
    type Out = Q11Row;

    #[inline]
    fn push(&mut self, (ts, bidder): (u64, u64), _out: &mut Vec<Q11Row>) {
        let sessions = self.bidders.entry(bidder).or_default();
        let mut bid = Session { first: ts, last: ts, count: 1 };
        if let [only] = &mut sessions[..]
            && only.touches(&bid)
        {
            only.absorb(&bid);
            return;
        }
        if sessions.iter().all(|session| bid.end() < session.end()) {
            self.timers.push(Reverse((bid.end(), bidder)));
        }
        sessions.retain(|session| {
            let apart = !session.touches(&bid);
            if !apart {
                bid.absorb(session);
            }
            apart
        });
        sessions.push(bid);
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<Q11Row>) {
        while let Some(&Reverse((due, bidder))) = self.timers.peek() {
            if due > watermark {
                break;
            }
            self.timers.pop();
            let Some(sessions) = self.bidders.get_mut(&bidder) else { continue };
            sessions.retain(|session| {
                let open = session.end() > watermark;
                if !open {
                    out.push((bidder, session.first, session.end(), session.count));
                }
                open
            });
            match sessions.iter().map(Session::end).min() {
                Some(end) => self.timers.push(Reverse((end, bidder))),
                None => {
                    self.bidders.remove(&bidder);
                }
            }
        }
    }
}
