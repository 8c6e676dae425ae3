//! The backward half: segments are connected from the sinks to the sources, when every type is known.
//!
//! Everything stands at the job's name: rustc reports a bound that fails on many of these lines once per
//! place, and so there must be one place.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::forward;
use crate::analyze::{Analysis, End, SegmentId, Start};
use crate::ident::Wires;
use crate::ir::{Job, Node};
use crate::ops::Form;

/// The machine, from its declaration to its end.
pub(super) fn machine(job: &Job, analysis: &Analysis, wires: Wires) -> TokenStream {
    let span = wires.span();
    let wiring = Wiring { job, analysis, wires, span };
    let (machine, plan) = (wires.machine(), wires.plan());
    let segments = (0..analysis.segments.len()).rev().map(|segment| wiring.segment(segment));
    // The union that lies furthest downstream is the innermost part of the context.
    let context = (1..=analysis.n_unions).fold(quote_spanned!(span=> __p::Cx::new()), |inner, number| {
        let union = wires.union(number);
        quote_spanned!(span=> (#union, #inner))
    });
    // The last segment begins at the first port, whose connection is then the end of the machine.
    quote_spanned! {span=>
        let mut #machine = #plan.machine();
        #(#segments)*
        .finish(#context)
    }
}

struct Wiring<'a> {
    job: &'a Job,
    analysis: &'a Analysis,
    wires: Wires,
    span: Span,
}

impl Wiring<'_> {
    fn segment(&self, number: SegmentId) -> TokenStream {
        let Some(segment) = self.analysis.segments.get(number) else { return TokenStream::new() };
        let Self { wires, span, .. } = *self;
        let (machine, closed, connected) = (wires.machine(), wires.closed(number), wires.connected(number));
        let line = match &segment.end {
            End::Port(output) => forward::output(self.job, self.analysis, *output, wires),
            End::Border(behind) | End::Combining(behind) => {
                let (crossing, next) = (wires.crossing(number), wires.connected(*behind));
                let lift = self.lift(segment.level);
                let border = match segment.end {
                    End::Combining(_) => quote_spanned!(span=> combining),
                    _ => quote_spanned!(span=> border),
                };
                quote_spanned!(span=> let #connected = #closed.connect(#machine.#border(#crossing, #next, #lift));)
            }
            End::More(behind) => {
                let next = wires.connected(*behind);
                quote_spanned!(span=> let #connected = #closed.connect(__p::Boxed::new(#next));)
            }
            End::Tee(forks) => {
                let tail = self.tee(forks);
                quote_spanned!(span=> let #connected = #closed.connect(#tail);)
            }
            End::Late { late, rows } => {
                let (late, rows) = (wires.connected(*late), wires.connected(*rows));
                quote_spanned!(span=> let #connected = #closed.connect_late(#late, #rows);)
            }
            End::Union { union, input } => {
                let input = Literal::usize_unsuffixed(*input);
                let leaf = quote_spanned!(span=> __p::Shared(#input));
                let leaf = self.up(leaf, segment.level.saturating_sub(*union));
                quote_spanned!(span=> let #connected = #closed.connect(#leaf);)
            }
        };
        let start = match segment.start {
            Start::Port(port) => {
                let queue = wires.queue(port);
                let end = (number != 0).then(|| quote_spanned!(span=> ;));
                quote_spanned!(span=> #machine.source(#queue, #connected) #end)
            }
            Start::Union(union) => {
                let (name, id) = (wires.union(union), self.union_id(union));
                quote_spanned!(span=> let #name = __p::Merge::new(#id, 2, #connected);)
            }
            Start::Inner => TokenStream::new(),
        };
        quote!(#line #start)
    }

    /// The id under which the watermarks of the inputs are kept; a join's own is that of its operator.
    fn union_id(&self, number: usize) -> String {
        let unions = self.job.nodes.iter().filter(|node| node.op.merges());
        let position = self.analysis.n_unions.saturating_sub(number);
        let suffix = |node: &Node| if node.op.form == Form::Join { ".sides" } else { "" };
        unions.map(|node| format!("{}{}", node.id, suffix(node))).nth(position).unwrap_or_default()
    }

    /// Two tails at a time, nested to the right.
    fn tee(&self, forks: &[SegmentId]) -> TokenStream {
        let mut tails = forks.iter().rev().map(|fork| {
            let connected = self.wires.connected(*fork);
            quote!(#connected)
        });
        let last = tails.next().unwrap_or_default();
        let span = self.span;
        tails.fold(last, |rest, tail| quote_spanned!(span=> __p::Tee::new(#tail, #rest)))
    }

    /// A node that sees a context with `levels` fewer unions.
    fn up(&self, node: TokenStream, levels: usize) -> TokenStream {
        let span = self.span;
        (0..levels).fold(node, |inner, _| quote_spanned!(span=> __p::Up(#inner)))
    }

    /// In a machine whose stages are apart, the node behind a border sees the whole context.
    fn lift(&self, level: usize) -> TokenStream {
        let span = self.span;
        match self.analysis.n_unions.saturating_sub(level) {
            0 => quote_spanned!(span=> __p::level),
            // A closure around it would be one too many, and clippy would say so to the user.
            1 => quote_spanned!(span=> __p::Up),
            levels => {
                let node = self.wires.lifted();
                let lifted = self.up(quote!(#node), levels);
                quote_spanned!(span=> |#node| #lifted)
            }
        }
    }
}
