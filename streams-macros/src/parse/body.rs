//! The body of a job: `let`s, chains and what is returned.
//!
//! It takes expressions apart into chains; whether a chain is one of streams is not known here.

use syn::{Expr, Pat, Stmt};

use crate::ast;
use crate::ctxt::Ctxt;

/// Takes the statements apart.
pub(super) fn statements(ctxt: &Ctxt, stmts: Vec<Stmt>) -> (Vec<ast::Stmt>, Option<ast::Tail>) {
    let mut body = Vec::new();
    let mut tail = None;
    let last = stmts.len().saturating_sub(1);
    for (i, stmt) in stmts.into_iter().enumerate() {
        match stmt {
            Stmt::Local(local) => {
                body.extend(binding(ctxt, local).map(|bound| ast::Stmt::Let(Box::new(bound))))
            }
            Stmt::Item(item) => body.push(ast::Stmt::Item(item)),
            Stmt::Macro(call) => ctxt.error_on(&call.mac.path, ONLY_PIPELINE_MACRO),
            Stmt::Expr(Expr::Return(word), _) => {
                ctxt.error_on(
                    word.return_token,
                    "a job is a pipeline; write its output as the last expression, without `return`",
                );
                if let (Some(value), true) = (word.expr, i == last) {
                    tail = outputs(ctxt, *value);
                }
            }
            Stmt::Expr(expr, _) if check_attributes(ctxt, &expr) => {}
            Stmt::Expr(expr, None) if i == last => tail = outputs(ctxt, expr),
            Stmt::Expr(expr, Some(semicolon)) if i == last && is_chain(&expr) => {
                ctxt.error_on(semicolon, "the job ends without its output; remove this `;`");
                tail = outputs(ctxt, expr);
            }
            Stmt::Expr(expr, _) => body.extend(dropped(ctxt, expr).map(ast::Stmt::Dropped)),
        }
    }
    (body, tail)
}

const ONLY_PIPELINE_MACRO: &str = "a job is a pipeline; a macro at this level would run once, before the first record; call it inside an operator such as `.inspect(|r| ..)`";

fn binding(ctxt: &Ctxt, local: syn::Local) -> Option<ast::Let> {
    check_let_mut(ctxt, &local.pat);
    let Some(init) = &local.init else {
        ctxt.error_on(&local.pat, "a `let` of a job has a value; write `let name = ..;`");
        return None;
    };
    if let Some((word, _)) = &init.diverge {
        ctxt.error_on(word, "a job is a pipeline; a `let` at this level cannot have an `else`");
        return None;
    }
    let chain = chain(ctxt, (*init.expr).clone());
    check_plain_value(ctxt, &chain);
    Some(ast::Let { local, chain })
}

/// A variable of the job lives outside the operators and would not survive a checkpoint.
fn check_let_mut(ctxt: &Ctxt, pat: &Pat) {
    struct Words<'a>(&'a Ctxt);
    impl<'ast> syn::visit::Visit<'ast> for Words<'_> {
        fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
            if let Some(word) = &pat.mutability {
                self.0.error_on(word, "a job cannot hold `mut` variables, they would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`");
            }
        }
    }
    syn::visit::Visit::visit_pat(&mut Words(ctxt), pat);
}

/// A plain value is computed before the job starts: it can neither fail nor wait nor leave.
fn check_plain_value(ctxt: &Ctxt, chain: &ast::Chain) {
    struct Words<'a>(&'a Ctxt);
    impl<'ast> syn::visit::Visit<'ast> for Words<'_> {
        fn visit_expr_try(&mut self, expr: &'ast syn::ExprTry) {
            refuse_try(self.0, expr);
        }
        fn visit_expr_await(&mut self, expr: &'ast syn::ExprAwait) {
            refuse_await(self.0, expr);
        }
        fn visit_expr_return(&mut self, expr: &'ast syn::ExprReturn) {
            self.0
                .error_on(expr.return_token, "a job is a pipeline; it cannot be left early, remove `return`");
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
        fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    // What is in the chain itself was already refused while it was taken apart.
    let mut inner = &chain.whole;
    loop {
        inner = match inner {
            Expr::MethodCall(call) => {
                call.args.iter().for_each(|arg| syn::visit::Visit::visit_expr(&mut Words(ctxt), arg));
                &call.receiver
            }
            Expr::Field(field) => &field.base,
            Expr::Paren(paren) => &paren.expr,
            Expr::Try(expr) => &expr.expr,
            Expr::Await(expr) => &expr.base,
            other => return syn::visit::Visit::visit_expr(&mut Words(ctxt), other),
        };
    }
}

fn refuse_try(ctxt: &Ctxt, expr: &syn::ExprTry) {
    ctxt.error_on(expr.question_token, "a job is a pipeline; `?` has nothing to return to, write `.try_map(..)` for what can fail per record");
}

fn refuse_await(ctxt: &Ctxt, expr: &syn::ExprAwait) {
    ctxt.error_on(expr.await_token, "a job is a pipeline and waits for nothing; remove `.await`");
}

