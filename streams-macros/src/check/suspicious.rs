//! What is legal and hardly meant: it runs, and wastes what it runs on.
//!
//! Everything here is a warning.

use syn::Expr;

use crate::ctxt::Ctxt;
use crate::ir::{Job, Node};
use crate::ops::{Form, Kind};
use crate::scope;

/// Applies the rules to every operator.
pub(super) fn check(ctxt: &Ctxt, job: &Job) {
    for node in &job.nodes {
        check_key_varies(ctxt, node);
        check_filter_stands_before_window(ctxt, job, node);
    }
}

/// With one key for all records one machine does all the work: `key_by(|_| 0)`. `|_| ()` says that it is meant.
fn check_key_varies(ctxt: &Ctxt, node: &Node) {
    if node.op.form != Form::Cut {
        return;
    }
    for expr in node.exprs() {
        let Expr::Closure(closure) = expr else { continue };
        let is_meant = matches!(&*closure.body, Expr::Tuple(unit) if unit.elems.is_empty());
        let parameters: Vec<String> =
            closure.inputs.iter().flat_map(scope::bound).map(|name| name.to_string()).collect();
        let body = scope::find(&closure.body, &|name| parameters.iter().any(|known| known == name));
        if body.mentioned.is_empty() && !is_meant {
            ctxt.warn_at(
                closure.or1_token.span,
                "constant_key",
                "every record gets the same key, so that one machine does all the work; key by a field of the record, or write `|_| ()` where that is meant",
            );
        }
    }
}

/// What is dropped need not be cut into windows: `window(..).filter(..).aggregate(..)`.
fn check_filter_stands_before_window(ctxt: &Ctxt, job: &Job, node: &Node) {
    let input = node.inputs.first().and_then(|input| job.nodes.get(*input));
    if node.op.name == "filter"
        && input.is_some_and(|input| matches!(input.kind, Kind::Windowed | Kind::Running))
    {
        ctxt.warn_at(
            node.word.span(),
            "late_filter",
            "this filter drops records that have crossed the shuffle; write it in front of `.key_by(..)`",
        );
    }
}
