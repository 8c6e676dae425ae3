//! Arguments: what they capture.
//!
//! A closure must own what it captures, because the machine outlives the function that builds it.

use proc_macro2::Ident;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Token};

use super::{Lower, Name};
use crate::ir::{Args, Join};
use crate::ops::Op;
use crate::{ast, scope};

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

    /// A join without its right side; `None` where an argument is missing.
    pub(super) fn join(&self, op: &Op, call: &ast::Call) -> Option<Join> {
        let [_, bound, row] = call.args.as_slice() else { return None };
        let (mut bound, mut row) = (bound.clone(), row.clone());
        let constant = self.const_window(&bound);
        let is_placed = self.place_row(&mut row, &bound, op.joins_table());
        let mut captures = Vec::new();
        for expr in [&mut bound, &mut row] {
            self.refuse_streams(expr);
            merge(&mut captures, self.own_captures(expr));
        }
        Some(Join { bound, constant, row, is_placed, captures, late: None })
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
