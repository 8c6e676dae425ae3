//! A generated job as data: a list of `let`s, each a chain of operators behind a port or an earlier `let`.
//!
//! The same plan is printed as the source of a `#[stream_job]` and evaluated by the oracle.

use std::fmt::Write as _;

use crate::menu::{
    self, BYTES, FILTER_MAPS, FILTERS, FLAT_MAPS, FLOATS, INSPECTS, INSTANTS, KEYS, MAPS, SIGNED, TEXTS,
    TIMES, TRY_MAPS, UNSIGNED,
};

mod windows;

pub(crate) use windows::{CUTS, Cut, RECORDS, Records, Span};

/// A whole job.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) n_ports: usize,
    pub(crate) lets: Vec<Let>,
    /// Indices of the `let`s that are returned.
    pub(crate) outputs: Vec<usize>,
}

/// `let s3 = origin.op(..).op(..);`
#[derive(Debug, Clone)]
pub(crate) struct Let {
    pub(crate) origin: Origin,
    pub(crate) ops: Vec<Op>,
}

/// What a chain begins with; numbers are indices of ports or of earlier `let`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Port(usize),
    Let(usize),
    Union(Input, Input),
    Join(Input, Input, Join),
    Late(usize),
}

/// What is joined with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) kind: Kind,
    pub(crate) bound: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Inner,
    Left,
    Right,
    Full,
}

/// What belongs together; lengths are in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Tumbling(u64),
    Hopping(u64, u64),
    Within(u64, u64),
    /// A table, whose rows may have a `ttl`.
    Table(Option<u64>),
}

/// One side of a union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    Port(usize),
    Let(usize),
}

/// One operator; numbers called `entry` are places in the menu.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    EventTime { entry: usize, bound_ms: u64 },
    Map(usize),
    Filter(usize),
    FilterMap(usize),
    FlatMap(usize),
    TryMap(usize),
    Inspect(usize),
    KeyBy(usize),
    DistinctWithin(u64),
    Window { size_ms: u64, slide_ms: Option<u64>, fields: Fields },
    Cut { cut: Cut, fields: Fields },
    Records { records: Records, fields: Fields },
    Running { ttl_ms: Option<u64>, fields: Fields },
}

/// The menu entries of an aggregate's literal, one per field of the record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fields {
    pub(crate) k: usize,
    pub(crate) s: usize,
    pub(crate) v: usize,
    pub(crate) u: usize,
    pub(crate) f: usize,
    pub(crate) at: usize,
}

impl Job {
    /// The names of the input ports.
    pub(crate) fn ports(&self) -> &'static [&'static str] {
        if self.n_ports == 1 { &["events"] } else { &["left", "right"] }
    }

    /// The names of the output ports.
    pub(crate) fn output_names(&self) -> Vec<String> {
        if self.outputs.len() == 1 {
            return vec![self.name.clone()];
        }
        self.outputs.iter().map(|output| format!("s{output}")).collect()
    }

    /// How often something is read, in all chains and outputs.
    pub(crate) fn uses(&self, of: Input) -> usize {
        let origins = self.lets.iter().map(|chain| match (chain.origin, of) {
            (Origin::Port(port), Input::Port(of)) => usize::from(port == of),
            (Origin::Let(name), Input::Let(of)) => usize::from(name == of),
            (Origin::Union(a, b) | Origin::Join(a, b, _), of) => usize::from(a == of) + usize::from(b == of),
            _ => 0,
        });
        let outputs = self.outputs.iter().filter(|&&output| of == Input::Let(output)).count();
        origins.sum::<usize>() + outputs
    }

    /// The job as a function in the language.
    pub(crate) fn source(&self) -> String {
        let mut text = String::new();
        let stream = "Stream<Event>";
        let ports: Vec<String> = self.ports().iter().map(|port| format!("{port}: {stream}")).collect();
        let outputs = match self.outputs.len() {
            1 => stream.to_owned(),
            n => format!("({})", vec![stream; n].join(", ")),
        };
        let _ = writeln!(text, "#[stream_job]");
        let _ = writeln!(text, "pub(crate) fn {}({}) -> {outputs} {{", self.name, ports.join(", "));
        for (number, chain) in self.lets.iter().enumerate() {
            let input = |input| match input {
                Input::Port(port) => self.ports()[port].to_owned(),
                Input::Let(name) => format!("s{name}"),
            };
            let head = match chain.origin {
                Origin::Port(port) => input(Input::Port(port)),
                Origin::Let(name) => input(Input::Let(name)),
                Origin::Union(a, b) => format!("{}.union({})", input(a), input(b)),
                Origin::Join(a, b, join) => join.source(&input(a), &input(b)),
                Origin::Late(name) => format!("s{name}.late()"),
            };
            let ops: String = chain.ops.iter().map(Op::source).collect();
            let _ = writeln!(text, "    let s{number} = {head}{ops};");
        }
        let names: Vec<String> = self.outputs.iter().map(|output| format!("s{output}")).collect();
        let returned =
            if let [name] = names.as_slice() { name.clone() } else { format!("({})", names.join(", ")) };
        let _ = writeln!(text, "    {returned}\n}}");
        text
    }
}

