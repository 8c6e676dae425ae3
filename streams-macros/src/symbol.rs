//! Every word of the language that is not an operator, as a constant.
//!
//! Operators have their own table in `ops`; nothing here has behavior but looking words up.

use proc_macro2::Ident;
use syn::Expr;

/// Root of the expansion for users of the runtime.
pub(crate) const RUNTIME_ROOT: &str = "streams_runtime";
/// Root of the expansion for users of the core alone.
pub(crate) const CORE_ROOT: &str = "streams_core";

/// The environment variable that names the job whose expansion is printed.
pub(crate) const EXPAND_VARIABLE: &str = "STREAMS_EXPAND";

/// The type that makes a parameter an input port.
pub(crate) const STREAM: &str = "Stream";
/// The type that makes a parameter a table.
pub(crate) const TABLE: &str = "Table";
/// The attribute of a setting.
pub(crate) const ARG: &str = "arg";
/// The only word inside `#[arg(..)]`.
pub(crate) const DEFAULT: &str = "default";

/// The attribute of an argument that may break replay.
pub(crate) const ALLOW_IMPURE: &str = "allow_impure";
/// The only word inside `#[allow_impure(..)]`.
pub(crate) const REASON: &str = "reason";

/// The attribute of a condition.
pub(crate) const CFG: &str = "cfg";
pub(crate) const CFG_ATTR: &str = "cfg_attr";

/// Lint and condition attributes go with the job wherever its parts are emitted.
pub(crate) const PASSED_ATTRIBUTES: &[&str] = &["allow", "warn", "deny", "forbid", "expect", "cfg"];

/// Words inside an aggregate that stand for the key and the window of a row.
pub(crate) const KEY: &str = "key";
/// Start of the row's window.
pub(crate) const WINDOW_START: &str = "window_start";
/// End of the row's window.
pub(crate) const WINDOW_END: &str = "window_end";

/// Why the row is given.
pub(crate) const FIRED: &str = "fired";

/// The constructor of the span around each record of a join.
pub(crate) const WITHIN: &str = "within";

/// A constructor of windows.
#[derive(Debug)]
pub(crate) struct WindowWord {
    /// The word.
    pub(crate) name: &'static str,
    /// The name of its type in the core.
    pub(crate) ty: &'static str,
    /// The function that checks it.
    pub(crate) checked: &'static str,
    /// The number of its arguments.
    pub(crate) args: usize,
    /// Whether its last argument is how long a key is kept, which is part of its type.
    pub(crate) keeps: bool,
}

/// The constructors of windows, and of the span around each record of a join.
#[rustfmt::skip]
pub(crate) const WINDOWS: &[WindowWord] = &[
    WindowWord { name: "tumbling", ty: "Tumbling", checked: "checked_tumbling", args: 1, keeps: false },
    WindowWord { name: "hopping", ty: "Hopping", checked: "checked_hopping", args: 2, keeps: false },
    WindowWord { name: "session", ty: "Session", checked: "checked_session", args: 1, keeps: false },
    WindowWord { name: "count_window", ty: "CountWindow", checked: "checked_count", args: 2, keeps: true },
    WindowWord { name: "global", ty: "Global", checked: "checked_global", args: 1, keeps: true },
    WindowWord { name: WITHIN, ty: "Within", checked: "checked_within", args: 2, keeps: false },
];

/// A method of a window.
#[derive(Debug)]
pub(crate) struct WindowSetting {
    /// The word.
    pub(crate) name: &'static str,
    /// The constructors whose type it changes into [`UPDATING`].
    pub(crate) updates: &'static [&'static str],
}

/// The methods of windows.
pub(crate) const WINDOW_SETTINGS: &[WindowSetting] = &[
    WindowSetting { name: "offset", updates: &[] },
    WindowSetting { name: "offset_back", updates: &[] },
    WindowSetting { name: "lateness", updates: &["tumbling", "hopping", "session"] },
    WindowSetting { name: "early", updates: &["tumbling", "hopping", "session", "count_window", "global"] },
    WindowSetting { name: "discarding", updates: &["tumbling", "hopping", "session", "count_window"] },
    WindowSetting { name: "every", updates: &[] },
];

/// The type of windows that give more than one result.
pub(crate) const UPDATING: &str = "Updating";
/// The function that checks it.
pub(crate) const CHECKED_UPDATING: &str = "checked_updating";

/// Functions that make a length of time.
pub(crate) const LENGTHS: &[&str] = &["millis", "secs", "mins", "hours", "days"];

/// Words for how long a key is kept, and their types.
pub(crate) const RETENTIONS: &[(&str, &str)] = &[("forever", "Forever"), ("ttl", "Ttl")];

/// The constructor in `tumbling(..).offset(..)` and the methods behind it.
pub(crate) fn window_call(spec: &Expr) -> Option<(&syn::ExprCall, Vec<&syn::ExprMethodCall>)> {
    let mut settings = Vec::new();
    let mut rest = spec;
    loop {
        match rest {
            Expr::Call(call) => return Some((call, settings)),
            Expr::MethodCall(setting) => {
                settings.push(setting);
                rest = &setting.receiver;
            }
            Expr::Paren(paren) => rest = &paren.expr,
            _ => return None,
        }
    }
}

