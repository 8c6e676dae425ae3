//! The operator table: one row per operator.
//!
//! The passes read everything that they know about an operator from its row, so a new operator that
//! takes its arguments straight is one row here and one method in the core.
//! What an operator does to records is not known here.

/// What a stream is as far as the macro can see; types are rustc's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Records without a key.
    Plain,
    /// Records with a key.
    Keyed,
    /// Keyed records cut into windows.
    Windowed,
    /// Keyed records that update a row per key.
    Running,
    /// Rows of a windowed aggregate, which may have latecomers.
    Rows,
}

/// What an operator accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Every stream; what does not fit is said by the bounds in the core.
    Any,
    /// Only the direct result of a windowed aggregate.
    Rows,
}

/// What an operator yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The kind of its input.
    Same,
    /// A fixed kind.
    Is(Kind),
    /// Rows if its input is windowed.
    Aggregated,
}

/// Whether saved state or dead letters name the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    /// Nothing refers to it.
    None,
    /// The id follows the call as `.named("..")`.
    Suffix,
    /// The id is an argument of the emitted call.
    Argument,
}

/// How an operator is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A method call with the user's arguments.
    Method,
    /// A method call that ends the segment at a shuffle.
    Cut,
    /// A method call whose argument is checked at compile time if it is constant.
    Window,
    /// A free function over accumulators and a closure that finishes a row.
    Aggregate,
    /// The second output of an aggregate.
    Late,
    /// A free function that ends both segments.
    Union,
    /// A free function that ends both segments in front of a shuffle and an operator behind it.
    Join,
    /// Gives the operator before it its id and is not emitted.
    Named,
    /// A word without a call, passed on for completion only.
    Unfinished,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Op {
    /// The word.
    pub(crate) name: &'static str,
    /// The number of arguments.
    pub(crate) args: usize,
    /// How a call looks, for messages.
    pub(crate) example: &'static str,
    /// What it accepts.
    pub(crate) input: Input,
    /// What it yields.
    pub(crate) output: Output,
    /// Whether it has an id.
    pub(crate) id: Id,
    /// How it is emitted.
    pub(crate) form: Form,
}

const fn straight(name: &'static str, args: usize, example: &'static str, id: Id) -> Op {
    Op { name, args, example, input: Input::Any, output: Output::Same, id, form: Form::Method }
}

const fn join(name: &'static str, example: &'static str) -> Op {
    let output = Output::Is(Kind::Keyed);
    Op { name, args: 3, example, input: Input::Any, output, id: Id::Argument, form: Form::Join }
}

const fn shaped(name: &'static str, args: usize, example: &'static str, kind: Kind, form: Form) -> Op {
    Op { name, args, example, input: Input::Any, output: Output::Is(kind), id: Id::None, form }
}

