//! The ways in which a stream comes by a time that its records do not have: what a job calls.

use super::{Next, Stream};
use crate::op::event_time::{EventTime, Stored};
use crate::op::processing_time::ProcessingTime;
use crate::record::{EventTimed, NoKey, NoTime};
use crate::time::TimeBound;

/// The key of a stream of time `Tm` whose records are as they came in.
#[diagnostic::on_unimplemented(
    message = "this time is for records as they came in",
    label = "the records of this stream have a key or a time already",
    note = "write it first: in front of `key_by`, in place of `event_time`; what lies behind keeps the time that a record was given there"
)]
pub trait Incoming<Tm> {}

#[diagnostic::do_not_recommend]
impl Incoming<NoTime> for NoKey {}

impl<T, K, Tm, W, O, H> Stream<T, K, Tm, W, O, H> {
    /// Gives each record the time at which it comes in; the watermark follows the clock. Windows behind it are cut by
    /// when records are processed, not by when they happened, so two runs over the same records differ; a run that
    /// is resumed goes on with what was committed, and results leave with commits.
    ///
    /// # Examples
    /// ```
    /// use streams_core::{prelude::*, testing::Harness};
    ///
    /// #[record]
    /// struct Hit { path: String }
    ///
    /// #[stream_job]
    /// fn rate(hits: Stream<Hit>) -> Stream<(String, u64)> {
    ///     hits.processing_time().key_by(|h| h.path.clone()).window(tumbling(secs(1))).aggregate((key(), count()))
    /// }
    ///
    /// let mut job = Harness::new(rate);
    /// job.clock(10_000);
    /// job.push("hits", Hit { path: "/".to_owned() });
    /// job.clock(10_999);
    /// job.push("hits", Hit { path: "/".to_owned() });
    /// assert!(job.take::<(String, u64)>("rate").is_empty());
    /// job.clock(11_000);
    /// assert_eq!(job.take::<(String, u64)>("rate"), [("/".to_owned(), 2)]);
    /// ```
    pub fn processing_time(self) -> Next<T, K, EventTimed, W, O, ProcessingTime, H>
    where
        K: Incoming<Tm>,
    {
        self.then(ProcessingTime::new())
    }

    /// Says that a record happened when the broker stored it, and how far records may be out of order, as different
    /// brokers may store them. The same in every run, since the broker keeps that time; a record that no broker
    /// stored is a dead letter.
    ///
    /// # Examples
    /// ```
    /// use streams_core::{prelude::*, testing::Harness};
    ///
    /// #[record]
    /// struct Hit { path: String }
    ///
    /// #[stream_job]
    /// fn stored(hits: Stream<Hit>) -> Stream<(i64, u64)> {
    ///     hits.store_time(out_of_order(secs(1)))
    ///         .key_by(|h| h.path.clone())
    ///         .window(tumbling(secs(1)))
    ///         .aggregate((window_start(), count()))
    /// }
    ///
    /// let mut job = Harness::new(stored);
    /// job.push_stored("hits", r#"{"path":"/"}"#, 5_100);
    /// job.push_json("hits", r#"{"path":"/"}"#);
    /// job.end();
    /// assert_eq!(job.take::<(i64, u64)>("stored"), [(5_000, 1)]);
    /// assert!(job.rejects()[0].error.contains("no broker stored it"));
    /// ```
    pub fn store_time<B: TimeBound>(self, bound: B) -> Next<T, K, EventTimed, W, O, EventTime<Stored, B>, H>
    where
        K: Incoming<Tm>,
    {
        self.then(EventTime::named("store_time", Stored, bound, false))
    }
}