impl Kind {
    pub(crate) fn keeps_left(self) -> bool {
        matches!(self, Self::Left | Self::Full)
    }

    pub(crate) fn keeps_right(self) -> bool {
        matches!(self, Self::Right | Self::Full)
    }
}

impl Join {
    fn source(self, left: &str, right: &str) -> String {
        let word = match self.kind {
            Kind::Inner => "join",
            Kind::Left => "left_join",
            Kind::Right => "right_join",
            Kind::Full => "full_join",
        };
        let some = |keeps, name: &str| if keeps { name.to_owned() } else { format!("Some({name})") };
        let (l, r) = (some(self.kind.keeps_right(), "l"), some(self.kind.keeps_left(), "r"));
        let row = match self.kind {
            Kind::Full => "pair".to_owned(),
            _ => format!("|l, r| pair({l}, {r})"),
        };
        let bound = match self.bound {
            Bound::Tumbling(size) => format!("tumbling({})", length(size)),
            Bound::Hopping(size, slide) => format!("hopping({}, {})", length(size), length(slide)),
            Bound::Within(before, after) => format!("within({}, {})", length(before), length(after)),
            Bound::Table(ttl) => {
                let kept = ttl.map_or("forever()".to_owned(), |ms| format!("ttl({})", length(ms)));
                return format!("{left}.{word}_table({right}.map(change), {kept}, {row})");
            }
        };
        format!("{left}.{word}({right}, {bound}, {row})")
    }

    /// What the table of coverage calls it.
    pub(crate) fn feature(self) -> Feature {
        let text = |texts: [&'static str; 4]| match self.kind {
            Kind::Inner => texts[0],
            Kind::Left => texts[1],
            Kind::Right => texts[2],
            Kind::Full => texts[3],
        };
        match self.bound {
            Bound::Tumbling(_) => ("join tumbling", text(KINDS)),
            Bound::Hopping(..) => ("join hopping", text(KINDS)),
            Bound::Within(..) => ("join within", text(KINDS)),
            Bound::Table(None) => ("join table", text(KINDS)),
            Bound::Table(Some(_)) => ("join table ttl", text(KINDS)),
        }
    }
}

const KINDS: [&str; 4] = ["inner", "left", "right", "full"];

impl Op {
    fn source(&self) -> String {
        match *self {
            Self::EventTime { entry, bound_ms } => {
                format!(".event_time({}, out_of_order({}))", TIMES[entry].text, length(bound_ms))
            }
            Self::Map(entry) => format!(".map({})", MAPS[entry].text),
            Self::Filter(entry) => format!(".filter({})", FILTERS[entry].text),
            Self::FilterMap(entry) => format!(".filter_map({})", FILTER_MAPS[entry].text),
            Self::FlatMap(entry) => format!(".flat_map({})", FLAT_MAPS[entry].text),
            Self::TryMap(entry) => format!(".try_map({})", TRY_MAPS[entry].text),
            Self::Inspect(entry) => format!(".inspect({})", INSPECTS[entry].text),
            Self::KeyBy(entry) => format!(".key_by({})", KEYS[entry].text),
            Self::DistinctWithin(ms) => format!(".distinct_within({})", length(ms)),
            Self::Window { size_ms, slide_ms, fields } => {
                let window = match slide_ms {
                    None => format!("tumbling({})", length(size_ms)),
                    Some(slide_ms) => format!("hopping({}, {})", length(size_ms), length(slide_ms)),
                };
                format!(".window({window}).aggregate({})", fields.source())
            }
            Self::Cut { cut, fields } => {
                format!(".window({}).aggregate({})", cut.source(), fields.source())
            }
            Self::Records { records, fields } => {
                format!(".window({}).aggregate({})", records.source(), fields.source())
            }
            Self::Running { ttl_ms, fields } => {
                let retention = ttl_ms.map_or("forever()".to_owned(), |ms| format!("ttl({})", length(ms)));
                format!(".running({retention}).aggregate({})", fields.source())
            }
        }
    }