/// The operators, in the order in which the documentation shows them.
#[rustfmt::skip]
pub(crate) static OPS: &[Op] = &[
    straight("event_time", 2, ".event_time(|r| r.at, out_of_order(secs(5)))", Id::Suffix),
    straight("processing_time", 0, ".processing_time()", Id::Suffix),
    straight("store_time", 1, ".store_time(out_of_order(secs(5)))", Id::Suffix),
    straight("filter", 1, ".filter(|r| r.bytes > 0)", Id::None),
    straight("map", 1, ".map(|r| ..)", Id::None),
    straight("filter_map", 1, ".filter_map(|r| ..)", Id::None),
    straight("flat_map", 1, ".flat_map(|r| ..)", Id::None),
    straight("try_map", 1, ".try_map(|r| ..)", Id::Suffix),
    straight("inspect", 1, ".inspect(|r| ..)", Id::None),
    straight("through", 1, ".through(part)", Id::None),
    shaped("key_by", 1, ".key_by(|r| r.host.clone())", Kind::Keyed, Form::Cut),
    straight("distinct_within", 1, ".distinct_within(secs(60))", Id::Suffix),
    shaped("window", 1, ".window(tumbling(secs(10)))", Kind::Windowed, Form::Window),
    shaped("running", 1, ".running(ttl(mins(10)))", Kind::Running, Form::Method),
    Op { name: "aggregate", args: 1, example: ".aggregate(Total { host: key(), n: count() })",
        input: Input::Any, output: Output::Aggregated, id: Id::Argument, form: Form::Aggregate },
    Op { name: "late", args: 0, example: ".late()",
        input: Input::Rows, output: Output::Is(Kind::Plain), id: Id::None, form: Form::Late },
    Op { name: "union", args: 1, example: ".union(other)",
        input: Input::Any, output: Output::Same, id: Id::Argument, form: Form::Union },
    join("join", ".join(other, tumbling(secs(10)), |l, r| ..)"),
    join("left_join", ".left_join(other, tumbling(secs(10)), |l, r| ..)"),
    join("right_join", ".right_join(other, tumbling(secs(10)), |l, r| ..)"),
    join("full_join", ".full_join(other, tumbling(secs(10)), |l, r| ..)"),
    join("join_table", ".join_table(changes, forever(), |r, row| ..)"),
    join("left_join_table", ".left_join_table(changes, forever(), |r, row| ..)"),
    straight("lookup", 4, ".lookup(table, |r| r.host.clone(), |row| row.host.clone(), |r, row| ..)", Id::Suffix),
    straight("left_lookup", 4, ".left_lookup(table, |r| r.host.clone(), |row| row.host.clone(), |r, row| ..)", Id::Suffix),
    Op { name: "named", args: 1, example: ".named(\"errors\")",
        input: Input::Any, output: Output::Same, id: Id::None, form: Form::Named },
];

/// The row of an input port.
pub(crate) static SOURCE: Op = straight("source", 0, "", Id::None);
/// The row of a word that is not in the table: the job goes on as if it were a method.
pub(crate) static UNKNOWN: Op = straight("unknown", 0, "", Id::None);
/// The row of a word without a call.
pub(crate) static UNFINISHED: Op = Op { form: Form::Unfinished, ..straight("unfinished", 0, "", Id::None) };

/// Words of other toolkits for what we call otherwise.
const RENAMED: &[(&str, &str)] = &[
    ("group_by", "key_by"),
    ("partition_by", "key_by"),
    ("group_by_key", "key_by"),
    ("select_key", "key_by"),
    ("connect", "union"),
    ("map_values", "map"),
    ("apply", "map"),
    ("scan", "running"),
    ("peek", "inspect"),
    ("to_table", "join_table"),
    ("with_timestamps", "event_time"),
    ("uid", "named"),
    ("distinct_by", "distinct_within"),
    ("merge", "union"),
    ("concat", "union"),
    ("chain", "union"),
    ("inner_join", "join"),
    ("interval_join", "join"),
    ("window_join", "join"),
    ("left_outer_join", "left_join"),
    ("outer_join", "full_join"),
    ("enrich", "lookup"),
    ("lookup_join", "lookup"),
    ("for_each", "inspect"),
    ("tap", "inspect"),
    ("name", "named"),
    ("where", "filter"),
    ("select", "map"),
    ("dedup", "distinct_within"),
    ("distinct", "distinct_within"),
    ("assign_timestamps", "event_time"),
    ("arrival_time", "processing_time"),
    ("ingestion_time", "store_time"),
];

