//! `approx_count_distinct(|r| r.field)`: about how many different values, in a few KiB.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::aggregate::{Aggregate, AggregateError, ByRef, Distinct, type_name};
use crate::codec;

mod sketch;

use sketch::Sketch;

/// See [`approx_count_distinct`].
#[derive(Debug, Clone, Copy)]
pub struct ApproxCountDistinct<T, F, V>(ByRef<T, F, V>);

thread_local! {
    /// Where values are encoded, kept so that no record allocates.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// About how many different values the closure gives, as `u64`.
///
/// Up to 256 it is exact. Above, it is HyperLogLog with 4,096 registers: the standard error is 1.63 %
/// (1.04 / √4096; Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal cardinality
/// estimation algorithm", 2007), so that 19 of 20 results are within 3.3 % and 997 of 1,000 within 4.9 %.
/// Registers become a number by the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog
/// sketches" (arXiv:1702.01284, 2017), which has no bias to speak of from zero to 2⁶⁴.
///
/// The hash is xxh3 over the encoded value and has no seed: the same values give the same number in every run,
/// on every machine, in any order and however windows are put together.
/// **State** up to 4 KiB per key (2 KiB up to 256 values), written again at a checkpoint after it has changed.
/// **Errors** a value whose `Serialize` refuses makes the result a dead letter.
///
/// # Examples
/// ```
/// use streams_core::{prelude::*, testing::Harness};
///
/// #[record]
/// struct Visit { site: u32, visitor: u64 }
///
/// #[stream_job]
/// fn visitors(visits: Stream<Visit>) -> Stream<u64> {
///     visits.key_by(|v| v.site).running(forever()).aggregate(approx_count_distinct(|v| v.visitor))
/// }
///
/// let mut job = Harness::new(visitors);
/// job.push_all("visits", (0..20_000).map(|n| Visit { site: 1, visitor: n % 10_000 }).collect());
/// let found = job.take::<u64>("visitors");
/// assert_eq!(found[199], 200);
/// assert!(found[19_999].abs_diff(10_000) < 500, "{}", found[19_999]);
/// ```
pub fn approx_count_distinct<T, F: Fn(&T) -> V, V: Distinct<M>, M>(
    of: ByRef<T, F, V>,
) -> V::Proven<ApproxCountDistinct<T, F, V>> {
    V::proven(ApproxCountDistinct(of))
}

/// What is known of the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// Their hashes.
    Hashes(Sketch),
    /// The first value that did not encode, and why.
    Refused(String),
}

impl<T: 'static, F, V: Distinct> Aggregate<T> for ApproxCountDistinct<T, F, V>
where
    F: Fn(&T) -> V + Send + Sync + 'static,
{
    type State = Seen;
    type Out = u64;

    fn signature() -> String {
        format!("approx_count_distinct({} in {})", type_name::<V>(), sketch::N_REGISTERS)
    }

    fn init(&self) -> Seen {
        Seen::Hashes(Sketch::new())
    }

    fn add(&self, state: &mut Seen, value: &T) {
        let Seen::Hashes(sketch) = state else { return };
        let value = (self.0.f)(value);
        let hash = SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            codec::key_to_vec(&value, scratch).map(|()| xxh3_64(scratch))
        });
        match hash {
            Ok(hash) => sketch.add(hash),
            Err(error) => *state = Seen::Refused(error.to_string()),
        }
    }

    fn merge(&self, state: &mut Seen, behind: Seen) {
        match (&mut *state, behind) {
            (Seen::Hashes(sketch), Seen::Hashes(behind)) => sketch.merge(behind),
            (Seen::Hashes(_), refused) => *state = refused,
            (Seen::Refused(_), _) => {}
        }
    }

    fn finish(&self, state: Seen) -> Result<u64, AggregateError> {
        self.value(&state)
    }

    fn value(&self, state: &Seen) -> Result<u64, AggregateError> {
        match state {
            Seen::Hashes(sketch) => Ok(sketch.estimate()),
            Seen::Refused(error) => Err(AggregateError::Encode(error.clone())),
        }
    }
}
