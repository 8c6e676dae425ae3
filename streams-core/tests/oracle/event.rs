//! The one record type of all generated jobs, and the accumulators and functions that they call.
//!
//! Everything that flows, results included, is an [`Event`], so that every operator fits behind every other.

use std::cell::Cell;

use streams_core::prelude::*;

/// A value of every kind that matters to an aggregate, and a time.
#[record]
#[derive(Debug)]
pub(crate) struct Event {
    /// A small number, mostly the key.
    pub(crate) k: u8,
    /// A short text, sometimes the key.
    pub(crate) s: String,
    pub(crate) v: i64,
    pub(crate) u: u64,
    /// A small multiple of 1/8, so that sums are exact in any order and can be compared bit for bit.
    pub(crate) f: f64,
    /// Event time in ms.
    pub(crate) at: i64,
}

impl Event {
    /// Equality in which a NaN equals a NaN.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let floats = self.f == other.f || (self.f.is_nan() && other.f.is_nan());
        floats
            && (self.k, &self.s, self.v, self.u, self.at) == (other.k, &other.s, other.v, other.u, other.at)
    }
}

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// What `inspect` calls: counts on the running thread.
pub(crate) fn look(_: &Event) {
    LOOKS.with(|looks| looks.set(looks.get() + 1));
}

/// How often [`look`] was called on this thread since the last call of this function.
pub(crate) fn take_looks() -> u64 {
    LOOKS.with(|looks| looks.replace(0))
}

/// What `try_map` calls: refuses every third kind of record.
pub(crate) fn refuse_some(r: &Event) -> Result<Event, String> {
    if r.k % 3 == 2 {
        return Err(format!("{} is refused", r.k));
    }
    Ok(Event { v: r.v.wrapping_sub(7), ..r.clone() })
}

/// What the rows of joins are: everything of both that may be there.
pub(crate) fn pair(left: Option<&Event>, right: Option<&Event>) -> Event {
    let of = |side: Option<&Event>| side.map_or((0, String::new(), 1, 3), |e| (e.k, e.s.clone(), e.v, e.u));
    let (left_of, right_of) = (of(left), of(right));
    Event {
        k: left_of.0 / 2 + right_of.0 / 2,
        s: letters(&format!("{}+{}", left_of.1, right_of.1)),
        v: left_of.2.wrapping_mul(3).wrapping_add(right_of.2),
        u: left_of.3 / 2 + right_of.3 / 3,
        f: left.or(right).map_or(0.0, |e| e.f),
        at: left.into_iter().chain(right).map(|e| e.at).max().unwrap_or(0),
    }
}

/// What the changes of tables are.
pub(crate) fn change(r: Event) -> Option<Event> {
    (r.u % 3 != 1).then_some(r)
}

/// A digest of texts that depends on their order, as 11 letters at most.
pub(crate) struct Trail;

impl Accumulator<String> for Trail {
    type State = Vec<String>;
    type Out = String;

    fn init(&self) -> Vec<String> {
        Vec::new()
    }

    fn add(&self, state: &mut Vec<String>, value: String) {
        state.push(value);
    }

    fn merge(&self, state: &mut Vec<String>, behind: Vec<String>) {
        state.extend(behind);
    }

    fn finish(&self, state: Vec<String>) -> String {
        letters(&state.join("/"))
    }
}

/// The first four letters and the last seven, so that trails of trails stay short.
pub(crate) fn letters(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let n = letters.len();
    if n <= 11 {
        return text.to_owned();
    }
    letters.iter().take(4).chain(letters.iter().skip(n - 7)).collect()
}

/// The second largest number, or the largest where there is one only.
pub(crate) struct Second;

impl Accumulator<u64> for Second {
    /// The two largest, the largest first.
    type State = Vec<u64>;
    type Out = u64;

    fn init(&self) -> Vec<u64> {
        Vec::new()
    }

    fn add(&self, state: &mut Vec<u64>, value: u64) {
        self.merge(state, vec![value]);
    }

    fn merge(&self, state: &mut Vec<u64>, behind: Vec<u64>) {
        state.extend(behind);
        state.sort_unstable_by(|a, b| b.cmp(a));
        state.truncate(2);
    }

    fn finish(&self, state: Vec<u64>) -> u64 {
        state.last().copied().unwrap_or(0)
    }
}
