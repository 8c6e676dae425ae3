//! Outputs: what the last expression returns becomes ports.
//!
//! That their number fits the signature is checked later.

use proc_macro2::Ident;

use super::{Lower, chain::Value};
use crate::ast::{self, Head, Tail};
use crate::ir::{Call, Output};

impl Lower<'_> {
    /// Resolves the last expression.
    pub(super) fn outputs(&mut self, job: &ast::Job) -> Vec<Output> {
        let mut outputs: Vec<Output> = Vec::new();
        match &job.tail {
            None => {
                // Whatever stands there instead was already reported.
                if !self.ctxt.has_errors() {
                    self.ctxt.error_at(
                        job.name.span(),
                        format!("the job `{}` has no output; end it with a stream", job.name),
                    );
                }
            }
            Some(Tail::One(chain)) => outputs.extend(self.output(chain, job.name.clone())),
            Some(Tail::Tuple(chains)) => {
                for chain in chains {
                    let Some(output) = self.variable(chain) else { continue };
                    if outputs.iter().any(|known| known.name == output.name) {
                        let name = &output.name;
                        self.ctxt.error_at(
                            name.span(),
                            format!(
                                "the output `{name}` is returned twice; give it a second name with `let`"
                            ),
                        );
                    }
                    outputs.push(output);
                }
            }
        }
        for (output, ty) in outputs.iter_mut().zip(&job.outputs.types) {
            output.ty = ty.clone();
        }
        outputs
    }

    /// A port of a tuple is named after the variable that is returned.
    fn variable(&mut self, chain: &ast::Chain) -> Option<Output> {
        if let (Head::Name(name), []) = (&chain.head, chain.links.as_slice()) {
            return self.output(chain, name.clone());
        }
        self.is_partial = true;
        let value = self.chain(chain);
        if value != Value::Poison {
            self.ctxt.error_on(
                &chain.whole,
                "an output of several needs a name; name it with a `let` first and return the variable",
            );
        }
        if let Value::Stream(node) = value {
            self.poison(node);
        }
        None
    }

    fn output(&mut self, chain: &ast::Chain, name: Ident) -> Option<Output> {
        match self.chain(chain) {
            Value::Stream(node) => Some(Output { name, node, ty: syn::parse_quote!(_) }),
            Value::Poison => None,
            Value::Plain => {
                self.is_partial = true;
                // Without an input there is no stream to end with, and that was said.
                let has_input = self.nodes.iter().any(|node| matches!(node.call, Call::Port(..)));
                match &chain.head {
                    _ if !has_input => {}
                    Head::Name(name) => self.not_a_stream(name),
                    Head::Other if self.refuse_misplaced(&chain.whole) => {}
                    Head::Other => {
                        self.ctxt.error_on(
                            &chain.whole,
                            "the job must end with its output; write a stream or a tuple of streams",
                        );
                    }
                }
                None
            }
        }
    }
}

/// How many streams the last expression returns, resolved or not.
pub(super) fn count(job: &ast::Job) -> Option<usize> {
    job.tail.as_ref().map(|tail| match tail {
        Tail::One(_) => 1,
        Tail::Tuple(chains) => chains.len(),
    })
}
