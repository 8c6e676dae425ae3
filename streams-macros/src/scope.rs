//! Which outer variables an expression mentions or changes.
//!
//! It follows scopes as far as shadowing goes, reads the arguments of macros where they are
//! expressions, and looks into format strings, whose names are not identifiers.
//! It does not look into items, which cannot capture.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, Token};

/// What a walk over an expression found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The outer variables that are mentioned, in order, each once, at its first place.
    pub(crate) mentioned: Vec<(String, Span)>,
    /// The outer variables that are changed, at the place of the change.
    pub(crate) changed: Vec<(String, Span)>,
}

/// Looks for the variables for which `outer` is true.
pub(crate) fn find(expr: &Expr, outer: &dyn Fn(&str) -> bool) -> Found {
    let mut walk = Walk { outer, scopes: Vec::new(), found: Found::default() };
    walk.visit_expr(expr);
    walk.found
}

/// The names that a pattern binds.
pub(crate) fn bound(pat: &syn::Pat) -> Vec<Ident> {
    struct Names(Vec<Ident>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
            self.0.push(pat.ident.clone());
            visit::visit_pat_ident(self, pat);
        }
        fn visit_expr(&mut self, _: &'ast Expr) {}
    }
    let mut names = Names(Vec::new());
    names.visit_pat(pat);
    names.0
}

struct Walk<'a> {
    outer: &'a dyn Fn(&str) -> bool,
    scopes: Vec<BTreeSet<String>>,
    found: Found,
}

impl Walk<'_> {
    fn is_outer(&self, name: &str) -> bool {
        (self.outer)(name) && !self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn mention(&mut self, name: &str, span: Span) {
        if self.is_outer(name) && self.found.mentioned.iter().all(|(known, _)| known != name) {
            self.found.mentioned.push((name.to_owned(), span));
        }
    }

    fn change(&mut self, place: &Expr) {
        if let Some(ident) = root(place)
            && self.is_outer(&ident.to_string())
        {
            self.found.changed.push((ident.to_string(), ident.span()));
        }
    }

    fn bind(&mut self, pat: &syn::Pat) {
        let names = bound(pat).into_iter().map(|name| name.to_string());
        match self.scopes.last_mut() {
            Some(scope) => scope.extend(names),
            None => self.scopes.push(names.collect()),
        }
    }

    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(BTreeSet::new());
        walk(self);
        self.scopes.pop();
    }

    fn format_string(&mut self, literal: &proc_macro2::Literal) {
        let text = literal.to_string();
        if !text.contains('"') {
            return;
        }
        // `{{` is a brace and not a name; what follows the name may be `:` or `}`.
        for part in text.replace("{{", "").split('{').skip(1) {
            let inside = part.split('}').next().unwrap_or_default();
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let name: String = inside.chars().take_while(|c| is_name(*c)).collect();
            self.mention(&name, literal.span());
            // Width and precision may be names, too: `{:>width$.precision$}`.
            for before in inside.split('$').rev().skip(1) {
                let start = before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
                self.mention(before.get(start..).unwrap_or_default(), literal.span());
            }
        }
    }

    fn raw_tokens(&mut self, tokens: TokenStream) {
        // How many dots stand in front: one is that of a field, two are those of a range.
        let mut dots = 0;
        for token in tokens {
            let before = dots;
            dots = 0;
            match token {
                TokenTree::Ident(_) if before == 1 => {}
                TokenTree::Ident(ident) => self.mention(&ident.to_string(), ident.span()),
                TokenTree::Literal(literal) => self.format_string(&literal),
                TokenTree::Group(group) => self.raw_tokens(group.stream()),
                TokenTree::Punct(punct) if punct.as_char() == '.' => dots = before + 1,
                TokenTree::Punct(_) => {}
            }
        }
    }
}

/// The variable whose place an expression is.
fn root(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => root(&field.base),
        Expr::Index(index) => root(&index.expr),
        Expr::Paren(paren) => root(&paren.expr),
        _ => None,
    }
}

/// The arguments of a macro call, if they are expressions: `format!("{}", n)`, `vec![n; 3]`.
pub(crate) fn macro_arguments(mac: &syn::Macro) -> Option<Vec<Expr>> {
    if let Ok(listed) = mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
        return Some(listed.into_iter().collect());
    }
    let repeated = repeated(mac)?;
    Some(vec![*repeated.expr, *repeated.len])
}

/// Changes the arguments of a macro call, if they are expressions; says whether they are.
pub(crate) fn change_macro_arguments(mac: &mut syn::Macro, mut change: impl FnMut(&mut Expr)) -> bool {
    if let Ok(mut listed) = mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
        listed.iter_mut().for_each(change);
        mac.tokens = listed.into_token_stream();
    } else if let Some(syn::ExprRepeat { mut expr, semi_token, mut len, .. }) = repeated(mac) {
        change(&mut expr);
        change(&mut len);
        mac.tokens = quote!(#expr #semi_token #len);
    } else {
        return false;
    }
    true
}