/// What to write for words of other toolkits, and of Rust, that are no operator here.
#[rustfmt::skip]
const ADVICE: &[(&str, &str)] = &[
    ("clone", "a stream may be used several times as it is, so leave `.clone()` out"),
    ("branch", "use the stream several times, each time with a `.filter(..)` of its own"),
    ("split", "use the stream several times, each time with a `.filter(..)` of its own"),
    ("partition", "use the stream several times, each time with a `.filter(..)` of its own"),
    ("count", "write it into a row: `.aggregate(Total { host: key(), n: count() })`"),
    ("sum", "write it into a row: `.aggregate(Total { host: key(), n: sum(|r| r.n) })`"),
    ("avg", "write it into a row: `.aggregate(Total { host: key(), n: avg(|r| r.n) })`"),
    ("min", "write it into a row: `.aggregate(Total { host: key(), n: min(|r| r.n) })`"),
    ("max", "write it into a row: `.aggregate(Total { host: key(), n: max(|r| r.n) })`"),
    ("fold", "write it into a row: `.aggregate(Total { host: key(), n: fold(0, |acc, r| acc + r.n) })`"),
    ("reduce", "write it into a row: `.aggregate(Total { host: key(), n: reduce(|r| r.n, |a, b| a | b) })`"),
    ("top_k", "write it into a row: `.aggregate(Top { host: key(), most: top_k(3, |r| r.n) })`"),
    ("max_by", "write it into a row: `.aggregate(Top { host: key(), path: max_by(|r| r.n, |r| r.path.clone()) })`"),
    ("min_by", "write it into a row: `.aggregate(Top { host: key(), path: min_by(|r| r.n, |r| r.path.clone()) })`"),
    ("count_distinct", "write it into a row: `.aggregate(Total { host: key(), n: count_distinct(|r| r.user.clone()) })`"),
    ("quantile", "write it into a row: `.aggregate(Total { host: key(), p99: quantile(0.99, |r| r.ms) })`"),
    ("take", "a stream has no end: choose records with `.filter(..)`, or the largest with `top_k(3, |r| r.n)` in an aggregate"),
    ("sort_by", "a stream has no end: `.event_time(..)` says how far records may be out of order, and `top_k(3, |r| r.n)` in an aggregate keeps the largest"),
    ("cogroup", "write `.full_join(other, tumbling(secs(10)), |l, r| ..)`"),
    ("zip", "write `.join(other, tumbling(secs(10)), |l, r| ..)`"),
    ("shuffle", "`.key_by(..)` brings records with one key together"),
    ("process", "state by key is `.running(forever()).aggregate(..)`"),
    ("time_window", "write `.window(tumbling(secs(10)))`"),
    ("tumbling", "write `.window(tumbling(secs(10)))`"),
    ("hopping", "write `.window(hopping(secs(10), secs(2)))`"),
    ("sliding", "write `.window(hopping(secs(10), secs(2)))`"),
    ("session", "write `.window(session(mins(5)))`"),
    ("windowed_by", "write `.window(tumbling(secs(10)))`"),
    ("window_all", "give all records one key: `.key_by(|_| ()).window(tumbling(secs(10)))`"),
    ("lateness", "it belongs to a window: `.window(tumbling(secs(10)).lateness(mins(1)))`"),
    ("allowed_lateness", "it belongs to a window: `.window(tumbling(secs(10)).lateness(mins(1)))`"),
    ("grace", "it belongs to a window: `.window(tumbling(secs(10)).lateness(mins(1)))`"),
    ("early", "it belongs to a window: `.window(tumbling(mins(5)).early(secs(10)))`"),
    ("trigger", "it belongs to a window: `.window(tumbling(mins(5)).early(secs(10)))`"),
    ("suppress", "a window gives its rows once, when it closes, so leave it out"),
    ("watermark", "it comes with the time: `.event_time(|r| r.at, out_of_order(secs(5)))`"),
    ("assign_timestamps_and_watermarks", "write `.event_time(|r| r.at, out_of_order(secs(5)))`"),
    ("side_output", "use the stream several times, and `totals.late()` for late records"),
    ("to", "the job returns the stream, and `--to` says where it goes"),
    ("to_sink", "the job returns the stream, and `--to` says where it goes"),
    ("sink", "the job returns the stream, and `--to` says where it goes"),
    ("sink_to", "the job returns the stream, and `--to` says where it goes"),
    ("add_sink", "the job returns the stream, and `--to` says where it goes"),
    ("print", "the job returns the stream, and `--to print:` shows it"),
    ("collect", "the job returns the stream, and a list of values is `.aggregate(Row { all: collect(100, |r| r.n) })`"),
    ("parallelism", "it is no part of the job: run it with `--workers N`, or several instances of it"),
    ("set_parallelism", "it is no part of the job: run it with `--workers N`, or several instances of it"),
    ("repartition", "`.key_by(..)` brings records with one key together"),
    ("rebalance", "`.key_by(..)` brings records with one key together"),
];

