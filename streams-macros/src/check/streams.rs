//! What a stream must have before an operator: a key, event time, a window.
//!
//! The core's types say the same and also see what the macro cannot; here the message comes alone.

use crate::ctxt::Ctxt;
use crate::ir::{Call, Job, Node};
use crate::ops::Form;

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

fn after(node: &Node, before: Facts) -> Facts {
    match (&node.call, node.op.form) {
        (Call::Port(..), _) => Facts::default(),
        (_, Form::Cut) => Facts { keyed: true, windowed: false, ..before },
        (_, Form::Window) => Facts { windowed: true, ..before },
        (_, Form::Aggregate | Form::Late) => Facts { windowed: false, ..before },
        _ if node.op.name == "running" => Facts { windowed: true, ..before },
        _ if node.op.name == "event_time" => Facts { timed: true, ..before },
        _ => before,
    }
}

/// State is kept per key: `flows.window(tumbling(secs(10)))`.
fn check_key_before_window(ctxt: &Ctxt, node: &Node, before: Facts) -> bool {
    let needs = node.op.form == Form::Window || node.op.name == "running";
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
    let needs = node.window_word().is_some_and(|word| !word.keeps);
    if needs && !before.timed {
        ctxt.error_at(
            node.word.span(),
            "a window needs event time and this stream has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before the `key_by`",
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