fn repeated(mac: &syn::Macro) -> Option<syn::ExprRepeat> {
    let body = &mac.tokens;
    syn::parse2(quote!([#body])).ok()
}

/// True for `a += b` and its kin.
fn assigns(op: syn::BinOp) -> bool {
    use syn::BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Some(ident) = path.path.get_ident() {
            self.mention(&ident.to_string(), ident.span());
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.scoped(|walk| {
            closure.inputs.iter().for_each(|pat| walk.bind(pat));
            walk.visit_expr(&closure.body);
        });
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.scoped(|walk| visit::visit_block(walk, block));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        // The value does not see the name that it is bound to.
        if let Some(init) = &local.init {
            self.visit_local_init(init);
        }
        self.bind(&local.pat);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.scoped(|walk| {
            walk.bind(&arm.pat);
            visit::visit_arm(walk, arm);
        });
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.scoped(|walk| {
            walk.visit_expr(&branch.cond);
            walk.visit_block(&branch.then_branch);
        });
        // What `if let` binds ends in front of the `else`.
        if let Some((_, otherwise)) = &branch.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, repeat: &'ast syn::ExprWhile) {
        self.scoped(|walk| visit::visit_expr_while(walk, repeat));
    }

    fn visit_expr_for_loop(&mut self, repeat: &'ast syn::ExprForLoop) {
        self.visit_expr(&repeat.expr);
        self.scoped(|walk| {
            walk.bind(&repeat.pat);
            walk.visit_block(&repeat.body);
        });
    }

    fn visit_expr_let(&mut self, test: &'ast syn::ExprLet) {
        self.visit_expr(&test.expr);
        self.bind(&test.pat);
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        self.change(&assign.left);
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if assigns(binary.op) {
            self.change(&binary.left);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if reference.mutability.is_some() {
            self.change(&reference.expr);
        }
        visit::visit_expr_reference(self, reference);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        match macro_arguments(mac) {
            Some(arguments) => {
                let mut first = true;
                for argument in &arguments {
                    match argument {
                        // `format!("{n}", n = x)`: the left side is a name of the macro's own.
                        Expr::Assign(assign) if !first => self.visit_expr(&assign.right),
                        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                            self.format_string(&text.token());
                        }
                        argument => self.visit_expr(argument),
                    }
                    first = false;
                }
            }
            None => self.raw_tokens(mac.tokens.clone()),
        }
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, mentioned: &[&str], changed: &[&str]) {
        let expr = syn::parse_str(source).unwrap();
        let found = find(&expr, &|name| ["a", "b"].contains(&name));
        let names = |list: &[(String, Span)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found.mentioned), mentioned, "mentioned in {source}");
        assert_eq!(names(&found.changed), changed, "changed in {source}");
    }

    #[test]
    fn finds_variables_and_not_fields() {
        check("|f| f.a + b + b", &["b"], &[]);
        check("|f| T { a, c: f }", &["a"], &[]);
        check("|f| a::b(f)", &[], &[]);
    }

    #[test]
    fn follows_shadowing() {
        check("|a| a + 1", &[], &[]);
        check("|f| { let a = a; a }", &["a"], &[]);
        check("|f| { let a = 1; a }", &[], &[]);
        check("|f| match f { Some(a) => a, None => b }", &["b"], &[]);
        check("|f| if let Some(a) = f { a } else { 0 }", &[], &[]);
        check("|f| if let Some(a) = f { a } else { a }", &["a"], &[]);
        check("|f| if let Some(a) = f { 0 } else { a += 1; b }", &["a", "b"], &["a"]);
        check("|f| { for a in f { g(a) } }", &[], &[]);
    }

    #[test]
    fn reads_width_and_precision() {
        let expr = syn::parse_str("|f| format!(\"{:>width$.precision$} {f:>0$}\", f.n)").unwrap();
        let found = find(&expr, &|name| ["width", "precision", "other"].contains(&name));
        let names: Vec<&str> = found.mentioned.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["precision", "width"]);
    }

    #[test]
    fn reads_macros_and_format_strings() {
        check("|f| format!(\"{a}/{}\", f.b)", &["a"], &[]);
        check("|f| format!(\"{{a}}{b:?}\")", &["b"], &[]);
        check("|f| format!(\"{a}\", a = f)", &["a"], &[]);
        check("|f| matches!(f, X if a)", &["a"], &[]);
        check("|f| matches!(f.a, X if f.b.a > 0)", &[], &[]);
        check("|f| vec![f.a; b]", &["b"], &[]);
        check("|f| matches!(f, X if (0..a).contains(g) || h(..=b))", &["a", "b"], &[]);
    }

    #[test]
    fn finds_changes() {
        check("|f| { a += 1; f.b = 2; }", &["a"], &["a"]);
        check("|f| { b.x[0] = 2; g(&mut a) }", &["b", "a"], &["b", "a"]);
        check("|f| { let a = f; a.x = 1; }", &[], &[]);
    }
}
