//! The job as it is meant: a graph of nodes in the order in which they are built.
//!
//! Words are resolved and defaults are filled in.
//! A node comes after its inputs, so every walk is one pass over the list.

use proc_macro2::{Ident, Span, TokenStream};
use syn::{Expr, LitStr, Type};

use crate::ident::Names;
use crate::ops::{Form, Kind, Op};
use crate::symbol;

/// Index into [`Job::nodes`].
pub(crate) type NodeId = usize;

/// A whole job.
#[derive(Debug)]
pub(crate) struct Job {
    /// Lines of the doc comment.
    pub(crate) doc: String,
    /// The doc comment as written.
    pub(crate) doc_attrs: Vec<syn::Attribute>,
    /// Attributes that are passed on.
    pub(crate) attrs: Vec<syn::Attribute>,
    /// Visibility of the job's type.
    pub(crate) vis: syn::Visibility,
    /// Forges the names of the expansion.
    pub(crate) names: Names,
    /// The job's name.
    pub(crate) name: Ident,
    /// The settings, in order.
    pub(crate) settings: Vec<Setting>,
    /// Ports, operators and plain statements in the order of the source.
    pub(crate) steps: Vec<Step>,
    /// All ports and operators.
    pub(crate) nodes: Vec<Node>,
    /// The output ports.
    pub(crate) outputs: Vec<Output>,
    /// The number of streams in the signature, and its place.
    pub(crate) declared: (usize, TokenStream),
    /// The number of streams that the last expression returns, if there is one.
    pub(crate) returned: Option<usize>,
    /// True if something was reported and left out, so that what it would have used looks unused.
    pub(crate) is_partial: bool,
    /// The `let` names of streams and the node behind each.
    pub(crate) bindings: Vec<Binding>,
    /// The names of plain `let`s.
    pub(crate) plain: Vec<Ident>,
    /// What they are bound to.
    pub(crate) values: Vec<Expr>,
    /// Identifies the code of the job.
    pub(crate) fingerprint: u64,
}

/// A parameter that is no stream.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name.
    pub(crate) name: Ident,
    /// Its type.
    pub(crate) ty: Type,
    /// Its default, as text.
    pub(crate) default: Option<String>,
    /// Its doc comment.
    pub(crate) doc: String,
}

/// One step of building a job.
#[derive(Debug)]
pub(crate) enum Step {
    /// A port or an operator.
    Node(NodeId),
    /// A plain `let` or an item, passed on as it is.
    Plain(TokenStream),
}

/// A `let` whose value is a stream.
#[derive(Debug)]
pub(crate) struct Binding {
    /// The name.
    pub(crate) name: Ident,
    /// The stream.
    pub(crate) node: NodeId,
    /// True once something reads it by this name.
    pub(crate) is_used: bool,
}

/// A port or an operator.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its row in the table.
    pub(crate) op: &'static Op,
    /// The operator's word or the port's name, as written.
    pub(crate) word: Ident,
    /// The streams that it reads.
    pub(crate) inputs: Vec<NodeId>,
    /// Where each of them stands in the expansion: on the operator, or on the user's own word for it.
    pub(crate) input_spans: Vec<Span>,
    /// What comes out.
    pub(crate) kind: Kind,
    /// What is needed to emit it.
    pub(crate) call: Call,
    /// Its name in state, dead letters and the topology; empty if it has none.
    pub(crate) id: String,
    /// Where the id comes from.
    pub(crate) id_span: Span,
    /// An explicit `.named("..")`.
    pub(crate) named: Option<LitStr>,
    /// The arguments as shown in the topology, or the record type of a port.
    pub(crate) text: String,
    /// Why it may do what breaks replay.
    pub(crate) impure: Option<LitStr>,
    /// True if something was reported that makes its use uninteresting.
    pub(crate) is_poisoned: bool,
}

/// What is emitted for a node.
#[derive(Debug)]
pub(crate) enum Call {
    /// An input port of this type and number.
    Port(Box<Type>, usize),
    /// A call with the user's arguments.
    Args(Args),
    /// A constant window: its type and constructor are known.
    ConstWindow(Window, Box<Expr>),
    /// An aggregate taken apart.
    Aggregate(Box<Aggregate>),
    /// A join without its right side, which is a stream.
    Join(Box<Join>),
    /// Nothing but the streams.
    Streams,
    /// A word without a call, with the place of its dot.
    Unfinished(Span),
}

/// A window whose numbers are constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The names of its type in the core, each the argument of the one before.
    pub(crate) ty: Vec<&'static str>,
    /// The function that checks it.
    pub(crate) checked: &'static str,
}

