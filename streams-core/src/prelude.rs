//! Everything that a job is written with.

pub use streams_macros::{
    record_core as record, stream_job_core as stream_job, stream_part_core as stream_part,
};

pub use crate::aggregate::{
    Accumulator, acc, approx_count_distinct, avg, collect, count, count_distinct, first, fold, fold_merge,
    last, max, max_by, min, min_by, quantile, quantiles, reduce, sum, top_k,
};
pub use crate::join::{Side, within};
pub use crate::lookup::Table;
pub use crate::op::running::{forever, ttl};
pub use crate::stream::Stream;
pub use crate::time::{Fired, days, hours, millis, mins, out_of_order, secs};
pub use crate::window::{count_window, global, hopping, session, tumbling};