/// The constructor that a call is one of.
pub(crate) fn window(call: &syn::ExprCall) -> Option<&'static WindowWord> {
    let word = last_word(call)?;
    WINDOWS.iter().find(|known| word == known.name)
}

/// The last word of the path that is called.
pub(crate) fn last_word(call: &syn::ExprCall) -> Option<&Ident> {
    let Expr::Path(path) = &*call.func else { return None };
    path.path.segments.last().map(|last| &last.ident)
}

/// Functions whose calls with constant arguments are constant themselves.
pub(crate) const CONST_CONSTRUCTORS: &[&str] = &[
    "forever",
    "ttl",
    "within",
    "secs",
    "mins",
    "hours",
    "millis",
    "days",
    "from_secs",
    "from_millis",
    "from_micros",
    "from_nanos",
    "from_mins",
    "from_hours",
];

/// Functions of the prelude, beside the accumulators, that a variable of the same name would hide.
pub(crate) const PRELUDE_FUNCTIONS: &[&str] = &[
    "out_of_order",
    "secs",
    "mins",
    "hours",
    "millis",
    "days",
    "tumbling",
    "hopping",
    "session",
    "count_window",
    "global",
    "within",
    KEY,
    WINDOW_START,
    WINDOW_END,
    FIRED,
    "ttl",
    "forever",
];

/// Command-line flags of the runtime, of every command and every feature; a setting becomes a flag of its own beside
/// them. A test of the runtime compares.
pub(crate) const RUNTIME_FLAGS: &[&str] = &[
    "from",
    "to",
    "state",
    "store",
    "memory",
    "workers",
    "checkpoint_interval",
    "dead_letter",
    "on_bad",
    "idle_after",
    "report",
    "namesrv",
    "group",
    "local_only",
    "remote",
    "start",
    "shuffle_queues",
    "format",
    "input",
    "yes",
    "not_run_since",
    "help",
    "version",
];

/// What an argument of an accumulator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A closure over the record.
    OfRecord,
    /// A value that a closure over it and the record goes on from.
    Start,
    /// Anything that takes its types from the other arguments.
    Plain,
    /// How many values are kept at most.
    Limit,
    /// A quantile.
    Rank,
    /// An array of quantiles.
    Ranks,
}

/// One accumulator function of the aggregate language.
#[derive(Debug)]
pub(crate) struct Accumulator {
    /// The word.
    pub(crate) name: &'static str,
    /// Its arguments.
    pub(crate) arguments: &'static [Argument],
    /// How a call looks, for messages.
    pub(crate) example: &'static str,
}

const fn accumulator(
    name: &'static str,
    arguments: &'static [Argument],
    example: &'static str,
) -> Accumulator {
    Accumulator { name, arguments, example }
}

use Argument::{Limit, OfRecord, Plain, Rank, Ranks, Start};

/// The accumulators; every other call inside an aggregate is a plain expression.
#[rustfmt::skip]
pub(crate) static ACCUMULATORS: &[Accumulator] = &[
    accumulator("sum", &[OfRecord], "sum(|r| r.bytes)"),
    accumulator("count", &[], "count()"),
    accumulator("min", &[OfRecord], "min(|r| r.bytes)"),
    accumulator("max", &[OfRecord], "max(|r| r.bytes)"),
    accumulator("avg", &[OfRecord], "avg(|r| r.bytes)"),
    accumulator("first", &[OfRecord], "first(|r| r.city.clone())"),
    accumulator("last", &[OfRecord], "last(|r| r.city.clone())"),
    accumulator("min_by", &[OfRecord, OfRecord], "min_by(|r| r.ms, |r| r.path.clone())"),
    accumulator("max_by", &[OfRecord, OfRecord], "max_by(|r| r.ms, |r| r.path.clone())"),
    accumulator("top_k", &[Limit, OfRecord], "top_k(3, |r| r.bytes)"),
    accumulator("collect", &[Limit, OfRecord], "collect(100, |r| r.path.clone())"),
    accumulator("count_distinct", &[OfRecord], "count_distinct(|r| r.user.clone())"),
    accumulator("approx_count_distinct", &[OfRecord], "approx_count_distinct(|r| r.user.clone())"),
    accumulator("quantile", &[Rank, OfRecord], "quantile(0.99, |r| r.ms)"),
    accumulator("quantiles", &[Ranks, OfRecord], "quantiles([0.5, 0.99], |r| r.ms)"),
    accumulator("reduce", &[OfRecord, Plain], "reduce(|r| r.flags, |a, b| a | b)"),
    accumulator("fold", &[Start, Plain], "fold(0, |acc, r| acc + r.bytes)"),
    accumulator("fold_merge", &[Start, Plain, Plain], "fold_merge(0, |acc, r| acc + r.bytes, |acc, behind| acc + behind)"),
    accumulator("acc", &[Plain, OfRecord], "acc(MyAccumulator, |r| r.bytes)"),
];

/// The longest tuple that the core accumulates.
pub(crate) const MAX_ACCUMULATORS: usize = 12;
