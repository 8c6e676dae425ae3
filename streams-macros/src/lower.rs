//! Second pass: the job as written to the job as meant.
//!
//! It resolves words in the operator table and names in the job, takes aggregates apart, gives every
//! operator its id and reports what does not resolve.
//! Rules between nodes belong to `check`.

mod aggregate;
mod args;
mod chain;
mod ids;
mod outputs;
mod place;
mod window;

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::ext::IdentExt;

use crate::ctxt::Ctxt;
use crate::ident::Names;
use crate::ir::{Binding, Call, Job, Node, NodeId, Setting, Step};
use crate::ops::{self, Kind};
use crate::parse::signature::record_type;
use crate::{ast, scope, text};

/// Resolves a job; what does not resolve is reported and left out.
pub(crate) fn job(ctxt: &Ctxt, job: &ast::Job) -> Job {
    let mut lower = Lower::new(ctxt, Names::new(job.keyword));
    lower.params(&job.params);
    for stmt in &job.body {
        lower.statement(stmt);
    }
    let outputs = lower.outputs(job);
    ids::assign(&mut lower.nodes, &lower.let_ends);
    Job {
        doc: job.doc.clone(),
        doc_attrs: job.doc_attrs.clone(),
        attrs: job.attrs.clone(),
        vis: job.vis.clone(),
        names: lower.forge,
        name: job.name.clone(),
        settings: lower.settings,
        steps: lower.steps,
        nodes: lower.nodes,
        declared: (job.outputs.types.len(), job.outputs.tokens.clone()),
        returned: outputs::count(job),
        is_partial: lower.is_partial || job.tail.is_none(),
        outputs,
        bindings: lower.bindings,
        plain: lower.plain,
        values: lower.values,
        fingerprint: text::fingerprint(job.code.clone()),
    }
}

/// What a name of the job stands for.
#[derive(Clone, Debug)]
enum Name {
    /// A stream, and the `let` that gave it this name.
    Stream(NodeId, Option<usize>),
    /// A setting or a plain `let`.
    Plain(Ident),
    /// Something that was already reported.
    Poison,
}

/// The state of the pass.
struct Lower<'a> {
    ctxt: &'a Ctxt,
    forge: Names,
    names: BTreeMap<String, Name>,
    settings: Vec<Setting>,
    steps: Vec<Step>,
    nodes: Vec<Node>,
    bindings: Vec<Binding>,
    plain: Vec<Ident>,
    values: Vec<syn::Expr>,
    /// The last operator of a `let`'s chain and the name that it lends.
    let_ends: Vec<(NodeId, Ident)>,
    /// True once something was left out.
    is_partial: bool,
}

impl<'a> Lower<'a> {
    fn new(ctxt: &'a Ctxt, forge: Names) -> Self {
        Self {
            ctxt,
            forge,
            names: BTreeMap::new(),
            settings: Vec::new(),
            steps: Vec::new(),
            nodes: Vec::new(),
            bindings: Vec::new(),
            plain: Vec::new(),
            values: Vec::new(),
            let_ends: Vec::new(),
            is_partial: false,
        }
    }

