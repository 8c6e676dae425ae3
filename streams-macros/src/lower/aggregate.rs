//! Aggregates: the accumulators are lifted out of the row, the row becomes what finishes a window.
//!
//! Everything that is not an accumulator, the key or the window stays an ordinary expression.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::Expr;
use syn::visit_mut::{self, VisitMut};

use super::{Lower, window};
use crate::ctxt::Ctxt;
use crate::ident::Names;
use crate::ir::{Accumulator, Aggregate, Argument};
use crate::{ast, scope, symbol};

impl Lower<'_> {
    /// Takes an aggregate apart.
    pub(super) fn aggregate(&self, op: Span, call: &ast::Call) -> Aggregate {
        let mut finish = call.args.first().cloned().unwrap_or_else(|| syn::parse_quote_spanned!(op=> ()));
        self.refuse_streams(&finish);
        if let Expr::Closure(closure) = &finish {
            self.ctxt.error_at(
                closure.or1_token.span,
                "an aggregate takes a row and no closure, the closures stand inside of it; write `.aggregate(Total { host: key(), n: sum(|r| r.bytes) })`",
            );
        }
        let mut lift = Lift {
            ctxt: self.ctxt,
            names: self.forge,
            calls: Vec::new(),
            window_word: None,
            bound_word: None,
        };
        lift.visit_expr_mut(&mut finish);
        let captures = self.own_captures(&mut finish);
        let mut accumulators = Vec::new();
        for (word, mut call, roles) in lift.calls {
            let arguments = call.args.iter_mut().zip(roles).map(|(expr, role)| {
                let captures = self.own_captures(expr);
                let is_const = captures.is_empty() && window::is_const(expr);
                Argument { role: *role, captures, is_const }
            });
            let arguments = arguments.collect();
            accumulators.push(Accumulator { call, word, arguments });
        }
        Aggregate {
            accumulators,
            finish,
            window_word: lift.window_word,
            bound_word: lift.bound_word,
            captures,
            late: None,
        }
    }
}

struct Lift<'a> {
    ctxt: &'a Ctxt,
    names: Names,
    calls: Vec<(Ident, syn::ExprCall, &'static [symbol::Argument])>,
    window_word: Option<Ident>,
    bound_word: Option<Ident>,
}

