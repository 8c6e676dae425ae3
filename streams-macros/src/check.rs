//! Third pass: the rules between the parts of a job, one `check_*` each.
//!
//! Types are not known here; what depends on them is said by the bounds in the core.
//! After this pass the driver asks for the errors, and nothing behind it can fail.

mod closures;
mod streams;
mod suspicious;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::Expr;

use crate::ctxt::Ctxt;
use crate::ir::{Call, Job, Node, Setting, Step};
use crate::ops::{Form, Kind};
use crate::{nearest, scope, symbol};

/// Applies every rule.
pub(crate) fn job(ctxt: &Ctxt, job: &Job) {
    // What an operator stands behind is only known if every word before it was understood.
    if !ctxt.has_errors() {
        streams::check(ctxt, job);
        streams::check_aggregate_behind_window(ctxt, job);
    }
    check_job_is_named(ctxt, job);
    check_names_hide_nothing(ctxt, job);
    check_settings_are_no_flags(ctxt, job);
    if !job.is_partial {
        check_ports_are_used(ctxt, job);
        check_streams_are_used(ctxt, job);
        check_settings_are_used(ctxt, job);
    }
    check_output_count(ctxt, job);
    check_unique_operator_names(ctxt, job);
    check_keys_are_owned(ctxt, job);
    check_window_words_need_a_window(ctxt, job);
    check_windows_of_records_are_bounded(ctxt, job);
    check_accumulator_limit(ctxt, job);
    closures::check(ctxt, job);
    suspicious::check(ctxt, job);
}

/// A variable called like a function of the prelude hides it, and rustc would then complain about the
/// call: `fn job(flows: Stream<Flow>, out_of_order: Duration)`.
fn check_names_hide_nothing(ctxt: &Ctxt, job: &Job) {
    let refuse = |name: &Ident, what: &str| {
        if is_function_of_ours(name) {
            ctxt.error_at(
                name.span(),
                format!("the {what} `{name}` hides the function `{name}`; choose another name"),
            );
        }
    };
    job.ports().for_each(|port| refuse(&port.word, "port"));
    job.settings.iter().for_each(|setting| refuse(&setting.name, "setting"));
    job.plain.iter().for_each(|name| refuse(name, "variable"));
}

/// Whether the prelude, or the language of aggregates, has a function of this name.
fn is_function_of_ours(name: &Ident) -> bool {
    let accumulators = symbol::ACCUMULATORS.iter().map(|accumulator| accumulator.name);
    symbol::PRELUDE_FUNCTIONS.iter().copied().chain(accumulators).any(|function| name == function)
}

/// Every setting is a flag on the command line, next to the runtime's own: `fn job(.., workers: u32)`.
fn check_settings_are_no_flags(ctxt: &Ctxt, job: &Job) {
    for setting in &job.settings {
        let name = &setting.name;
        if symbol::RUNTIME_FLAGS.iter().any(|flag| name == flag) {
            let flag = name.to_string().replace('_', "-");
            ctxt.error_at(
                name.span(),
                format!(
                    "the setting `{name}` collides with the flag `--{flag}` of every job; choose another name"
                ),
            );
        }
    }
}

/// A port that nobody reads would still be consumed: `fn job(a: Stream<A>, extra: Stream<B>)`.
fn check_ports_are_used(ctxt: &Ctxt, job: &Job) {
    for (node, uses) in job.nodes.iter().zip(job.uses()) {
        if uses == 0 && matches!(node.call, Call::Port(..)) {
            ctxt.error_at(
                node.word.span(),
                format!("input port `{}` is never read; use it or remove the parameter", node.word),
            );
        }
    }
}

/// A flag that changes nothing misleads: `fn job(flows: Stream<Flow>, limit: u64)` and never `limit`.
fn check_settings_are_used(ctxt: &Ctxt, job: &Job) {
    for Setting { name, .. } in &job.settings {
        let captured = job.nodes.iter().any(|node| node.captures().contains(&name));
        let mentioned = job.steps.iter().any(|step| match step {
            Step::Plain(tokens) => mentions(tokens.clone(), name),
            Step::Node(_) => false,
        });
        if !captured && !mentioned {
            match misspelt(job, name) {
                Some((written, span)) => ctxt.error_at(
                    span,
                    format!("is `{written}` meant to be the setting `{name}`, which is never used; write `{name}`, or remove the parameter"),
                ),
                None => ctxt.error_at(
                    name.span(),
                    format!(
                        "the setting `{name}` is never used; use it in an operator or remove the parameter"
                    ),
                ),
            }
        }
    }
}

