//! The only place that forges identifiers.
//!
//! Every name carries the place of the word that is to be blamed for it: rustc does not follow a
//! receiver out of the user's own context, and would point at the attribute otherwise.
//! All names of a job share the context of its `fn`, so that they meet even where a macro has put the
//! job together. Two leading underscores keep them apart from the user's names.

use proc_macro2::{Ident, Span};

/// Forges the names of one job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    context: Span,
}

impl Names {
    /// The names of the job that begins with this `fn`.
    pub(crate) fn new(context: Span) -> Self {
        Self { context }
    }

    fn forge(self, name: &str, place: Span) -> Ident {
        Ident::new(name, place.resolved_at(self.context))
    }

    /// The alias of the root's private module inside an expansion.
    pub(crate) fn private(self, place: Span) -> Ident {
        self.forge("__p", place)
    }

    /// The stream that a node yields.
    pub(crate) fn stream(self, node: usize, place: Span) -> Ident {
        self.forge(&format!("__s{node}"), place)
    }

    /// The shared end of a stream that is used more than once.
    pub(crate) fn shared(self, node: usize, place: Span) -> Ident {
        self.forge(&format!("__t{node}"), place)
    }

    /// A fork that is needed twice and so bound first.
    pub(crate) fn fork(self, place: Span) -> Ident {
        self.forge("__s", place)
    }

    /// The key in the closure that finishes a row.
    pub(crate) fn key(self, place: Span) -> Ident {
        self.forge("__k", place)
    }

    /// The window in the closure that finishes a row.
    pub(crate) fn win(self, place: Span) -> Ident {
        self.forge("__w", place)
    }

    /// The result of an accumulator.
    pub(crate) fn acc(self, slot: usize, place: Span) -> Ident {
        self.forge(&format!("__a{slot}"), place)
    }

    /// The constant that holds a window's numbers.
    pub(crate) fn spec(self, node: usize, place: Span) -> Ident {
        self.forge(&format!("__SPEC{node}"), place)
    }

    /// The constant that holds a number of an accumulator.
    pub(crate) fn number(self, place: Span) -> Ident {
        self.forge("__N", place)
    }

    /// The names of the wiring, at one place.
    pub(crate) fn wires(self, place: Span) -> Wires {
        Wires { names: self, place }
    }
}

/// Names of the wiring.
///
/// In the wiring itself they stand at the job's name; where an operator defines them, on the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires {
    names: Names,
    place: Span,
}

impl Wires {
    /// Where they stand.
    pub(crate) fn span(self) -> Span {
        self.place
    }

    /// The plan that `build` receives.
    pub(crate) fn plan(self) -> Ident {
        self.names.forge("__plan", self.place)
    }

    /// The machine under construction.
    pub(crate) fn machine(self) -> Ident {
        self.names.forge("__m", self.place)
    }

    /// The queue of an input port.
    pub(crate) fn queue(self, port: usize) -> Ident {
        self.numbered("__q", port)
    }

    /// A closed segment.
    pub(crate) fn closed(self, segment: usize) -> Ident {
        self.numbered("__e", segment)
    }

    /// What a shuffle needs to know about its border.
    pub(crate) fn crossing(self, segment: usize) -> Ident {
        self.numbered("__x", segment)
    }

    /// A connected segment.
    pub(crate) fn connected(self, segment: usize) -> Ident {
        self.numbered("__n", segment)
    }

    /// A union in the machine's context.
    pub(crate) fn union(self, number: usize) -> Ident {
        self.numbered("__u", number)
    }

    /// The node that a border lifts.
    pub(crate) fn lifted(self) -> Ident {
        self.names.forge("__n", self.place)
    }

    fn numbered(self, prefix: &str, number: usize) -> Ident {
        self.names.forge(&format!("{prefix}{number}"), self.place)
    }
}
