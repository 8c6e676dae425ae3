//! The rows of joins: `key()`, `window_start()` and `window_end()` in the closure become what it takes in front of its
//! records.

use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Pat};

use super::{Lower, aggregate};
use crate::ctxt::Ctxt;
use crate::ident::Names;
use crate::{scope, symbol};

impl Lower<'_> {
    /// Rewrites the closure of a join whose bound is `bound`; whether it says where its rows belong.
    pub(super) fn place_row(&self, row: &mut Expr, bound: &Expr, joins_table: bool) -> bool {
        let Expr::Closure(closure) = row else { return false };
        let has_window = !is_within(bound);
        let mut words = Words { ctxt: self.ctxt, names: self.forge, has_window, joins_table, found: false };
        words.visit_expr_mut(&mut closure.body);
        if words.found {
            let span = closure.or1_token.span;
            let (key, win) = (self.forge.key(span), self.forge.win(span));
            let places: [Pat; 2] =
                [syn::parse_quote_spanned!(span=> #key), syn::parse_quote_spanned!(span=> #win)];
            let records = std::mem::take(&mut closure.inputs);
            closure.inputs = places.into_iter().chain(records).collect();
        }
        words.found
    }
}

/// Whether the bound is `within(..)`, as far as can be seen.
fn is_within(bound: &Expr) -> bool {
    let call = symbol::window_call(bound).and_then(|(call, _)| symbol::window(call));
    call.is_some_and(|word| word.name == symbol::WITHIN)
}

struct Words<'a> {
    ctxt: &'a Ctxt,
    names: Names,
    has_window: bool,
    joins_table: bool,
    found: bool,
}

impl Words<'_> {
    /// Why a word has no meaning in this row.
    fn problem(&self, word: &str) -> Option<String> {
        if self.joins_table {
            return Some(format!(
                "`{word}()` is for joins of two streams; a record that meets a table has its key itself, take it from there"
            ));
        }
        (word != symbol::KEY && !self.has_window).then(|| {
            format!(
                "`{word}()` needs a window and `within` has none; join in `tumbling(..)` or `hopping(..)`, or take a time from a record"
            )
        })
    }
}

impl VisitMut for Words<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let word = match expr {
            Expr::Call(call) if call.args.is_empty() => aggregate::word(call),
            _ => None,
        };
        // Why a row comes is always the same in a join.
        let word = word.filter(|word| word != symbol::FIRED);
        let place = word.as_ref().and_then(|word| aggregate::place(self.names, word));
        let (Some(word), Some(place)) = (word, place) else { return visit_mut::visit_expr_mut(self, expr) };
        if let Some(problem) = self.problem(&word.to_string()) {
            return self.ctxt.error_at(word.span(), problem);
        }
        if let Ok(replaced) = syn::parse2(place) {
            *expr = replaced;
            self.found = true;
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        scope::change_macro_arguments(mac, |argument| self.visit_expr_mut(argument));
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
