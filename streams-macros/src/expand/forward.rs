//! The forward half: one builder call per operator, source to sink, so that every closure meets a
//! known type.
//!
//! Everything that can be blamed carries the operator's span; nothing is connected here.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

mod accumulator;

use crate::analyze::{Analysis, NodePlan, Read};
use crate::ident::Wires;
use crate::ir::{Aggregate, Args, Call, Job, Join, Node, NodeId, Window};
use crate::ops::{Form, Id};

/// The lines of one port or operator.
pub(super) fn node(job: &Job, analysis: &Analysis, number: NodeId) -> TokenStream {
    let (Some(node), Some(plan)) = (job.nodes.get(number), analysis.nodes.get(number)) else {
        return TokenStream::new();
    };
    let span = node.word.span();
    let emit = Emit { job, node, plan, number, span, wires: job.names.wires(span) };
    let paused = emit.paused();
    let built = emit.built();
    let shared = emit.shared();
    quote!(#paused #built #shared)
}

/// The end of a segment at an output port; a type that does not fit is reported at the signature.
pub(super) fn output(job: &Job, analysis: &Analysis, number: usize, wires: Wires) -> TokenStream {
    let (Some(output), Some(plan)) = (job.outputs.get(number), analysis.outputs.get(number)) else {
        return TokenStream::new();
    };
    let (ty, name, index) = (&output.ty, output.name.unraw().to_string(), Literal::usize_unsuffixed(number));
    let span = ty.span();
    let (stream, connected) = (read(job, plan.read, span), wires.connected(plan.segment));
    let (private, machine) = (job.names.private(span), job.names.wires(span).machine());
    quote_spanned!(span=> let #connected = #machine.sink(#private::outlet::<#ty>(#name, #index), #private::written(#stream));)
}

/// A stream at the place where it is read.
fn read(job: &Job, read: Read, span: Span) -> TokenStream {
    match read {
        Read::Whole(node) => variable(job, node, span).to_token_stream(),
        Read::Fork(node) => {
            let (private, shared) = (job.names.private(span), job.names.shared(node, span));
            quote_spanned!(span=> #private::fork(&#shared))
        }
    }
}

/// The variable that holds a stream: a port keeps the user's name.
fn variable(job: &Job, node: NodeId, span: Span) -> Ident {
    match job.nodes.get(node) {
        Some(Node { call: Call::Port(..), word, .. }) => {
            let mut word = word.clone();
            word.set_span(span.resolved_at(word.span()));
            word
        }
        _ => job.names.stream(node, span),
    }
}

/// A capture that cannot be cloned is reported at its own definition.
pub(crate) fn clones(captures: &[Ident]) -> TokenStream {
    let lines = captures
        .iter()
        .map(|name| quote_spanned!(name.span()=> let #name = ::core::clone::Clone::clone(&#name);));
    quote!(#(#lines)*)
}

struct Emit<'a> {
    job: &'a Job,
    node: &'a Node,
    plan: &'a NodePlan,
    number: NodeId,
    span: Span,
    wires: Wires,
}

impl Emit<'_> {
    /// The call itself.
    fn built(&self) -> TokenStream {
        let Self { node, span, .. } = *self;
        let stream = self.job.names.stream(self.number, span);
        let value = match (&node.call, node.op.form) {
            (Call::Port(ty, port), _) => return self.port(ty, *port),
            (_, Form::Late) => return TokenStream::new(),
            (_, Form::Union) => return self.union(),
            (Call::Join(join), _) => return self.join(join),
            (Call::Unfinished(dot), _) => {
                // Whatever carries the span of a placeholder is erased by editors, so the dot lends its own.
                let (stream, input) = (self.job.names.stream(self.number, *dot), self.input_at(0, *dot));
                let word = &node.word;
                return quote_spanned!(*dot=> let #stream = #input.#word;);
            }
            (Call::Aggregate(aggregate), _) => return self.aggregate(aggregate),
            (Call::ConstWindow(window, spec), _) => return self.const_window(window, spec),
            (Call::Args(args), Form::Window) => {
                let (plan, exprs) = (self.wires.plan(), &args.exprs);
                self.method(args, &quote_spanned!(span=> #plan.window(#(#exprs),*)?))
            }
            (Call::Args(args), _) => {
                let exprs = &args.exprs;
                self.method(args, &quote!(#(#exprs),*))
            }
            (Call::Streams, _) => self.input(0),
        };
        match (node.op.form, self.plan.ends.first()) {
            (Form::Cut, Some(segment)) => {
                let (closed, crossing) = (self.wires.closed(*segment), self.wires.crossing(*segment));
                let private = self.job.names.private(span);
                // The border's own bound is told on the operator's word, which is all that a name of its own covers.
                quote_spanned! {span=>
                    let #stream = #value;
                    let (#closed, #crossing, #stream) = #private::cut(#stream);
                }
            }
            _ => quote_spanned!(span=> let #stream = #value;),
        }
    }

    fn port(&self, ty: &syn::Type, port: usize) -> TokenStream {
        let (span, name) = (self.span, &self.node.word);
        let (text, plan, queue) = (name.unraw().to_string(), self.wires.plan(), self.wires.queue(port));
        quote_spanned!(span=> let (#queue, #name) = #plan.source::<#ty, _>(#text);)
    }

    /// `input.word(args)`, with what the arguments capture cloned around it.
    fn method(&self, args: &Args, inner: &TokenStream) -> TokenStream {
        let Self { node, span, .. } = *self;
        let (input, word, turbofish) = (self.input(0), &node.word, &args.turbofish);
        let mut call = quote_spanned!(span=> #input.#word #turbofish);
        args.parens.surround(&mut call, |tokens| tokens.extend(inner.clone()));
        if node.op.id == Id::Suffix {
            let id = &node.id;
            call = quote_spanned!(span=> #call.named(#id));
        }
        self.owning(&args.captures, call)
    }

    /// A block that clones what a closure inside it will own.
    fn owning(&self, captures: &[Ident], value: TokenStream) -> TokenStream {
        if captures.is_empty() {
            return value;
        }
        let clones = clones(captures);
        let span = self.span;
        quote_spanned!(span=> { #clones #value })
    }

    fn const_window(&self, window: &Window, spec: &syn::Expr) -> TokenStream {
        let Self { span, node, number, .. } = *self;
        let (constant, stream) = (self.job.names.spec(number, span), self.job.names.stream(number, span));
        let (checked, input, word) = (self.checked(window, spec), self.input(0), &node.word);
        quote_spanned! {span=>
            #checked
            let #stream = #input.#word(#constant);
        }
    }

    /// A constant whose numbers rustc checks, with its complaint on the user's expression.
    fn checked(&self, window: &Window, spec: &syn::Expr) -> TokenStream {
        let Self { span, number, .. } = *self;
        let (private, constant) = (self.job.names.private(span), self.job.names.spec(number, span));
        let nested = window.ty.iter().rev().fold(TokenStream::new(), |inner, name| {
            let name = Ident::new(name, span);
            let inner = (!inner.is_empty()).then(|| quote_spanned!(span=> <#inner>));
            quote_spanned!(span=> #private::#name #inner)
        });
        // The call begins on the first word and ends on the last parenthesis of the user's text.
        let first = spec.span();
        let (checker, checked) = (self.job.names.private(first), Ident::new(window.checked, first));
        let mut call = quote_spanned!(first=> #checker::#checked);
        let last = match spec {
            syn::Expr::Call(call) => call.paren_token,
            syn::Expr::MethodCall(call) => call.paren_token,
            _ => syn::token::Paren(first),
        };
        last.surround(&mut call, |tokens| spec.to_tokens(tokens));
        quote_spanned!(span=> const #constant: #nested = #call;)
    }

    /// Both sides end, and what stands behind their shuffle begins.
    fn join(&self, join: &Join) -> TokenStream {
        let Self { span, node, number, .. } = *self;
        let (private, stream) = (self.job.names.private(span), self.job.names.stream(number, span));
        let (left, mut right, id, row) = (self.input(0), self.input(1), &node.id, &join.row);
        if node.op.joins_table() {
            let place = node.input_spans.get(1).copied().unwrap_or(span);
            let private = self.job.names.private(place);
            right = quote_spanned!(place=> #private::changes(#right));
        }
        let (constant, bound) = match (&join.constant, &join.bound) {
            (Some(window), bound) => {
                let constant = self.job.names.spec(number, span);
                (self.checked(window, bound), constant.to_token_stream())
            }
            (None, bound) if node.op.joins_table() => (TokenStream::new(), bound.to_token_stream()),
            (None, bound) => {
                let plan = self.wires.plan();
                (TokenStream::new(), quote_spanned!(span=> #plan.join_bound(#bound)?))
            }
        };
        let ends = self.plan.ends.iter().take(3).map(|segment| self.wires.closed(*segment));
        let crossing = self.plan.ends.get(2).map(|segment| self.wires.crossing(*segment));
        let late = join.late.zip(self.plan.ends.get(3)).map(|(late, segment)| {
            let (closed, late) = (self.wires.closed(*segment), self.job.names.stream(late, span));
            quote_spanned!(span=> let (#closed, #stream, #late) = #private::join_late(#stream);)
        });
        let word = match join.is_placed {
            true => Ident::new(&format!("{}_at", node.word), span),
            false => node.word.clone(),
        };
        let call = quote_spanned!(span=> #private::#word(#id, #left, #right, #bound, #row));
        let call = self.owning(&join.captures, call);
        quote_spanned!(span=> #constant let (#(#ends,)* #crossing, #stream) = #call; #late)
    }

    fn aggregate(&self, aggregate: &Aggregate) -> TokenStream {
        let Self { span, node, .. } = *self;
        let (private, stream) = (self.job.names.private(span), self.job.names.stream(self.number, span));
        let (key, win) = (self.job.names.key(span), self.job.names.win(span));
        // The stream is named more than once, so a fork is bound first.
        let (bound, input) = match self.plan.reads.first() {
            Some(Read::Whole(node)) => (TokenStream::new(), variable(self.job, *node, span)),
            _ => {
                let (fork, value) = (self.job.names.fork(span), self.input(0));
                (quote_spanned!(span=> let #fork = #value;), fork)
            }
        };
        let accumulators =
            aggregate.accumulators.iter().map(|accumulator| self.accumulator(accumulator, &input));
        let slots = (0..aggregate.accumulators.len()).map(|slot| self.job.names.acc(slot, span));
        let (id, finish) = (&node.id, &aggregate.finish);
        let owns = (!aggregate.captures.is_empty()).then(|| quote_spanned!(span=> move));
        let (function, result) = match (aggregate.late, self.plan.ends.first()) {
            (Some(late), Some(segment)) => {
                let (closed, late) = (self.wires.closed(*segment), self.job.names.stream(late, span));
                ("aggregate_late", quote_spanned!(span=> (#closed, #stream, #late)))
            }
            _ => ("aggregate", stream.to_token_stream()),
        };
        let function = Ident::new(function, span);
        // Order: the accumulators ask the stream for its type before it is given away.
        let call = quote_spanned! {span=>
            #private::#function(#id, (#(#accumulators,)*), #input, #owns |#key, #win, (#(#slots,)*)| #finish)
        };
        let call = self.owning(&aggregate.captures, call);
        quote_spanned!(span=> #bound let #result = #call;)
    }

    fn union(&self) -> TokenStream {
        let (span, private) = (self.span, self.job.names.private(self.span));
        let (left, right) = (self.input(0), self.input(1));
        let ends = self.plan.ends.iter().map(|segment| self.wires.closed(*segment));
        let stream = self.job.names.stream(self.number, span);
        quote_spanned!(span=> let (#(#ends,)* #stream) = #private::union((#left, #right));)
    }

    /// The end of a long segment in front of this node, whose stream goes on under its name.
    fn paused(&self) -> TokenStream {
        let (Some(segment), Some(Read::Whole(before))) = (self.plan.pause, self.plan.reads.first()) else {
            return TokenStream::new();
        };
        let span = self.span;
        let (closed, private) = (self.wires.closed(segment), self.job.names.private(span));
        let stream = variable(self.job, *before, span);
        quote_spanned!(span=> let (#closed, #stream) = #private::pause(#stream);)
    }

    /// The fan-out behind this node, if its stream is used more than once.
    fn shared(&self) -> TokenStream {
        let Some(segment) = self.plan.tee else { return TokenStream::new() };
        let span = self.span;
        let (closed, private) = (self.wires.closed(segment), self.job.names.private(span));
        let (shared, stream) =
            (self.job.names.shared(self.number, span), variable(self.job, self.number, span));
        quote_spanned!(span=> let (#closed, #shared) = #private::tee(#stream);)
    }

    fn input(&self, index: usize) -> TokenStream {
        self.input_at(index, self.node.input_spans.get(index).copied().unwrap_or(self.span))
    }

    fn input_at(&self, index: usize, span: Span) -> TokenStream {
        match self.plan.reads.get(index) {
            // Only a bare name can stand on the user's word; a fork belongs to the operator.
            Some(fork @ Read::Fork(_)) if index == 0 => read(self.job, *fork, self.span),
            Some(stream) => read(self.job, *stream, span),
            None => TokenStream::new(),
        }
    }
}
