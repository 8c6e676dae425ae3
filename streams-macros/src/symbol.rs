//! Every word of the language that is not an operator, as a constant.
//!
//! Operators have their own table in `ops`; nothing here has behavior.

/// Root of the expansion for users of the runtime.
pub(crate) const RUNTIME_ROOT: &str = "streams_runtime";
/// Root of the expansion for users of the core alone.
pub(crate) const CORE_ROOT: &str = "streams_core";

/// The environment variable that names the job whose expansion is printed.
pub(crate) const EXPAND_VARIABLE: &str = "STREAMS_EXPAND";

/// The type that makes a parameter an input port.
pub(crate) const STREAM: &str = "Stream";
/// The attribute of a setting.
pub(crate) const ARG: &str = "arg";
/// The only word inside `#[arg(..)]`.
pub(crate) const DEFAULT: &str = "default";

/// Lint and condition attributes go with the job wherever its parts are emitted.
pub(crate) const PASSED_ATTRIBUTES: &[&str] = &["allow", "warn", "deny", "forbid", "expect", "cfg"];

/// Words inside an aggregate that stand for the key and the window of a row.
pub(crate) const KEY: &str = "key";
/// Start of the row's window.
pub(crate) const WINDOW_START: &str = "window_start";
/// End of the row's window.
pub(crate) const WINDOW_END: &str = "window_end";

/// Constructors of windows.
pub(crate) const TUMBLING: &str = "tumbling";
/// The overlapping one.
pub(crate) const HOPPING: &str = "hopping";

/// Functions whose calls with constant arguments are constant themselves.
pub(crate) const CONST_CONSTRUCTORS: &[&str] = &[
    TUMBLING,
    HOPPING,
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

/// Functions of the prelude that a variable of the same name would hide.
pub(crate) const PRELUDE_FUNCTIONS: &[&str] = &[
    "out_of_order",
    "secs",
    "mins",
    "hours",
    "millis",
    "days",
    TUMBLING,
    HOPPING,
    "sum",
    "count",
    "min",
    "max",
    "avg",
    "acc",
    KEY,
    WINDOW_START,
    WINDOW_END,
    "ttl",
    "forever",
];

/// Command-line flags of the runtime; a setting becomes a flag of its own beside them.
pub(crate) const RUNTIME_FLAGS: &[&str] = &[
    "from",
    "to",
    "state",
    "workers",
    "checkpoint_interval",
    "on_bad",
    "dead_letter",
    "report",
    "help",
    "format",
    "store",
    "version",
];

/// Ends of paths that read a clock, with what to write instead.
pub(crate) const CLOCK_CALLS: &[(&str, &str)] = &[
    ("SystemTime", "now"),
    ("Instant", "now"),
    ("Utc", "now"),
    ("Local", "now"),
    ("OffsetDateTime", "now_utc"),
];

/// Crates and functions that draw random numbers.
pub(crate) const RANDOM_CRATES: &[&str] = &["rand", "fastrand", "getrandom"];
/// Functions that draw random numbers under any path.
pub(crate) const RANDOM_CALLS: &[&str] = &["thread_rng", "random", "getrandom"];

/// One accumulator function of the aggregate language.
#[derive(Debug)]
pub(crate) struct Accumulator {
    /// The word.
    pub(crate) name: &'static str,
    /// How many arguments it takes; the last one, if any, is the closure over the record.
    pub(crate) args: usize,
    /// How a call looks, for messages.
    pub(crate) example: &'static str,
}

/// The accumulators; every other call inside an aggregate is a plain expression.
pub(crate) const ACCUMULATORS: &[Accumulator] = &[
    Accumulator { name: "sum", args: 1, example: "sum(|r| r.bytes)" },
    Accumulator { name: "count", args: 0, example: "count()" },
    Accumulator { name: "min", args: 1, example: "min(|r| r.bytes)" },
    Accumulator { name: "max", args: 1, example: "max(|r| r.bytes)" },
    Accumulator { name: "avg", args: 1, example: "avg(|r| r.bytes)" },
    Accumulator { name: "acc", args: 2, example: "acc(MyAccumulator, |r| r.bytes)" },
];

/// The longest tuple that the core accumulates.
pub(crate) const MAX_ACCUMULATORS: usize = 12;