/// A variable that nobody knows and that looks like the setting.
fn misspelt(job: &Job, setting: &Ident) -> Option<(String, Span)> {
    let is_near = |name: &str| {
        let is_constant = name.chars().any(char::is_uppercase);
        let is_known =
            job.settings.iter().map(|setting| &setting.name).chain(&job.plain).any(|known| known == name);
        !is_constant && !is_known && nearest::nearest(name, [setting.to_string().as_str()]).is_some()
    };
    job.nodes.iter().flat_map(Node::exprs).find_map(|expr| scope::find(expr, &is_near).mentioned.pop())
}

/// A job is a type and a value with its name, so nothing that it works with has that name:
/// `fn flows(flows: Stream<Flow>)`, `fn count(..)`, `fn main(..)`.
fn check_job_is_named(ctxt: &Ctxt, job: &Job) {
    let name = &job.name;
    let parameters =
        job.ports().map(|port| &port.word).chain(job.settings.iter().map(|setting| &setting.name));
    if name == "main" {
        ctxt.error_at(
            name.span(),
            "a job is not the program's `main`; give it a name and write `fn main() -> std::process::ExitCode { streams_runtime::main(name) }`",
        );
    } else if is_function_of_ours(name) {
        ctxt.error_at(
            name.span(),
            format!("the job `{name}` hides the function `{name}`; choose another name for the job"),
        );
    } else if parameters.chain(&job.plain).any(|other| other == name) {
        ctxt.error_at(
            name.span(),
            format!(
                "the job `{name}` has a parameter or variable of its own name; choose another one for the job"
            ),
        );
    }
}

fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        // `println!("{limit}")` mentions it, too.
        TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        TokenTree::Punct(_) => false,
    })
}

/// Operators whose records go nowhere are a mistake: `let big = flows.filter(..);` and never `big`.
fn check_streams_are_used(ctxt: &Ctxt, job: &Job) {
    for binding in job.bindings.iter().filter(|binding| !binding.is_used) {
        ctxt.error_at(
            binding.name.span(),
            format!("stream `{}` is built and never used; return it or remove it", binding.name),
        );
    }
    for (number, (node, uses)) in job.nodes.iter().zip(job.uses()).enumerate() {
        let is_reported = job.bindings.iter().any(|binding| binding.node == number && !binding.is_used);
        if uses == 0 && !is_reported && !node.is_poisoned && !matches!(node.call, Call::Port(..)) {
            ctxt.error_at(
                node.word.span(),
                format!(
                    "the result of this `{}` is built and never used; bind it with `let` and return it",
                    node.word
                ),
            );
        }
    }
}

/// The signature names the ports and the body fills them: `-> (Stream<A>, Stream<B>)` and one stream.
fn check_output_count(ctxt: &Ctxt, job: &Job) {
    let (declared, place) = &job.declared;
    if let Some(returned) = job.returned
        && *declared != 0
        && returned != *declared
    {
        let streams = if returned == 1 { "stream" } else { "streams" };
        let write = match declared {
            1 => "return one stream".to_owned(),
            n => format!("return a tuple of {n} streams"),
        };
        ctxt.error_on(
            place,
            format!("the job returns {returned} {streams} but its signature says {declared}; {write}"),
        );
    }
}

/// State is found by its operator's name: `.named("a")` twice, or a `let` called like another one's name.
fn check_unique_operator_names(ctxt: &Ctxt, job: &Job) {
    let mut taken: Vec<&str> = Vec::new();
    for node in job.nodes.iter().filter(|node| !matches!(node.call, Call::Port(..)) && !node.id.is_empty()) {
        let id = node.id.as_str();
        if taken.contains(&id) {
            ctxt.error_at(
                node.id_span,
                format!(
                    "two operators are named `{id}`; give one of them another name with `.named(\"..\")`"
                ),
            );
        }
        taken.push(id);
    }
}

