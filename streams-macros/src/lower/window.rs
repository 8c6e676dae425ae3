//! Windows: those whose numbers are constant are checked by rustc on the user's text, others at start.

use syn::Expr;

use super::Lower;
use crate::ir::{Call, Window};
use crate::{ast, symbol};

impl Lower<'_> {
    /// A window: constant if everything in it is, else checked when the job starts.
    pub(super) fn window(&self, call: &ast::Call) -> Call {
        let Some(spec) = call.args.first() else { return Call::Args(self.args(call)) };
        if is_length(spec) {
            self.ctxt.error_on(
                spec,
                "a length alone is no window; write `tumbling(secs(10))`, `hopping(secs(10), secs(2))` or `session(secs(10))`",
            );
        }
        match self.const_window(spec) {
            Some(window) => Call::ConstWindow(window, Box::new(spec.clone())),
            None => Call::Args(self.args(call)),
        }
    }

    pub(super) fn const_window(&self, spec: &Expr) -> Option<Window> {
        if !self.captures(spec).is_empty() {
            return None;
        }
        let (call, settings) = symbol::window_call(spec)?;
        let word = symbol::window(call)?;
        let are_const = settings.iter().all(|setting| setting.args.iter().all(is_const));
        let are_known = settings
            .iter()
            .all(|setting| symbol::WINDOW_SETTINGS.iter().any(|known| setting.method == known.name));
        if !are_known || !are_const || !call.args.iter().all(is_const) {
            return None;
        }
        let mut ty = vec![word.ty];
        if word.keeps {
            ty.push(retention(call.args.last()?)?);
        }
        let updates = |name: &str| {
            let known = symbol::WINDOW_SETTINGS.iter().find(|known| known.name == name);
            known.is_some_and(|known| known.updates.contains(&word.name))
        };
        let mut checked = word.checked;
        if settings.iter().any(|setting| updates(&setting.method.to_string())) {
            ty.insert(0, symbol::UPDATING);
            checked = symbol::CHECKED_UPDATING;
        }
        Some(Window { ty, checked })
    }
}

/// `secs(10)`, or a number.
fn is_length(spec: &Expr) -> bool {
    match spec {
        Expr::Lit(_) => true,
        Expr::Call(call) => {
            symbol::last_word(call).is_some_and(|word| symbol::LENGTHS.iter().any(|known| word == known))
        }
        _ => false,
    }
}

/// The type of `forever()` and `ttl(..)`.
fn retention(expr: &Expr) -> Option<&'static str> {
    let Expr::Call(call) = expr else { return None };
    let word = symbol::last_word(call)?;
    symbol::RETENTIONS.iter().find(|(name, _)| word == name).map(|(_, ty)| *ty)
}

/// True for what rustc can certainly evaluate: literals, constants by their spelling, our constructors.
pub(super) fn is_const(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Array(array) => array.elems.iter().all(is_const),
        Expr::Paren(paren) => is_const(&paren.expr),
        // `*SIZE` of a `LazyLock` is none.
        Expr::Unary(unary) => !matches!(unary.op, syn::UnOp::Deref(_)) && is_const(&unary.expr),
        Expr::Cast(cast) => is_const(&cast.expr),
        Expr::Binary(binary) => is_const(&binary.left) && is_const(&binary.right),
        Expr::Path(path) => {
            path.path.segments.last().is_some_and(|last| is_screaming(&last.ident.to_string()))
        }
        Expr::Call(call) => {
            let Some(last) = symbol::last_word(call) else { return false };
            symbol::CONST_CONSTRUCTORS.iter().any(|word| last == word) && call.args.iter().all(is_const)
        }
        _ => false,
    }
}

fn is_screaming(name: &str) -> bool {
    name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: bool) {
        assert_eq!(is_const(&syn::parse_str(source).unwrap()), expected, "{source}");
    }

    #[test]
    fn what_rustc_can_evaluate() {
        check("secs(2 * 5)", true);
        check("[0.5, -0.99]", true);
        check("sizes::SIZE", true);
        check("secs(self::N as u64)", true);
        check("size", false);
        check("size()", false);
    }

    /// `static SIZE: LazyLock<Duration>` is read when the job starts.
    #[test]
    fn a_dereference_is_not_constant() {
        check("*SIZE", false);
        check("secs(*N)", false);
    }
}
