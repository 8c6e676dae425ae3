//! Arguments: what they capture, and windows whose numbers are constant.
//!
//! A closure must own what it captures, because the machine outlives the function that builds it.

use proc_macro2::Ident;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Token};

use super::{Lower, Name};
use crate::ir::{Args, Call, Window};
use crate::{ast, scope, symbol};

impl Lower<'_> {
    /// The arguments of a straight operator.
    pub(super) fn args(&self, call: &ast::Call) -> Args {
        let mut exprs = call.args.clone();
        let mut captures = Vec::new();
        for expr in &mut exprs {
            self.refuse_streams(expr);
            merge(&mut captures, self.own_captures(expr));
        }
        Args { turbofish: call.turbofish.clone(), parens: call.parens, exprs, captures }
    }

    /// The settings and plain values that an expression mentions; its closures are made to own them.
    pub(super) fn own_captures(&self, expr: &mut Expr) -> Vec<Ident> {
        let captures = self.captures(expr);
        if !captures.is_empty() {
            AddMove(self).visit_expr_mut(expr);
        }
        captures
    }

    pub(super) fn captures(&self, expr: &Expr) -> Vec<Ident> {
        let found = scope::find(expr, &|name| matches!(self.names.get(name), Some(Name::Plain(_))));
        let names = found.mentioned.iter().filter_map(|(name, _)| match self.names.get(name) {
            Some(Name::Plain(ident)) => Some(ident.clone()),
            _ => None,
        });
        names.collect()
    }

    /// A window: constant if everything in it is, else checked when the job starts.
    pub(super) fn window(&self, call: &ast::Call) -> Call {
        let Some(spec) = call.args.first() else { return Call::Args(self.args(call)) };
        match self.const_window(spec) {
            Some(window) => Call::ConstWindow(window, Box::new(spec.clone())),
            None => Call::Args(self.args(call)),
        }
    }

    fn const_window(&self, spec: &Expr) -> Option<Window> {
        let Expr::Call(call) = spec else { return None };
        let Expr::Path(path) = &*call.func else { return None };
        let window = match path.path.segments.last()?.ident.to_string().as_str() {
            symbol::TUMBLING => Window::Tumbling,
            symbol::HOPPING => Window::Hopping,
            _ => return None,
        };
        (self.captures(spec).is_empty() && call.args.iter().all(is_const)).then_some(window)
    }
}

/// Adds what is not there yet, keeping the order.
pub(super) fn merge(captures: &mut Vec<Ident>, more: Vec<Ident>) {
    for ident in more {
        if !captures.contains(&ident) {
            captures.push(ident);
        }
    }
}

/// True for what rustc can certainly evaluate: literals, constants by their spelling, our constructors.
fn is_const(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(paren) => is_const(&paren.expr),
        Expr::Unary(unary) => is_const(&unary.expr),
        Expr::Cast(cast) => is_const(&cast.expr),
        Expr::Binary(binary) => is_const(&binary.left) && is_const(&binary.right),
        Expr::Path(path) => {
            path.path.segments.last().is_some_and(|last| is_screaming(&last.ident.to_string()))
        }
        Expr::Call(call) => {
            let Expr::Path(path) = &*call.func else { return false };
            let Some(last) = path.path.segments.last() else { return false };
            symbol::CONST_CONSTRUCTORS.iter().any(|word| last.ident == word) && call.args.iter().all(is_const)
        }
        _ => false,
    }
}

fn is_screaming(name: &str) -> bool {
    name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
}

/// Adds `move` to the outermost closures that capture something.
struct AddMove<'a>(&'a Lower<'a>);

impl VisitMut for AddMove<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let captures = matches!(expr, Expr::Closure(_)) && !self.0.captures(expr).is_empty();
        match expr {
            Expr::Closure(closure) => {
                if captures && closure.capture.is_none() {
                    // Errors about the closure point at its first token, which must be the user's.
                    closure.capture = Some(Token![move](closure.or1_token.span));
                }
            }
            expr => visit_mut::visit_expr_mut(self, expr),
        }
    }
}