/// A key outlives its record: `key_by(|f| &f.host)`.
fn check_keys_are_owned(ctxt: &Ctxt, job: &Job) {
    for node in job.nodes.iter().filter(|node| node.op.form == Form::Cut) {
        for expr in node.exprs() {
            let Expr::Closure(closure) = expr else { continue };
            let values = key_values(&closure.body);
            if let Some(method) = values.iter().copied().find_map(borrowing_method) {
                ctxt.error_at(
                    method.span(),
                    format!("a key must be owned, it outlives its record, and `.{method}()` borrows from it; write `.to_owned()` behind it, or `.clone()` in its place"),
                );
            }
            if let Some(reference) = values.iter().copied().find_map(reference) {
                ctxt.error_at(
                    reference.and_token.span,
                    "a key must be owned, it outlives its record; write `.clone()` behind the field instead of `&` before it",
                );
            }
        }
    }
}

/// The last call of a value, where that borrows: `f.host.as_str()`.
fn borrowing_method(value: &Expr) -> Option<&Ident> {
    const BORROW: &[&str] =
        &["as_bytes", "as_deref", "as_ref", "as_slice", "as_str", "borrow", "deref", "trim"];
    let Expr::MethodCall(call) = value else { return None };
    (call.args.is_empty() && BORROW.iter().any(|word| call.method == word)).then_some(&call.method)
}

fn reference(value: &Expr) -> Option<&syn::ExprReference> {
    let Expr::Reference(reference) = value else { return None };
    Some(reference)
}

/// The values that a key is made of: the one that a closure gives, or the parts of its tuple.
fn key_values(body: &Expr) -> Vec<&Expr> {
    match body {
        Expr::Paren(paren) => key_values(&paren.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().flat_map(key_values).collect(),
        Expr::Block(block) => match block.block.stmts.last() {
            Some(syn::Stmt::Expr(expr, None)) => key_values(expr),
            _ => Vec::new(),
        },
        value => vec![value],
    }
}

/// A running aggregate has no window, `.running(forever()).aggregate((key(), window_start()))`, and a window of
/// records has no bounds in time: `.window(global(forever())).aggregate((key(), window_end()))`.
fn check_window_words_need_a_window(ctxt: &Ctxt, job: &Job) {
    for node in &job.nodes {
        let Call::Aggregate(aggregate) = &node.call else { continue };
        if let (Some(word), Some(window)) =
            (&aggregate.bound_word, input(job, node).and_then(Node::window_word))
            && window.keeps
        {
            let window = window.name;
            ctxt.error_at(
                word.span(),
                format!("`{word}` needs a window of event time and `{window}` has no bounds; write e.g. `min(|r| r.at)` and `max(|r| r.at)`"),
            );
        }
        if let (Some(word), Some(Kind::Running)) = (&aggregate.window_word, input_kind(job, node)) {
            ctxt.error_at(
                word.span(),
                format!("`{word}` needs a window and this aggregate is running; remove it or write `.window(tumbling(secs(10)))`"),
            );
        }
    }
}

/// Keys that come no more would be kept in silence: `.window(count_window(100))`.
fn check_windows_of_records_are_bounded(ctxt: &Ctxt, job: &Job) {
    for node in &job.nodes {
        let Some(word) = node.window_word().filter(|word| word.keeps) else { continue };
        let Some((call, _)) = node.exprs().first().and_then(|spec| symbol::window_call(spec)) else {
            continue;
        };
        let first = if word.name == "global" { "" } else { "100, " };
        if call.args.len() < word.args {
            ctxt.error_on(
                &call.func,
                format!(
                    "unbounded state; write `{0}({first}ttl(mins(10)))` to forget a key that has been quiet, or `{0}({first}forever())`",
                    word.name
                ),
            );
        }
    }
}

/// The accumulators of an aggregate are one tuple of state, and tuples have an end.
fn check_accumulator_limit(ctxt: &Ctxt, job: &Job) {
    for node in &job.nodes {
        let Call::Aggregate(aggregate) = &node.call else { continue };
        if let Some(first_beyond) = aggregate.accumulators.get(symbol::MAX_ACCUMULATORS) {
            ctxt.error_at(
                first_beyond.word.span(),
                format!(
                    "an aggregate takes at most {} accumulators; gather several values in one with `acc(..)`",
                    symbol::MAX_ACCUMULATORS
                ),
            );
        }
    }
}

fn input_kind(job: &Job, node: &Node) -> Option<Kind> {
    input(job, node).map(|input| input.kind)
}

fn input<'a>(job: &'a Job, node: &Node) -> Option<&'a Node> {
    node.inputs.first().and_then(|input| job.nodes.get(*input))
}

#[cfg(test)]
mod tests;