/// What is left of a join when its streams are known.
#[derive(Debug)]
pub(crate) struct Join {
    /// What belongs together in time, or how long a row of a table is kept.
    pub(crate) bound: Expr,
    /// How it is checked, if it can be a constant.
    pub(crate) constant: Option<Window>,
    /// Makes a row of a pair.
    pub(crate) row: Expr,
    /// Whether the row says its key or its window, which its closure then takes in front of the records.
    pub(crate) is_placed: bool,
    /// Settings and plain values that the bound and the row mention.
    pub(crate) captures: Vec<Ident>,
    /// The node that yields the latecomers of both sides.
    pub(crate) late: Option<NodeId>,
}

/// The arguments of a straight operator.
#[derive(Debug)]
pub(crate) struct Args {
    /// `::<..>`.
    pub(crate) turbofish: Option<syn::AngleBracketedGenericArguments>,
    /// The user's parentheses.
    pub(crate) parens: syn::token::Paren,
    /// The arguments; closures own what they capture.
    pub(crate) exprs: Vec<Expr>,
    /// Settings and plain values that the arguments mention.
    pub(crate) captures: Vec<Ident>,
}

/// An aggregate taken apart.
#[derive(Debug)]
pub(crate) struct Aggregate {
    /// The accumulators, in order.
    pub(crate) accumulators: Vec<Accumulator>,
    /// The row, with the accumulators' results in the places of their calls.
    pub(crate) finish: Expr,
    /// The window word that was used, if any.
    pub(crate) window_word: Option<Ident>,
    /// The word for a bound of the window that was used, if any.
    pub(crate) bound_word: Option<Ident>,
    /// Settings and plain values that the row mentions outside of its accumulators.
    pub(crate) captures: Vec<Ident>,
    /// The node that yields the latecomers.
    pub(crate) late: Option<NodeId>,
}

/// One accumulator of an aggregate.
#[derive(Debug)]
pub(crate) struct Accumulator {
    /// The user's call.
    pub(crate) call: syn::ExprCall,
    /// The accumulator's word.
    pub(crate) word: Ident,
    /// Its arguments, in order.
    pub(crate) arguments: Vec<Argument>,
}

/// What is known of an argument of an accumulator.
#[derive(Debug)]
pub(crate) struct Argument {
    /// What it is.
    pub(crate) role: symbol::Argument,
    /// Settings and plain values that it mentions.
    pub(crate) captures: Vec<Ident>,
    /// Whether rustc can evaluate it while it compiles the job.
    pub(crate) is_const: bool,
}

/// An output port.
#[derive(Debug)]
pub(crate) struct Output {
    /// The port's name.
    pub(crate) name: Ident,
    /// The stream.
    pub(crate) node: NodeId,
    /// `Stream<..>` as in the signature.
    pub(crate) ty: Type,
}

impl Node {
    /// The user's expressions in this node.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        match &self.call {
            Call::Args(args) => args.exprs.iter().collect(),
            Call::ConstWindow(_, spec) => vec![spec],
            Call::Join(join) => vec![&join.bound, &join.row],
            Call::Aggregate(aggregate) => {
                let arguments = aggregate.accumulators.iter().flat_map(|accumulator| &accumulator.call.args);
                arguments.chain([&aggregate.finish]).collect()
            }
            Call::Port(..) | Call::Streams | Call::Unfinished(_) => Vec::new(),
        }
    }
}

impl Node {
    /// The constructor of the window that the node is, where it is written there.
    pub(crate) fn window_word(&self) -> Option<&'static symbol::WindowWord> {
        let (call, _) = symbol::window_call(self.exprs().first().copied()?)?;
        symbol::window(call).filter(|_| self.op.form == Form::Window)
    }

    /// Settings and plain values that the node mentions.
    pub(crate) fn captures(&self) -> Vec<&Ident> {
        match &self.call {
            Call::Args(args) => args.captures.iter().collect(),
            Call::Join(join) => join.captures.iter().collect(),
            Call::Aggregate(aggregate) => {
                let arguments = aggregate.accumulators.iter().flat_map(|accumulator| &accumulator.arguments);
                arguments.flat_map(|argument| &argument.captures).chain(&aggregate.captures).collect()
            }
            Call::Port(..) | Call::ConstWindow(..) | Call::Streams | Call::Unfinished(_) => Vec::new(),
        }
    }
}

impl Job {
    /// How often each node is read; a read of late rows is not one of the aggregate's result.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        let readers = self.nodes.iter().filter(|node| node.op.form != Form::Late);
        let reads = readers.flat_map(|node| node.inputs.iter().copied());
        for node in reads.chain(self.outputs.iter().map(|output| output.node)) {
            if let Some(count) = uses.get_mut(node) {
                *count += 1;
            }
        }
        uses
    }

    /// The input ports.
    pub(crate) fn ports(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| matches!(node.call, Call::Port(..)))
    }
}
