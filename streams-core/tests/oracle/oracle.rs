//! The batch oracle: what a job must give, computed slowly and one whole stream after the other.
//!
//! Nothing here is shared with the engine. Each stream is a list of everything that ever flows in it. The
//! engine runs one record through everything before it takes the next; here each element instead carries a
//! path, which says what caused it, and comparing paths gives the same order.

use std::collections::BTreeMap;

use crate::event::Event;
use crate::menu::{FILTER_MAPS, FILTERS, FLAT_MAPS, INSPECTS, KEYS, Key, MAPS, TIMES, TRY_MAPS};
use crate::oracle::aggregates::{Windows, running, windows};
use crate::oracle::records::records_of;
use crate::oracle::updates::Cutting;
use crate::outcome::{Outcome, Row};
use crate::plan::{Bound, Feature, Input, Job, Op, Origin};
use crate::streams::{Item, What as Given};

mod aggregates;
mod joins;
mod records;
mod tests;
mod updates;

/// A mistake that is planted on purpose, to see that comparing finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    None,
    /// A window holds one millisecond too much.
    WindowEnd,
    /// A window fires behind its end instead of at it.
    Firing,
    /// A record is late one millisecond too late.
    Lateness,
    /// A window of a join holds one millisecond too much.
    JoinWindow,
    /// A record near another may be one millisecond earlier than it may.
    Before,
    /// Or later.
    After,
    /// A record is said to stay alone one millisecond too early.
    Alone,
    /// Records exactly the gap apart are one session.
    Gap,
    /// A window is kept one millisecond too long.
    Allowance,
    /// Early results come one millisecond too late.
    Early,
    /// A quiet key is forgotten one millisecond too late.
    Quiet,
}

/// One element of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    /// The step of the input that caused it, then at every place where one thing causes several its number
    /// among them.
    pub(crate) path: Vec<usize>,
    pub(crate) what: What,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Record {
        at: i64,
        key: Option<Key>,
        event: Event,
    },
    /// Event time has reached this.
    Mark(i64),
    End,
}

impl Element {
    pub(crate) fn child(&self, number: usize, what: What) -> Self {
        let mut path = self.path.clone();
        path.push(number);
        Self { path, what }
    }
}

/// What was reached, and by how many rows, late records and rejects.
pub(crate) type Tally = BTreeMap<Feature, [u64; 3]>;

/// Everything that the evaluation counts.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) late: u64,
    pub(crate) repeated: u64,
    pub(crate) rejects: u64,
    pub(crate) looks: u64,
    pub(crate) tally: Tally,
}

impl Counts {
    pub(crate) fn reach(&mut self, feature: Feature, [rows, late, rejects]: [usize; 3]) {
        let entry = self.tally.entry(feature).or_default();
        for (sum, n) in entry.iter_mut().zip([rows, late, rejects]) {
            *sum += n as u64;
        }
    }
}

/// The results of the job for these items and the end of all inputs.
pub(crate) fn evaluate(job: &Job, items: &[Item], mutation: Mutation) -> (Outcome, Tally) {
    let mut evaluation = Evaluation {
        job,
        ports: (0..job.n_ports).map(|port| Readers::new(given(items, port))).collect(),
        lets: Vec::new(),
        late: BTreeMap::new(),
        counts: Counts::default(),
        mutation,
    };
    for number in 0..job.lets.len() {
        evaluation.chain(number);
    }
    let ports: Vec<Vec<Row>> = job
        .outputs
        .iter()
        .map(|&output| {
            let elements = evaluation.read(Input::Let(output));
            elements.into_iter().filter_map(row).collect()
        })
        .collect();
    let n_rows = ports.iter().map(Vec::len).sum();
    if ports.len() > 1 {
        evaluation.counts.reach(("several outputs", ""), [n_rows, 0, 0]);
    }
    let Counts { late, repeated, rejects, looks, tally } = evaluation.counts;
    (Outcome { ports, late, repeated, rejects, looks }, tally)
}

/// What comes in through one port, up to its end.
fn given(items: &[Item], port: usize) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::new();
    for (step, item) in items.iter().enumerate().filter(|(_, item)| item.port == port) {
        let what = match &item.what {
            Given::Record(event) => What::Record { at: i64::MIN, key: None, event: event.clone() },
            Given::Advance(at) => What::Mark(*at),
            Given::End => What::End,
        };
        elements.push(Element { path: vec![step, 0], what });
    }
    // A port that has not ended before ends last, in the order of the ports.
    if !elements.iter().any(|element| matches!(element.what, What::End)) {
        elements.push(Element { path: vec![items.len(), port], what: What::End });
    }
    elements
}

fn row(element: Element) -> Option<Row> {
    let step = element.path.first().copied()?;
    match element.what {
        What::Record { at, event, .. } => Some(Row { step, at, event }),
        _ => None,
    }
}