/// What to write in place of a word that is no operator, where that is no other word.
pub(crate) fn advice(word: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(theirs, _)| *theirs == word).map(|(_, advice)| *advice)
}

/// The row of a word.
pub(crate) fn find(word: &str) -> Option<&'static Op> {
    OPS.iter().find(|op| op.name == word)
}

/// The operator that was probably meant by a word that is none.
pub(crate) fn meant(word: &str) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
    renamed.or_else(|| crate::nearest::nearest(word, OPS.iter().map(|op| op.name)))
}

impl Op {
    /// Whether two segments end in it, in what they share from there on.
    pub(crate) fn merges(&self) -> bool {
        matches!(self.form, Form::Union | Form::Join)
    }

    /// Whether it joins with a table, which is bounded by how long a row is kept.
    pub(crate) fn joins_table(&self) -> bool {
        matches!(self.name, "join_table" | "left_join_table")
    }

    /// Whether it may stand on either side of a shuffle: it looks at one record at a time.
    /// `Topology::deferred` in the core has the same list.
    pub(crate) fn is_stateless(&self) -> bool {
        matches!(self.name, "filter" | "map" | "filter_map" | "flat_map" | "try_map" | "inspect" | "through")
    }

    /// Whether the stream has a time behind it.
    pub(crate) fn gives_time(&self) -> bool {
        matches!(self.name, "event_time" | "processing_time" | "store_time")
    }

    /// The kind that comes out when `input` goes in.
    pub(crate) fn kind(&self, input: Kind) -> Kind {
        match (self.output, input) {
            (Output::Aggregated, Kind::Windowed) => Kind::Rows,
            // Only the aggregate itself has latecomers, not what is made of its rows.
            (Output::Aggregated, _) | (Output::Same, Kind::Rows) => Kind::Plain,
            (Output::Is(kind), _) | (Output::Same, kind) => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_examples_show_them() {
        for (i, op) in OPS.iter().enumerate() {
            assert!(OPS[..i].iter().all(|other| other.name != op.name), "{} twice", op.name);
            assert!(op.example.starts_with(&format!(".{}(", op.name)), "{}", op.example);
        }
    }

    #[test]
    fn hints_name_operators() {
        assert!(RENAMED.iter().all(|(theirs, ours)| find(theirs).is_none() && find(ours).is_some()));
        let advised = |word: &str| find(word).is_none() && RENAMED.iter().all(|(theirs, _)| *theirs != word);
        assert!(ADVICE.iter().all(|(word, _)| advised(word)));
        assert_eq!(meant("filtr"), Some("filter"));
        assert_eq!(meant("group_by"), Some("key_by"));
        assert_eq!(meant("process"), None);
    }

    #[test]
    fn kinds_follow_the_chain() {
        let after =
            |words: &[&str]| words.iter().fold(Kind::Plain, |kind, word| find(word).unwrap().kind(kind));
        assert_eq!(after(&["filter"]), Kind::Plain);
        assert_eq!(after(&["key_by", "filter"]), Kind::Keyed);
        assert_eq!(after(&["key_by", "window", "filter", "aggregate"]), Kind::Rows);
        assert_eq!(after(&["key_by", "window", "aggregate", "map"]), Kind::Plain);
        assert_eq!(after(&["key_by", "running", "aggregate"]), Kind::Plain);
    }
}