/// The last expression: a stream or a tuple of streams.
fn outputs(ctxt: &Ctxt, expr: Expr) -> Option<ast::Tail> {
    match expr {
        Expr::Tuple(tuple) => {
            Some(ast::Tail::Tuple(tuple.elems.into_iter().map(|elem| chain(ctxt, elem)).collect()))
        }
        Expr::Paren(paren) => outputs(ctxt, *paren.expr),
        expr => statement(ctxt, expr).map(|chain| ast::Tail::One(Box::new(chain))),
    }
}

fn dropped(ctxt: &Ctxt, expr: Expr) -> Option<ast::Chain> {
    statement(ctxt, expr)
}

/// An expression in a place where only a chain makes sense.
fn statement(ctxt: &Ctxt, expr: Expr) -> Option<ast::Chain> {
    let once = "at this level would run once, before the first record";
    match &expr {
        Expr::ForLoop(syn::ExprForLoop { for_token: word, .. }) => {
            ctxt.error_on(
                word,
                format!(
                    "a job is a pipeline; a loop {once}, use `.flat_map(..)` for several records from one"
                ),
            );
        }
        Expr::While(syn::ExprWhile { while_token: word, .. }) => {
            ctxt.error_on(
                word,
                format!("a job is a pipeline; a loop {once}, put it into an operator's closure"),
            );
        }
        Expr::Loop(syn::ExprLoop { loop_token: word, .. }) => {
            ctxt.error_on(
                word,
                format!("a job is a pipeline; a loop {once}, put it into an operator's closure"),
            );
        }
        Expr::If(syn::ExprIf { if_token: word, .. }) => {
            ctxt.error_on(word, format!("a job is a pipeline; an `if` {once}, choose per record with `.filter(..)` or inside `.map(..)`"));
        }
        Expr::Match(syn::ExprMatch { match_token: word, .. }) => {
            ctxt.error_on(word, format!("a job is a pipeline; a `match` {once}, choose per record inside `.map(..)` or `.filter_map(..)`"));
        }
        Expr::Block(block) => {
            ctxt.error_at(
                block.block.brace_token.span.open(),
                "a job is a pipeline; write its steps without an inner block",
            );
        }
        Expr::Unsafe(block) => {
            ctxt.error_on(
                block.unsafe_token,
                "a job is a pipeline; call unsafe code from a safe function inside an operator",
            );
        }
        Expr::Macro(call) => ctxt.error_on(&call.mac.path, ONLY_PIPELINE_MACRO),
        Expr::Assign(assign) => {
            let name = crate::text::of_type(quote::ToTokens::to_token_stream(&assign.left));
            ctxt.error_on(
                assign.eq_token,
                format!("a job assigns nothing; write `let {name} = ..`, the name may be one that there is"),
            );
        }
        _ => return Some(chain(ctxt, expr)),
    }
    None
}

/// An attribute of an expression would go unheard; whether there is one.
fn check_attributes(ctxt: &Ctxt, expr: &Expr) -> bool {
    let attrs = match expr {
        Expr::MethodCall(call) => &call.attrs,
        Expr::Path(path) => &path.attrs,
        Expr::Tuple(tuple) => &tuple.attrs,
        Expr::Block(block) => &block.attrs,
        Expr::Call(call) => &call.attrs,
        Expr::Paren(paren) => &paren.attrs,
        _ => return false,
    };
    let Some(attr) = attrs.first() else { return false };
    ctxt.error_on(
        attr.path(),
        "an attribute has no meaning on an output of a job; write it on a `let`, and return what that names",
    );
    true
}

fn is_chain(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => is_chain(&call.receiver),
        Expr::Field(field) => is_chain(&field.base),
        Expr::Paren(paren) => is_chain(&paren.expr),
        Expr::Path(path) => path.path.get_ident().is_some(),
        Expr::Tuple(tuple) => !tuple.elems.is_empty() && tuple.elems.iter().all(is_chain),
        _ => false,
    }
}

/// Takes `a.b(..).c` apart.
pub(crate) fn chain(ctxt: &Ctxt, whole: Expr) -> ast::Chain {
    let mut links = Vec::new();
    let mut rest = whole.clone();
    let head = loop {
        rest = match rest {
            Expr::MethodCall(call) => {
                links.push(ast::Link {
                    word: call.method,
                    dot: call.dot_token.span,
                    call: Some(ast::Call {
                        turbofish: call.turbofish,
                        parens: call.paren_token,
                        args: call.args.into_iter().collect(),
                    }),
                });
                *call.receiver
            }
            Expr::Field(syn::ExprField { base, dot_token, member: syn::Member::Named(word), .. }) => {
                links.push(ast::Link { word, dot: dot_token.span, call: None });
                *base
            }
            Expr::Paren(paren) => *paren.expr,
            Expr::Group(group) => *group.expr,
            Expr::Try(expr) => {
                refuse_try(ctxt, &expr);
                *expr.expr
            }
            Expr::Await(expr) => {
                refuse_await(ctxt, &expr);
                *expr.base
            }
            Expr::Path(path) => {
                break path.path.get_ident().map_or(ast::Head::Other, |name| ast::Head::Name(name.clone()));
            }
            _ => break ast::Head::Other,
        };
    };
    links.reverse();
    ast::Chain { head, links, whole }
}