/// A finished stream and how many have read it.
struct Readers {
    elements: Vec<Element>,
    n_reads: usize,
}

impl Readers {
    fn new(elements: Vec<Element>) -> Self {
        Self { elements, n_reads: 0 }
    }
}

struct Evaluation<'a> {
    job: &'a Job,
    ports: Vec<Readers>,
    lets: Vec<Readers>,
    /// Late records by the `let` that ends in the window.
    late: BTreeMap<usize, Vec<Element>>,
    counts: Counts,
    mutation: Mutation,
}

impl Evaluation<'_> {
    /// One reader's copy. Of several readers, the one that is written first sees each element first.
    fn read(&mut self, input: Input) -> Vec<Element> {
        let stream = match input {
            Input::Port(port) => &mut self.ports[port],
            Input::Let(name) => &mut self.lets[name],
        };
        let number = stream.n_reads;
        stream.n_reads += 1;
        if self.job.uses(input) > 1 {
            self.counts.reach(("fan-out", ""), [records(&stream.elements), 0, 0]);
        }
        stream.elements.iter().map(|element| element.child(number, element.what.clone())).collect()
    }

    fn chain(&mut self, number: usize) {
        let chain = &self.job.lets[number];
        let mut elements = match chain.origin {
            Origin::Port(port) => self.read(Input::Port(port)),
            Origin::Let(name) => self.read(Input::Let(name)),
            Origin::Union(a, b) => {
                let (left, right) = (self.read(a), self.read(b));
                let feature = match (a, b) {
                    _ if a == b => "union with itself",
                    (Input::Port(_), Input::Port(_)) => "union of ports",
                    _ if self.job.n_ports == 1 => "union of branches",
                    _ => "union",
                };
                self.counts.reach((feature, ""), [records(&left) + records(&right), 0, 0]);
                union(left, right)
            }
            Origin::Join(a, b, spec) => {
                let (left, right) = match spec.bound {
                    // The changes of a table are a chain of their own in the argument, which reads first.
                    Bound::Table(_) => {
                        let right = self.read(b);
                        (self.read(a), right)
                    }
                    _ => (self.read(a), self.read(b)),
                };
                let late = self.counts.late;
                let rows = joins::join(left, right, spec, self.mutation, &mut self.counts);
                let late = (self.counts.late - late) as usize;
                self.counts.reach(spec.feature(), [records(&rows), late, 0]);
                let of_what = if a == b { "join with itself" } else { "join" };
                self.counts.reach((of_what, ""), [records(&rows), 0, 0]);
                rows
            }
            Origin::Late(name) => {
                let late = self.late.remove(&name).unwrap_or_default();
                self.counts.reach(("late", ""), [records(&late), 0, 0]);
                late
            }
        };
        let mut n_aggregates = 0;
        for op in &chain.ops {
            elements = self.apply(op, elements, number);
            if matches!(op, Op::Window { .. } | Op::Cut { .. } | Op::Records { .. } | Op::Running { .. }) {
                n_aggregates += 1;
                if n_aggregates > 1 {
                    self.counts.reach(("aggregate of an aggregate", ""), [records(&elements), 0, 0]);
                }
            }
        }
        self.lets.push(Readers::new(elements));
    }

    fn apply(&mut self, op: &Op, elements: Vec<Element>, number: usize) -> Vec<Element> {
        let counts = &mut self.counts;
        let (late, rejects) = (counts.late, counts.rejects);
        let out = match *op {
            Op::EventTime { entry, bound_ms } => event_time(elements, TIMES[entry].run, bound_ms),
            Op::Map(entry) => each(elements, |event| vec![(MAPS[entry].run)(event)]),
            Op::Filter(entry) => each(elements, |event| {
                let keep = (FILTERS[entry].run)(&event);
                if keep { vec![event] } else { Vec::new() }
            }),
            Op::FilterMap(entry) => {
                each(elements, |event| (FILTER_MAPS[entry].run)(event).into_iter().collect())
            }
            Op::FlatMap(entry) => each(elements, FLAT_MAPS[entry].run),
            Op::TryMap(entry) => each(elements, |event| match (TRY_MAPS[entry].run)(&event) {
                Ok(event) => vec![event],
                Err(_) => {
                    counts.rejects += 1;
                    Vec::new()
                }
            }),
            Op::Inspect(_) => {
                debug_assert_eq!(INSPECTS.len(), 1, "every look is counted once");
                counts.looks += records(&elements) as u64;
                elements
            }
            Op::KeyBy(entry) => key_by(elements, KEYS[entry].run),
            Op::DistinctWithin(ms) => distinct_within(elements, i128::from(ms), &mut counts.repeated),
            Op::Window { size_ms, slide_ms, fields } => {
                let spans = Windows {
                    size: i128::from(size_ms),
                    slide: i128::from(slide_ms.unwrap_or(size_ms)),
                    mutation: self.mutation,
                };
                let (rows, late) = windows(&elements, spans, fields, counts);
                self.late.insert(number, late);
                rows
            }
            Op::Cut { cut, fields } => {
                let (rows, late) = Cutting::new(cut, self.mutation, fields).run(&elements, counts);
                self.late.insert(number, late);
                rows
            }
            Op::Records { records, fields } => records_of(&elements, records, self.mutation, fields, counts),
            Op::Running { ttl_ms, fields } => running(&elements, ttl_ms.map(i128::from), fields, counts),
        };
        let late = (self.counts.late - late) as usize;
        let rejects = (self.counts.rejects - rejects) as usize;
        self.counts.reach(op.feature(), [records(&out), late, rejects]);
        out
    }
}