impl VisitMut for Lift<'_> {
    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        if let Some(word) = uncalled(&field.expr).filter(|_| field.colon_token.is_some()) {
            self.ctxt
                .error_at(word.span(), format!("`{word}` is a function in an aggregate; write `{word}()`"));
        }
        visit_mut::visit_field_value_mut(self, field);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let word = match expr {
            Expr::Call(call) => word(call),
            _ => None,
        };
        match (word, &mut *expr) {
            (Some(word), Expr::Call(call)) => {
                if let Some(replaced) = self.replace(&word, call) {
                    *expr = replaced;
                } else {
                    visit_mut::visit_expr_mut(self, expr);
                }
            }
            (_, expr) => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        // `format!("{}", key())`: the arguments of most macros are expressions.
        if !scope::change_macro_arguments(mac, |argument| self.visit_expr_mut(argument)) {
            check_macro_hides_no_aggregate(self.ctxt, mac);
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

impl Lift<'_> {
    /// What stands in the row instead of a call of ours.
    fn replace(&mut self, word: &Ident, call: &syn::ExprCall) -> Option<Expr> {
        let span = word.span();
        let name = word.to_string();
        if let Some(accumulator) = symbol::ACCUMULATORS.iter().find(|known| name == known.name) {
            if call.args.len() != accumulator.arguments.len() {
                let of_some = "count()`, or for some of the records `sum(|r| u64::from(r.is_failed))";
                let example = if name == "count" { of_some } else { accumulator.example };
                self.wrong_arity(word, call, accumulator.arguments.len(), example);
                return None;
            }
            let roles = accumulator.arguments.iter().zip(&call.args);
            for (_, value) in roles.filter(|(role, _)| **role == symbol::Argument::OfRecord) {
                if !may_be_function(value) {
                    self.ctxt.error_on(
                        value,
                        format!("`{word}` takes a closure over the record; write `{}`", accumulator.example),
                    );
                }
            }
            let slot = self.names.acc(self.calls.len(), span);
            self.calls.push((word.clone(), call.clone(), accumulator.arguments));
            return Some(syn::parse_quote_spanned!(span=> #slot));
        }
        let replaced = place(self.names, word)?;
        if !call.args.is_empty() {
            self.wrong_arity(word, call, 0, &format!("{name}()"));
        }
        if name != symbol::KEY {
            self.window_word.get_or_insert_with(|| word.clone());
            if name != symbol::FIRED {
                self.bound_word.get_or_insert_with(|| word.clone());
            }
        }
        syn::parse2(replaced).ok()
    }

    fn wrong_arity(&self, word: &Ident, call: &syn::ExprCall, wanted: usize, example: &str) {
        let count = match wanted {
            0 => "no argument".to_owned(),
            1 => "1 argument".to_owned(),
            n => format!("{n} arguments"),
        };
        let message = format!("`{word}` takes {count} in an aggregate; write `{example}`");
        match call.args.iter().nth(wanted) {
            Some(extra) => self.ctxt.error_on(extra, message),
            None => self.ctxt.error_at(word.span(), message),
        }
    }
}

/// What a macro makes of tokens of its own form is not known, and so neither which of them are aggregates:
/// `json!({ "n": count() })`.
fn check_macro_hides_no_aggregate(ctxt: &Ctxt, mac: &syn::Macro) {
    if let Some(word) = hidden(mac.tokens.clone()) {
        let name = crate::text::of_type(quote::ToTokens::to_token_stream(&mac.path));
        ctxt.error_at(
            word.span(),
            format!("`{word}()` is not seen inside of `{name}!`, whose arguments are no list of expressions; write `let n = {word}(..);` in a block around it, and `n` inside"),
        );
    }
}

/// The first word of ours that is called.
fn hidden(tokens: TokenStream) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_punct = |at: Option<usize>, c: char| {
        let token = at.and_then(|at| tokens.get(at));
        matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
    };
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        // `r.count()` and `u64::max(a, b)` are the user's own.
        let (before, further) = (at.checked_sub(2), at.checked_sub(3));
        let is_own = is_punct(before, '.') || is_punct(before, ':') && is_punct(further, ':');
        if let Some(TokenTree::Ident(word)) = at.checked_sub(1).and_then(|at| tokens.get(at))
            && group.delimiter() == Delimiter::Parenthesis
            && !is_own
            && is_ours(word)
        {
            return Some(word.clone());
        }
        if let Some(word) = hidden(group.stream()) {
            return Some(word);
        }
    }
    None
}

fn is_ours(word: &Ident) -> bool {
    let words = [symbol::KEY, symbol::WINDOW_START, symbol::WINDOW_END, symbol::FIRED];
    symbol::ACCUMULATORS.iter().map(|known| known.name).chain(words).any(|known| word == known)
}

/// Whether an argument can be a function: a closure, the name of one, or what makes one.
fn may_be_function(value: &Expr) -> bool {
    !matches!(
        value,
        Expr::Lit(_) | Expr::Field(_) | Expr::MethodCall(_) | Expr::Binary(_) | Expr::Reference(_)
    )
}

/// A word for a row's key or window that is not called: `from: window_start`.
fn uncalled(value: &Expr) -> Option<&Ident> {
    let Expr::Path(path) = value else { return None };
    let word = path.path.get_ident()?;
    let words = [symbol::KEY, symbol::WINDOW_START, symbol::WINDOW_END, symbol::FIRED];
    words.iter().any(|known| word == known).then_some(word)
}

/// What stands in a row instead of the words for its key and its window.
pub(super) fn place(names: Names, word: &Ident) -> Option<TokenStream> {
    let span = word.span();
    let (key, win) = (names.key(span), names.win(span));
    Some(match word.to_string().as_str() {
        symbol::KEY => {
            let private = names.private(span);
            quote_spanned!(span=> #private::cloned(#key))
        }
        symbol::WINDOW_START => quote_spanned!(span=> #win.start),
        symbol::WINDOW_END => quote_spanned!(span=> #win.end),
        symbol::FIRED => quote_spanned!(span=> #win.fired),
        _ => return None,
    })
}

/// The word of a call that may be ours: a bare name, or one that comes from our crates.
///
/// `std::cmp::max(a, b)` and `u64::max(a, b)` are the user's own.
pub(super) fn word(call: &syn::ExprCall) -> Option<Ident> {
    let Expr::Path(path) = &*call.func else { return None };
    let first = path.path.segments.first()?.ident.to_string();
    let is_bare = path.path.leading_colon.is_none() && path.path.segments.len() == 1;
    let is_ours = first == symbol::CORE_ROOT || first == symbol::RUNTIME_ROOT;
    (path.qself.is_none() && (is_bare || is_ours))
        .then(|| path.path.segments.last().map(|last| last.ident.clone()))?
}
