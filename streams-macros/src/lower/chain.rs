//! Chains: every link becomes a node, `named` becomes the name of the one before.
//!
//! What an operator's arguments look like is `args`' and `aggregate`'s business.

use proc_macro2::Ident;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;

use super::{Lower, Name};
use crate::ir::{Args, Call, Node, NodeId};
use crate::ops::{self, Form, Input, Kind, Op};
use crate::parse::signature::row_type;
use crate::{ast, impure, nearest, text};

/// What a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A stream of the job.
    Stream(NodeId),
    /// Anything that is no stream.
    Plain,
    /// Something that was already reported.
    Poison,
}

impl Lower<'_> {
    /// Resolves a chain and adds its nodes.
    pub(super) fn chain(&mut self, chain: &ast::Chain) -> Value {
        let ast::Head::Name(head) = &chain.head else { return Value::Plain };
        let mut node = match self.names.get(&head.to_string()).cloned() {
            Some(Name::Stream(node, binding)) => {
                if let Some(binding) = binding.and_then(|binding| self.bindings.get_mut(binding)) {
                    binding.is_used = true;
                }
                node
            }
            Some(Name::Plain(_)) => return Value::Plain,
            Some(Name::Poison) => {
                self.is_partial = true;
                return Value::Poison;
            }
            None => return self.unknown_head(head, chain),
        };
        let first_new = self.nodes.len();
        let head_node = node;
        for link in &chain.links {
            node = self.link(node, link);
        }
        self.keep_port_word(head, head_node, first_new);
        Value::Stream(node)
    }

    /// A port that an operator is called on keeps the user's word, so that editors know it there.
    fn keep_port_word(&mut self, head: &Ident, port: NodeId, first_new: usize) {
        let is_its_name = self
            .nodes
            .get(port)
            .is_some_and(|node| matches!(node.call, Call::Port(..)) && node.word == *head);
        if let (true, Some(reader)) = (
            is_its_name,
            self.nodes.iter_mut().skip(first_new).find(|node| node.inputs.first() == Some(&port)),
        ) && let Some(span) = reader.input_spans.first_mut()
        {
            *span = head.span();
        }
    }

    /// A chain of our operators on something that the job does not know.
    fn unknown_head(&mut self, head: &Ident, chain: &ast::Chain) -> Value {
        let name = head.to_string();
        let is_variable = name.chars().all(|c| c.is_lowercase() || c.is_numeric() || c == '_');
        let is_ours = chain.links.iter().any(|link| ops::find(&link.word.to_string()).is_some());
        if !(is_variable && is_ours) {
            return Value::Plain;
        }
        self.is_partial = true;
        self.not_a_stream(head);
        Value::Poison
    }

    /// Reports a name that should be a stream.
    pub(super) fn not_a_stream(&self, name: &Ident) {
        let is_table =
            |setting: &crate::ir::Setting| setting.name == *name && row_type(&setting.ty).is_some();
        if self.settings.iter().any(is_table) {
            let message = format!(
                "`{name}` is a table and not a stream; write `.lookup({name}, |r| r.host.clone(), |row| row.host.clone(), |r, row| ..)`"
            );
            return self.ctxt.error_at(name.span(), message);
        }
        let streams = self.names.iter().filter(|(_, what)| matches!(what, Name::Stream(..)));
        let near = nearest::nearest(&name.to_string(), streams.map(|(known, _)| known.as_str()));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write a port or a `let` of this job".to_owned(),
        };
        self.ctxt.error_at(name.span(), format!("`{name}` is not a stream; {hint}"));
    }

    /// Whether an argument is a stream, which then counts as used.
    fn takes_stream(&mut self, argument: &syn::Expr) -> bool {
        let chain = crate::parse::body::chain(self.ctxt, argument.clone());
        let is_stream = matches!(&chain.head, ast::Head::Name(name)
            if matches!(self.names.get(&name.to_string()), Some(Name::Stream(..))));
        if is_stream && let Value::Stream(node) = self.chain(&chain) {
            self.poison(node);
        }
        is_stream
    }

    fn link(&mut self, input: NodeId, link: &ast::Link) -> NodeId {
        let Some(call) = &link.call else { return self.unfinished(input, link) };
        let mut call = call.clone();
        let permissions = call.args.iter_mut().filter_map(|arg| impure::take_permission(self.ctxt, arg));
        // All of them are looked at, so that none is left in the code.
        let impure = permissions.collect::<Vec<_>>().into_iter().next();
        let node = self.operator(input, link, &call, impure.is_some());
        if let (Some(reason), Some(node)) = (impure, self.nodes.get_mut(node)) {
            node.impure.get_or_insert(reason);
        }
        node
    }

    fn operator(&mut self, input: NodeId, link: &ast::Link, call: &ast::Call, is_impure: bool) -> NodeId {
        let word = link.word.to_string();
        let Some(op) = ops::find(&word) else {
            self.ctxt.error_at(link.word.span(), unknown(&word));
            let mut call = call.clone();
            call.args.retain(|arg| !self.takes_stream(arg));
            let args = self.args(&call);
            return self.push_op(&ops::UNKNOWN, link, input, Call::Args(args), String::new());
        };
        let has_arity = self.check_arity(op, link, call);
        let text = match is_impure {
            // The source still has the permission in it.
            true => text::shortened(tokens(call)),
            false => text::arguments(call.parens.span.join(), tokens(call)),
        };
        match op.form {
            Form::Named => {
                self.named(input, link, call);
                input
            }
            Form::Late if has_arity => self.late(input, link),
            Form::Union if has_arity => self.merged(op, input, link, call, Call::Streams, text),
            Form::Join if has_arity => match self.join(op, call) {
                Some(join) => self.merged(op, input, link, call, Call::Join(Box::new(join)), text),
                None => input,
            },
            Form::Join => {
                // What is missing was said; the stream that is there is used all the same.
                self.is_partial = true;
                if let Some(argument) = call.args.first() {
                    self.chain(&crate::parse::body::chain(self.ctxt, argument.clone()));
                }
                input
            }
            Form::Aggregate if has_arity => {
                let aggregate = self.aggregate(link.word.span(), call);
                self.push_op(op, link, input, Call::Aggregate(Box::new(aggregate)), text)
            }
            Form::Window if has_arity => {
                let window = self.window(call);
                self.push_op(op, link, input, window, text)
            }
            _ => {
                let args = self.args(call);
                // Without its arguments a special form cannot be taken apart; a method will do for completion.
                let op = if has_arity { op } else { &ops::UNKNOWN };
                self.push_op(op, link, input, Call::Args(args), text)
            }
        }
    }

    pub(super) fn push_op(
        &mut self,
        op: &'static Op,
        link: &ast::Link,
        input: NodeId,
        call: Call,
        text: String,
    ) -> NodeId {
        let kind = op.kind(self.kind(input));
        self.push(Node {
            op,
            word: link.word.clone(),
            inputs: vec![input],
            input_spans: vec![link.word.span()],
            kind,
            call,
            id: String::new(),
            id_span: link.word.span(),
            named: None,
            text,
            impure: None,
            is_poisoned: false,
        })
    }

    fn kind(&self, node: NodeId) -> Kind {
        self.nodes.get(node).map_or(Kind::Plain, |node| node.kind)
    }

    fn check_arity(&self, op: &Op, link: &ast::Link, call: &ast::Call) -> bool {
        let (given, wanted) = (call.args.len(), op.args);
        if given == wanted {
            return true;
        }
        if op.name == "running" && given == 0 {
            self.ctxt.error_at(
                link.word.span(),
                "unbounded state; write `.running(ttl(mins(10)))` to forget a key that has been quiet, or `.running(forever())`",
            );
            return false;
        }
        if op.form == Form::Join
            && given == 2
            && let Some(syn::Expr::Closure(row)) = call.args.get(1)
        {
            let what = match op.joins_table() {
                true => "this table would keep every row for ever; say so, or for how long:",
                false => "a join without a bound of time would keep every record for ever;",
            };
            self.ctxt.error_at(row.or1_token.span, format!("{what} write `{}`", op.example));
            return false;
        }
        let count = match wanted {
            0 => "no argument".to_owned(),
            1 => "1 argument".to_owned(),
            n => format!("{n} arguments"),
        };
        let message = format!("`{}` takes {count}; write `{}`", op.name, op.example);
        match call.args.get(wanted) {
            Some(extra) => self.ctxt.error_on(extra, message),
            None => self.ctxt.error_at(link.word.span(), message),
        }
        false
    }

    /// `flows.` and `flows.fil`: the user is still typing.
    fn unfinished(&mut self, input: NodeId, link: &ast::Link) -> NodeId {
        let word = link.word.to_string();
        let meant = ops::meant(&word).or_else(|| {
            let starts = |op: &&Op| op.name.starts_with(&word);
            ops::OPS.iter().find(starts).map(|op| op.name)
        });
        let write = match meant.and_then(ops::find) {
            Some(op) => format!("write `{}`", op.example),
            None => "write an operator such as `.map(..)`".to_owned(),
        };
        self.ctxt.error_at(link.word.span(), format!("`{word}` is half of an operator; {write}"));
        self.push_op(&ops::UNFINISHED, link, input, Call::Unfinished(link.dot), String::new())
    }

    fn named(&mut self, input: NodeId, link: &ast::Link, call: &ast::Call) {
        let Some(argument) = call.args.first() else { return };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) = argument else {
            self.ctxt.error_on(argument, "the name of an operator is known when the job is compiled; write it as a literal: `.named(\"errors\")`");
            return;
        };
        let value = name.value();
        if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            self.ctxt.error_on(
                name,
                format!("`{value}` cannot name an operator; use letters, digits, `_` and `-`"),
            );
            return;
        }
        match self.nodes.get_mut(input) {
            Some(node) if matches!(node.call, Call::Port(..)) => {
                self.ctxt.error_at(
                    link.word.span(),
                    "a port already has a name; write `.named(..)` after an operator",
                );
            }
            Some(node) if node.named.is_some() => {
                self.ctxt
                    .error_at(link.word.span(), "this operator already has a name; remove one of the two");
            }
            Some(node) => node.named = Some(name.clone()),
            None => {}
        }
    }

    fn late(&mut self, input: NodeId, link: &ast::Link) -> NodeId {
        let is_rows = self.kind(input) == Kind::Rows;
        let op = ops::find(&link.word.to_string()).unwrap_or(&ops::UNKNOWN);
        let late = match self.nodes.get(input).map(|node| &node.call) {
            Some(Call::Aggregate(aggregate)) if is_rows => aggregate.late,
            Some(Call::Join(join)) if !self.joins_table(input) => join.late,
            _ if op.input == Input::Rows => {
                self.ctxt.error_at(link.word.span(), NO_LATECOMERS);
                let parens = syn::token::Paren(link.word.span());
                let args = Args { turbofish: None, parens, exprs: Vec::new(), captures: Vec::new() };
                return self.push_op(&ops::UNKNOWN, link, input, Call::Args(args), String::new());
            }
            _ => None,
        };
        if let Some(late) = late {
            return late;
        }
        let late = self.push_op(op, link, input, Call::Streams, String::new());
        match self.nodes.get_mut(input).map(|node| &mut node.call) {
            Some(Call::Aggregate(aggregate)) => aggregate.late = Some(late),
            Some(Call::Join(join)) => join.late = Some(late),
            _ => {}
        }
        late
    }

    fn joins_table(&self, node: NodeId) -> bool {
        self.nodes.get(node).is_some_and(|node| node.op.joins_table())
    }

    /// An operator whose first argument is a stream.
    fn merged(
        &mut self,
        op: &'static Op,
        input: NodeId,
        link: &ast::Link,
        call: &ast::Call,
        rest: Call,
        text: String,
    ) -> NodeId {
        let Some(argument) = call.args.first() else { return input };
        let other = crate::parse::body::chain(self.ctxt, argument.clone());
        let other = match self.chain(&other) {
            Value::Stream(other) => Some(other),
            Value::Poison => None,
            Value::Plain => {
                self.is_partial = true;
                match &other.head {
                    ast::Head::Name(name) if other.links.is_empty() => self.not_a_stream(name),
                    _ => self.ctxt.error_on(
                        argument,
                        format!("`{}` takes a stream of this job; write `{}`", op.name, op.example),
                    ),
                }
                None
            }
        };
        match other {
            Some(other) => {
                let merged = self.push_op(op, link, input, rest, text);
                if let Some(node) = self.nodes.get_mut(merged) {
                    node.inputs.push(other);
                    node.input_spans.push(argument.span());
                }
                merged
            }
            // The job goes on with the stream that is known.
            None => input,
        }
    }
}

const NO_LATECOMERS: &str = "only a windowed aggregate and a join of two streams have late records; write `let totals = ..aggregate(..);` and then `totals.late()`";

fn unknown(word: &str) -> String {
    if let Some(advice) = ops::advice(word) {
        return format!("unknown operator `{word}`; {advice}");
    }
    match ops::meant(word) {
        Some(meant) => format!("unknown operator `{word}`; did you mean `{meant}`?"),
        None => {
            let known = ops::OPS.iter().map(|op| format!("`{}`", op.name)).collect::<Vec<_>>().join(", ");
            format!("unknown operator `{word}`; the operators are {known}")
        }
    }
}

fn tokens(call: &ast::Call) -> proc_macro2::TokenStream {
    let args = call.args.iter().map(ToTokens::to_token_stream);
    quote!(#(#args),*)
}