/// How many of the elements are records.
fn records(elements: &[Element]) -> usize {
    elements.iter().filter(|element| matches!(element.what, What::Record { .. })).count()
}

/// Event time follows the largest time seen at the bound's distance, and is told in front of the record.
fn event_time(elements: Vec<Element>, of: fn(&Event) -> i64, bound_ms: u64) -> Vec<Element> {
    let mut out = Vec::new();
    let mut told = i64::MIN;
    for element in elements {
        let mark = match &element.what {
            What::Record { event, .. } => {
                let behind = i128::from(of(event)) - i128::from(bound_ms);
                i64::try_from(behind).unwrap_or(i64::MIN)
            }
            What::Mark(at) => *at,
            What::End => i64::MIN,
        };
        if mark > told {
            told = mark;
            out.push(element.child(0, What::Mark(mark)));
        }
        match &element.what {
            What::Record { key, event, .. } => {
                let (at, key, event) = (of(event), key.clone(), event.clone());
                out.push(element.child(1, What::Record { at, key, event }));
            }
            What::Mark(_) => {}
            What::End => out.push(element.child(1, What::End)),
        }
    }
    out
}

/// Turns every record into others with its time and its key.
fn each(elements: Vec<Element>, mut f: impl FnMut(Event) -> Vec<Event>) -> Vec<Element> {
    let mut out = Vec::new();
    for element in elements {
        let What::Record { at, key, event } = element.what.clone() else {
            out.push(element);
            continue;
        };
        for (number, event) in f(event).into_iter().enumerate() {
            out.push(element.child(number, What::Record { at, key: key.clone(), event }));
        }
    }
    out
}

fn key_by(mut elements: Vec<Element>, of: fn(&Event) -> Key) -> Vec<Element> {
    for element in &mut elements {
        if let What::Record { key, event, .. } = &mut element.what {
            *key = Some(of(event));
        }
    }
    elements
}

/// A record goes on unless one of its key went on that is nearer than `length`, of those that event time has not
/// passed by the length.
fn distinct_within(elements: Vec<Element>, length: i128, repeated: &mut u64) -> Vec<Element> {
    let mut out = Vec::new();
    let mut passed: Vec<(Key, i128)> = Vec::new();
    let mut time = i128::from(i64::MIN);
    for element in elements {
        match &element.what {
            What::Mark(mark) => time = i128::from(*mark),
            What::End => {}
            What::Record { at, key, .. } => {
                let (at, key) = (i128::from(*at), key.clone().expect("it is keyed"));
                let is_near = |(other, passed): &(Key, i128)| {
                    *other == key && (at - passed).abs() < length && passed + length > time
                };
                if passed.iter().any(is_near) {
                    *repeated += 1;
                    continue;
                }
                passed.push((key, at));
            }
        }
        out.push(element);
    }
    out
}

/// Records in order of what caused them; event time is the smaller of the inputs that have not ended; the end
/// is that of the last input.
fn union(left: Vec<Element>, right: Vec<Element>) -> Vec<Element> {
    merge(left, right).into_iter().map(|(_, element)| element).collect()
}

/// As a union, and which side each record is from.
fn merge(left: Vec<Element>, right: Vec<Element>) -> Vec<(usize, Element)> {
    let mut all: Vec<(usize, Element)> = left.into_iter().map(|element| (0, element)).collect();
    all.extend(right.into_iter().map(|element| (1, element)));
    all.sort_by(|(_, a), (_, b)| a.path.cmp(&b.path));
    let mut out: Vec<(usize, Element)> = Vec::new();
    // `None` is an input that has ended.
    let mut marks = [Some(i64::MIN); 2];
    let mut told = i64::MIN;
    for (input, element) in all {
        match element.what {
            What::Record { .. } => {
                out.push((input, element));
                continue;
            }
            What::Mark(at) => marks[input] = Some(at),
            What::End => marks[input] = None,
        }
        match marks.iter().flatten().min() {
            None => out.push((input, Element { path: element.path, what: What::End })),
            Some(&smallest) if smallest > told => {
                told = smallest;
                out.push((input, Element { path: element.path, what: What::Mark(smallest) }));
            }
            Some(_) => {}
        }
    }
    out
}
