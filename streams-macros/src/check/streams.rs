//! What a stream must have before an operator: a key, event time, a window.
//!
//! The core's types say the same and also see what the macro cannot; here the message comes alone.

use crate::ctxt::Ctxt;
use crate::ir::{Call, Job, Node};
use crate::ops::{Form, Kind};

/// What is known of a stream.
#[derive(Clone, Copy, Default)]
struct Facts {
    keyed: bool,
    timed: bool,
    windowed: bool,
    /// Something was reported before it, so that nothing is sure.
    unsure: bool,
}

/// Applies the rules to every operator.
pub(super) fn check(ctxt: &Ctxt, job: &Job) {
    let mut facts: Vec<Facts> = Vec::with_capacity(job.nodes.len());
    for node in &job.nodes {
        if node.op.form == Form::Join {
            let joined = join(ctxt, job, node, &facts);
            facts.push(joined);
            continue;
        }
        let inputs = node.inputs.iter().filter_map(|input| facts.get(*input).copied());
        let before = inputs
            .reduce(|a, b| Facts {
                keyed: a.keyed && b.keyed,
                timed: a.timed && b.timed,
                windowed: a.windowed && b.windowed,
                unsure: a.unsure || b.unsure || (a.keyed, a.timed) != (b.keyed, b.timed),
            })
            .unwrap_or_default();
        let sound = before.unsure
            || node.is_poisoned
            || (check_key_before_window(ctxt, node, before)
                & check_time_before_window(ctxt, node, before)
                & check_window_before_aggregate(ctxt, node, before));
        facts.push(Facts { unsure: before.unsure || node.is_poisoned || !sound, ..after(node, before) });
    }
}

/// A window gathers what an aggregate behind it adds up: `.window(tumbling(secs(10)))` as an output, or in front of
/// another window.
pub(super) fn check_aggregate_behind_window(ctxt: &Ctxt, job: &Job) {
    let is_cut = |id: &usize| {
        job.nodes.get(*id).is_some_and(|node| matches!(node.kind, Kind::Windowed | Kind::Running))
    };
    let lead_on = |node: &Node| {
        matches!(node.op.form, Form::Window | Form::Cut | Form::Union) || node.op.name == "running"
    };
    let behind = job.nodes.iter().filter(|node| lead_on(node)).flat_map(|node| node.inputs.iter().copied());
    let mut reported = Vec::new();
    for id in behind.chain(job.outputs.iter().map(|output| output.node)).filter(is_cut) {
        let mut at = id;
        // Back to the word itself, over what looks at one record at a time.
        while let Some(node) = job.nodes.get(at)
            && node.op.form != Form::Window
            && node.op.name != "running"
            && let Some(before) = node.inputs.first()
        {
            at = *before;
        }
        let Some(cut) = job.nodes.get(at).filter(|_| !reported.contains(&at)) else { continue };
        reported.push(at);
        ctxt.error_at(
            cut.word.span(),
            format!(
                "this `{}` has no aggregate behind it and does nothing; write `.aggregate(Total {{ host: key(), n: count() }})` behind it, or remove it",
                cut.word
            ),
        );
    }
}

/// The rules for a join, whose sides are looked at one by one.
fn join(ctxt: &Ctxt, job: &Job, node: &Node, facts: &[Facts]) -> Facts {
    let sides: Vec<Facts> = node.inputs.iter().filter_map(|input| facts.get(*input).copied()).collect();
    let mut unsure = node.is_poisoned || sides.iter().any(|side| side.unsure);
    if !unsure {
        for (number, side) in sides.iter().enumerate() {
            let place = Place { node, number };
            let sound = check_key_before_join(ctxt, place, *side)
                && check_no_window_before_join(ctxt, job, place)
                && check_time_before_join(ctxt, place, *side, &sides);
            unsure |= !sound;
        }
    }
    Facts { keyed: true, timed: sides.iter().all(|side| side.timed), windowed: false, unsure }
}

/// One side of a join.
#[derive(Clone, Copy)]
struct Place<'a> {
    node: &'a Node,
    number: usize,
}