    fn params(&mut self, params: &[ast::Param]) {
        let ports = params.iter().filter(|param| param.is_port);
        for (number, port) in ports.enumerate() {
            let record = record_type(&port.ty).map(|ty| text::of_type(ty.to_token_stream()));
            let node = self.push(Node {
                op: &ops::SOURCE,
                word: port.name.clone(),
                inputs: Vec::new(),
                input_spans: Vec::new(),
                kind: Kind::Plain,
                call: Call::Port(Box::new(port.ty.clone()), number),
                id: port.name.unraw().to_string(),
                id_span: port.name.span(),
                named: None,
                text: record.unwrap_or_default(),
                impure: None,
                is_poisoned: false,
            });
            self.names.insert(port.name.to_string(), Name::Stream(node, None));
        }
        for setting in params.iter().filter(|param| !param.is_port) {
            self.names.insert(setting.name.to_string(), Name::Plain(setting.name.clone()));
            self.settings.push(Setting {
                name: setting.name.clone(),
                ty: setting.ty.clone(),
                default: setting.default.as_ref().map(syn::LitStr::value),
                doc: setting.doc.clone(),
            });
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(node);
        self.steps.push(Step::Node(id));
        id
    }

    fn statement(&mut self, stmt: &ast::Stmt) {
        match stmt {
            ast::Stmt::Item(item) => self.steps.push(Step::Plain(item.to_token_stream())),
            ast::Stmt::Let(bound) => self.binding(bound),
            ast::Stmt::Dropped(chain) => {
                match self.chain(chain) {
                    chain::Value::Stream(node) => {
                        self.ctxt.error_on(&chain.whole, "this stream is built and never used; bind it with `let` and return it, or remove it");
                        self.poison(node);
                    }
                    chain::Value::Plain => {
                        self.ctxt.error_on(&chain.whole, "a job is a pipeline; this expression has no part in it, call functions inside an operator");
                    }
                    chain::Value::Poison => {}
                }
            }
        }
    }

    fn binding(&mut self, bound: &ast::Let) {
        let first_new = self.nodes.len();
        match self.chain(&bound.chain) {
            chain::Value::Stream(node) => {
                let Some(name) = self.stream_name(&bound.local.pat) else {
                    for name in scope::bound(&bound.local.pat) {
                        self.names.insert(name.to_string(), Name::Poison);
                    }
                    return self.poison(node);
                };
                if node >= first_new {
                    self.let_ends.push((node, name.clone()));
                }
                let binding = self.bindings.len();
                self.names.insert(name.to_string(), Name::Stream(node, Some(binding)));
                self.bindings.push(Binding { name, node, is_used: false });
            }
            chain::Value::Plain if self.refuse_streams(&bound.chain.whole) => {
                self.is_partial = true;
                for name in scope::bound(&bound.local.pat) {
                    self.names.insert(name.to_string(), Name::Poison);
                }
            }
            chain::Value::Plain => {
                self.values.push(bound.chain.whole.clone());
                for name in scope::bound(&bound.local.pat) {
                    self.names.insert(name.to_string(), Name::Plain(name.clone()));
                    self.plain.push(name);
                }
                self.steps.push(Step::Plain(bound.local.to_token_stream()));
            }
            chain::Value::Poison => {
                for name in scope::bound(&bound.local.pat) {
                    self.names.insert(name.to_string(), Name::Poison);
                }
            }
        }
    }

    /// The name in `let name = stream`.
    fn stream_name(&self, pat: &syn::Pat) -> Option<Ident> {
        match pat {
            syn::Pat::Ident(pat) if pat.subpat.is_none() && pat.by_ref.is_none() => Some(pat.ident.clone()),
            syn::Pat::Type(typed) => {
                self.ctxt.error_on(&typed.ty, "the type of a stream is inferred; remove the type");
                self.stream_name(&typed.pat)
            }
            syn::Pat::Wild(wild) => {
                self.ctxt.error_on(wild, "this stream is built and never used; return it or remove it");
                None
            }
            other => {
                self.ctxt.error_on(other, "a stream is bound to a plain name; write `let name = ..`");
                None
            }
        }
    }

    /// A stream can only be read by an operator or returned; whether there was one.
    fn refuse_streams(&self, expr: &syn::Expr) -> bool {
        if self.refuse_misplaced(expr) {
            return true;
        }
        let found = self.streams_in(expr);
        for (name, span) in &found {
            self.ctxt.error_at(
                *span,
                format!(
                    "`{name}` is a stream and not a value; read it with an operator such as `{name}.map(..)`"
                ),
            );
        }
        !found.is_empty()
    }

    /// Refuses the first stream in something that is often tried with one: the others are the same mistake.
    fn refuse_misplaced(&self, expr: &syn::Expr) -> bool {
        let found = self.streams_in(expr);
        let message = found.first().and_then(|(name, span)| Some((*span, misplaced(expr, name)?)));
        let is_refused = message.is_some();
        if let Some((span, message)) = message {
            self.ctxt.error_at(span, message);
        }
        is_refused
    }

    fn streams_in(&self, expr: &syn::Expr) -> Vec<(String, Span)> {
        scope::find(expr, &|name| matches!(self.names.get(name), Some(Name::Stream(..)))).mentioned
    }

    /// A reported stream is not reported again as unused.
    fn poison(&mut self, node: NodeId) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.is_poisoned = true;
        }
    }
}

/// What to write where a stream stands in something that is often tried with one.
fn misplaced(expr: &syn::Expr, stream: &str) -> Option<String> {
    match expr {
        syn::Expr::If(_) | syn::Expr::Match(_) => Some(format!(
            "which streams a job has is fixed when it is compiled, so nothing chooses between them; choose per record: write `{stream}.filter(..)` or decide inside of `{stream}.map(..)`"
        )),
        syn::Expr::Tuple(_) | syn::Expr::Array(_) => Some(format!(
            "`{stream}` is a stream, and each one has a name of its own; write one `let name = ..` for each"
        )),
        syn::Expr::Call(call) => {
            let syn::Expr::Path(function) = &*call.func else { return None };
            let function = &function.path.segments.last()?.ident;
            // A type, such as `Some`, makes no part.
            let is_function = function.to_string().starts_with(char::is_lowercase);
            is_function.then(|| format!(
                "a plain function takes no stream; put `#[stream_part]` on `{function}` and write `{stream}.through({function})`"
            ))
        }
        syn::Expr::Reference(_) => {
            Some(format!("a stream is read by its name; write `{stream}` without `&`"))
        }
        syn::Expr::Group(group) => misplaced(&group.expr, stream),
        syn::Expr::Paren(paren) => misplaced(&paren.expr, stream),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
