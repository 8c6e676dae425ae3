//! Everything that the expansion of `#[stream_job]` names, and nothing else names. No stability promised.

pub use serde;

pub use crate::aggregate::{checked_limit, checked_rank, checked_ranks};
pub use crate::chain::Id;
pub use crate::context::Cx;
pub use crate::join::{Within, checked_within};
pub use crate::layout::Layout;
pub use crate::lookup::table_type;
pub use crate::machine::Built;
pub use crate::merge::Merge;
pub use crate::op::running::{Forever, Ttl};
pub use crate::plan::{Job, Plan, cloned, level, outlet, written};
pub use crate::ports::Ports;
pub use crate::push::Operator;
pub use crate::record::{Rec, Schema, stored};
pub use crate::setting::setting_type;
pub use crate::stream::joins::{
    changes, full_join, full_join_at, join, join_at, join_late, join_table, left_join, left_join_at,
    left_join_table, right_join, right_join_at,
};
pub use crate::stream::unions::union;
pub use crate::stream::{aggregate, aggregate_late, cut, fork, pause, tee};
pub use crate::tail::{Boxed, Shared, Tee, Up};
pub use crate::topology::{About, Node, SettingSpec, about};
pub use crate::window::{
    CountWindow, Global, Hopping, NoWindow, Session, Tumbling, Updating, checked_count, checked_global,
    checked_hopping, checked_session, checked_tumbling, checked_updating,
};
