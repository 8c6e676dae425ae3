//! Accumulators: the user's own call, with what rustc must know or check put around its arguments.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;

use super::{Emit, clones};
use crate::ir::{Accumulator, Argument};
use crate::symbol::Argument as Role;

impl Emit<'_> {
    /// The call of an accumulator over the records of `stream`.
    ///
    /// The user's own call is reused, so that its parentheses keep their place.
    pub(super) fn accumulator(&self, accumulator: &Accumulator, stream: &Ident) -> syn::ExprCall {
        let mut call = accumulator.call.clone();
        let word = &accumulator.word;
        let mut stream = stream.clone();
        stream.set_span(word.span().resolved_at(stream.span()));
        for (expr, argument) in call.args.iter_mut().zip(&accumulator.arguments) {
            *expr = syn::Expr::Verbatim(self.argument(word, argument, &stream, expr));
        }
        call
    }

    fn argument(&self, word: &Ident, argument: &Argument, stream: &Ident, expr: &syn::Expr) -> TokenStream {
        let span = word.span();
        let clones = clones(&argument.captures);
        let owned = match clones.is_empty() {
            true => expr.to_token_stream(),
            false => quote_spanned!(span=> { #clones #expr }),
        };
        match argument.role {
            Role::Plain => owned,
            // The record's type is known before the closure's body is read.
            Role::OfRecord => quote_spanned!(span=> #stream.typer().by_ref(#owned)),
            Role::Start => quote_spanned!(span=> #stream.typer().start(#owned)),
            Role::Limit | Role::Rank | Role::Ranks if argument.is_const => self.constant(argument.role, expr),
            Role::Limit => self.checked_at_start("limit", &owned, expr),
            Role::Rank | Role::Ranks => self.checked_at_start("rank", &owned, expr),
        }
    }

    /// A number that rustc checks, with its complaint on the user's expression.
    fn constant(&self, role: Role, expr: &syn::Expr) -> TokenStream {
        let span = expr.span();
        let (private, number) = (self.job.names.private(span), self.job.names.number(span));
        let (checked, ty) = match role {
            Role::Ranks => {
                let n = match expr {
                    syn::Expr::Array(array) => array.elems.len().to_token_stream(),
                    // A constant of the user's is as long as what takes it says.
                    _ => return self.checked_at_start("rank", &expr.to_token_stream(), expr),
                };
                ("checked_ranks", quote_spanned!(span=> [f64; #n]))
            }
            Role::Rank => ("checked_rank", quote_spanned!(span=> f64)),
            _ => ("checked_limit", quote_spanned!(span=> usize)),
        };
        let checked = Ident::new(checked, span);
        quote_spanned!(span=> { const #number: #ty = #private::#checked(#expr); #number })
    }

    /// A number that is checked when the job is built.
    fn checked_at_start(&self, method: &str, number: &TokenStream, expr: &syn::Expr) -> TokenStream {
        let span = expr.span();
        let (plan, method) = (self.job.names.wires(span).plan(), Ident::new(method, span));
        quote_spanned!(span=> #plan.#method(#number)?)
    }
}