    /// What the table of coverage calls it; an aggregate's fields are counted apart.
    pub(crate) fn feature(&self) -> Feature {
        match *self {
            Self::EventTime { entry, .. } => ("event_time", TIMES[entry].text),
            Self::Map(entry) => ("map", MAPS[entry].text),
            Self::Filter(entry) => ("filter", FILTERS[entry].text),
            Self::FilterMap(entry) => ("filter_map", FILTER_MAPS[entry].text),
            Self::FlatMap(entry) => ("flat_map", FLAT_MAPS[entry].text),
            Self::TryMap(entry) => ("try_map", TRY_MAPS[entry].text),
            Self::Inspect(entry) => ("inspect", INSPECTS[entry].text),
            Self::KeyBy(entry) => ("key_by", KEYS[entry].text),
            Self::DistinctWithin(_) => ("distinct_within", ""),
            Self::Window { slide_ms: None, .. } => ("window", "tumbling"),
            Self::Window { size_ms, slide_ms: Some(slide_ms), .. } if size_ms % slide_ms == 0 => {
                ("window", "hopping")
            }
            Self::Window { .. } => ("window", "hopping, size not a multiple of slide"),
            Self::Cut { cut, .. } => ("cut", cut.feature()),
            Self::Records { records, .. } if records.ttl_ms.is_some() => ("records, ttl", records.feature()),
            Self::Records { records, .. } => ("records, forever", records.feature()),
            Self::Running { ttl_ms: None, .. } => ("running", "forever"),
            Self::Running { ttl_ms: Some(_), .. } => ("running", "ttl"),
        }
    }
}

impl Fields {
    fn source(&self) -> String {
        let [k, s, v, u, f, at] = self.texts();
        format!("Event {{ k: {k}, s: {s}, v: {v}, u: {u}, f: {f}, at: {at} }}")
    }

    /// The words of each field.
    pub(crate) fn texts(&self) -> [&'static str; 6] {
        let (bytes, texts, signed) = (&BYTES[self.k], &TEXTS[self.s], &SIGNED[self.v]);
        let (unsigned, floats, instants) = (&UNSIGNED[self.u], &FLOATS[self.f], &INSTANTS[self.at]);
        [bytes.text, texts.text, signed.text, unsigned.text, floats.text, instants.text]
    }
}

/// Something that a case can reach: a kind of operator and an entry of its menu.
pub(crate) type Feature = (&'static str, &'static str);

/// Everything that must be reached at least once.
pub(crate) fn features() -> Vec<Feature> {
    fn named<F>(kind: &'static str, entries: &[menu::Closure<F>]) -> Vec<Feature> {
        entries.iter().map(|entry| (kind, entry.text)).collect()
    }
    fn fields<T>(kind: &'static str, entries: &[menu::Field<T>]) -> Vec<Feature> {
        entries.iter().map(|entry| (kind, entry.text)).collect()
    }
    let others = [
        ("distinct_within", ""),
        ("window", "tumbling"),
        ("window", "hopping"),
        ("window", "hopping, size not a multiple of slide"),
        ("running", "forever"),
        ("running", "ttl"),
        ("late", ""),
        ("union of ports", ""),
        ("union of branches", ""),
        ("union with itself", ""),
        ("fan-out", ""),
        ("several outputs", ""),
        ("aggregate of an aggregate", ""),
        ("join with itself", ""),
    ];
    let joins = ["join tumbling", "join hopping", "join within"];
    let joins = joins.into_iter().flat_map(|bound| KINDS.map(|kind| (bound, kind)));
    let tables = ["join table", "join table ttl"].into_iter();
    let tables = tables.flat_map(|bound| [KINDS[0], KINDS[1]].map(|kind| (bound, kind)));
    [
        named("event_time", TIMES),
        named("map", MAPS),
        named("filter", FILTERS),
        named("filter_map", FILTER_MAPS),
        named("flat_map", FLAT_MAPS),
        named("try_map", TRY_MAPS),
        named("inspect", INSPECTS),
        KEYS.iter().map(|entry| ("key_by", entry.text)).collect(),
        fields(FIELDS[0], BYTES),
        fields(FIELDS[1], TEXTS),
        fields(FIELDS[2], SIGNED),
        fields(FIELDS[3], UNSIGNED),
        fields(FIELDS[4], FLOATS),
        fields(FIELDS[5], INSTANTS),
        others.to_vec(),
        joins.chain(tables).collect(),
        windows::CUT_NAMES.iter().map(|name| ("cut", *name)).collect(),
        windows::RECORD_NAMES.iter().map(|name| ("records, ttl", *name)).collect(),
        windows::RECORD_NAMES.iter().map(|name| ("records, forever", *name)).collect(),
    ]
    .concat()
}

/// What the table of coverage calls the fields of an aggregate.
pub(crate) const FIELDS: [&str; 6] =
    ["aggregate k:", "aggregate s:", "aggregate v:", "aggregate u:", "aggregate f:", "aggregate at:"];

fn length(ms: u64) -> String {
    if ms.is_multiple_of(1000) && ms > 0 { format!("secs({})", ms / 1000) } else { format!("millis({ms})") }
}