impl Place<'_> {
    /// The left side has no place of its own: the operator is called on it.
    fn span(self) -> proc_macro2::Span {
        match self.number {
            0 => self.node.word.span(),
            number => self.node.input_spans.get(number).copied().unwrap_or_else(|| self.node.word.span()),
        }
    }

    fn side(self) -> &'static str {
        if self.number == 0 { "left" } else { "right" }
    }
}

/// Records are joined by key: `orders.join(payments, ..)` without `key_by` in one of them.
fn check_key_before_join(ctxt: &Ctxt, place: Place<'_>, side: Facts) -> bool {
    if !side.keyed {
        ctxt.error_at(
            place.span(),
            format!(
                "`{}` needs a key on both sides and the {} one has none; write `.key_by(|r| r.id)` in it",
                place.node.word,
                place.side()
            ),
        );
    }
    side.keyed
}

/// Both sides have the same windows, because there is one place to write them:
/// `orders.window(tumbling(secs(10))).join(..)`.
fn check_no_window_before_join(ctxt: &Ctxt, job: &Job, place: Place<'_>) -> bool {
    let side = place.node.inputs.get(place.number).and_then(|input| job.nodes.get(*input));
    let cut = side.filter(|side| matches!(side.kind, Kind::Windowed | Kind::Running));
    if let Some(cut) = cut {
        ctxt.error_at(
            cut.word.span(),
            format!(
                "this `{}` has no aggregate behind it; a join takes its window as an argument: `{}`",
                cut.word, place.node.op.example
            ),
        );
    }
    cut.is_none()
}

/// What belongs together is said in event time: `orders.join(payments, ..)` without `event_time` in one of them.
fn check_time_before_join(ctxt: &Ctxt, place: Place<'_>, side: Facts, sides: &[Facts]) -> bool {
    let is_needed = !place.node.op.joins_table() || sides.iter().any(|side| side.timed);
    if is_needed && !side.timed {
        ctxt.error_at(
            place.span(),
            format!(
                "`{}` needs event time on both sides and the {} one has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before its `key_by`",
                place.node.word,
                place.side()
            ),
        );
    }
    side.timed || !is_needed
}

fn after(node: &Node, before: Facts) -> Facts {
    match (&node.call, node.op.form) {
        (Call::Port(..), _) => Facts::default(),
        (_, Form::Cut) => Facts { keyed: true, windowed: false, ..before },
        (_, Form::Window) => Facts { windowed: true, ..before },
        (_, Form::Aggregate | Form::Late) => Facts { windowed: false, ..before },
        _ if node.op.name == "running" => Facts { windowed: true, ..before },
        _ if node.op.gives_time() => Facts { timed: true, ..before },
        _ => before,
    }
}

/// State is kept per key: `flows.window(tumbling(secs(10)))`.
fn check_key_before_window(ctxt: &Ctxt, node: &Node, before: Facts) -> bool {
    let needs = node.op.form == Form::Window || ["running", "distinct_within"].contains(&node.op.name);
    if needs && !before.keyed {
        ctxt.error_at(
            node.word.span(),
            format!(
                "`{0}` needs a key and this stream has none; write `.key_by(|r| r.field.clone())` before `.{0}(..)`",
                node.word
            ),
        );
    }
    !needs || before.keyed
}

/// Windows are cut in event time: `flows.key_by(..).window(tumbling(secs(10)))`. Those of records need none, unless
/// their own words do, which rustc knows.
fn check_time_before_window(ctxt: &Ctxt, node: &Node, before: Facts) -> bool {
    let (needs, what) = match node.op.name {
        "distinct_within" => (true, "`distinct_within`"),
        _ => (node.window_word().is_some_and(|word| !word.keeps), "a window"),
    };
    if needs && !before.timed {
        ctxt.error_at(
            node.word.span(),
            format!(
                "{what} needs event time and this stream has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before the `key_by`"
            ),
        );
    }
    !needs || before.timed
}

/// An aggregate gathers what a window holds: `flows.key_by(..).aggregate(count())`.
fn check_window_before_aggregate(ctxt: &Ctxt, node: &Node, before: Facts) -> bool {
    let needs = node.op.form == Form::Aggregate;
    if needs && !before.windowed {
        ctxt.error_at(
            node.word.span(),
            "`aggregate` needs a window; write `.window(tumbling(secs(10)))` before it, or `.running(forever())` for one result per record",
        );
    }
    !needs || before.windowed
}
