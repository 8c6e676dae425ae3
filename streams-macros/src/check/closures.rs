//! What operators must not do: change what they capture, wait, read a clock, draw random numbers.
//!
//! A record may be read again after a failure, and must then have the same effect.
//! Only what is written in the job itself is seen; the functions that it calls are not.

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Expr, Path};

use crate::ctxt::Ctxt;
use crate::ir::Job;
use crate::{impure, scope};

/// Applies the rules to every expression of every operator, and to the values that they may capture.
pub(super) fn check(ctxt: &Ctxt, job: &Job) {
    for value in &job.values {
        check_values_replay(ctxt, value);
    }
    for node in &job.nodes {
        for expr in node.exprs() {
            check_captures_are_constant(ctxt, job, expr);
            if node.impure.is_none() {
                check_operators_replay(ctxt, expr);
            }
        }
    }
}

/// A changed capture would not be in any checkpoint: `filter(|f| { limit += 1; f.bytes > limit })`.
fn check_captures_are_constant(ctxt: &Ctxt, job: &Job, expr: &Expr) {
    let settings = job.settings.iter().map(|setting| &setting.name);
    let names: Vec<String> = settings.chain(&job.plain).map(ToString::to_string).collect();
    for (name, span) in scope::find(expr, &|name| names.iter().any(|known| known == name)).changed {
        ctxt.error_at(
            span,
            format!("an operator cannot change `{name}`, the change would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`"),
        );
    }
}

/// A value that is computed when the job starts is another one after a restart: `let began = Instant::now();`.
fn check_values_replay(ctxt: &Ctxt, value: &Expr) {
    struct Calls<'a>(&'a Ctxt);
    impl<'ast> Visit<'ast> for Calls<'_> {
        fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
            if impure::makes_cell(&path.path) {
                refuse_cell(self.0, &path.path);
            }
            if impure::call(&path.path).is_some() {
                self.0.error_on(
                    &path.path,
                    format!(
                        "`{}` gives another value after a restart, when records are read again; make it a setting, a parameter of the job that is no stream",
                        written(&path.path)
                    ),
                );
            }
        }
    }
    Calls(ctxt).visit_expr(value);
}

/// What changes from record to record is state: `let seen = Arc::new(Mutex::new(HashSet::new()));`.
fn refuse_cell(ctxt: &Ctxt, path: &Path) {
    ctxt.error_on(
        path,
        format!(
            "what `{}` holds would not survive a checkpoint; keep state in an operator such as `.running(forever()).aggregate(..)`",
            written(path)
        ),
    );
}

/// An operator neither waits nor asks the outside: `map(|f| SystemTime::now())`, `filter(|_| rand::random())`.
fn check_operators_replay(ctxt: &Ctxt, expr: &Expr) {
    Replay { ctxt, closures: 0 }.visit_expr(expr);
}

struct Replay<'a> {
    ctxt: &'a Ctxt,
    closures: usize,
}

impl Replay<'_> {
    fn waits(&self, span: Span) {
        self.ctxt.error_at(
            span,
            "an operator cannot wait, a batch runs through its operators at once; fetch the data before and send it in through a port of its own",
        );
    }

    fn path(&self, path: &Path) {
        if let Some(kind) = impure::call(path) {
            self.ctxt.error_on(
                path,
                format!("`{}` in an operator breaks replay; {}{OPT_OUT}", written(path), kind.instead),
            );
        }
    }
}

const OPT_OUT: &str =
    ", or write `#[allow_impure(reason = \"..\")]` in front of the closure where it must be";

/// A path without its arguments is what the user recognizes.
fn written(path: &Path) -> String {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::")
}

impl<'ast> Visit<'ast> for Replay<'_> {
    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        if let Some(word) = &closure.asyncness {
            // What is awaited inside is not reported again.
            self.waits(word.span);
            return;
        }
        self.closures += 1;
        visit::visit_expr_closure(self, closure);
        self.closures -= 1;
    }

    fn visit_expr_await(&mut self, expr: &'ast syn::ExprAwait) {
        self.waits(expr.await_token.span);
        // What is awaited on the spot is the same mistake.
        if !matches!(*expr.base, Expr::Async(_)) {
            visit::visit_expr_await(self, expr);
        }
    }

    fn visit_expr_async(&mut self, expr: &'ast syn::ExprAsync) {
        // What is awaited inside is not reported again.
        self.waits(expr.async_token.span);
    }

    fn visit_expr_try(&mut self, expr: &'ast syn::ExprTry) {
        if self.closures == 0 {
            self.ctxt.error_on(
                expr.question_token,
                "a job is a pipeline; `?` has nothing to return to, write `.try_map(..)` for what can fail per record",
            );
        }
        visit::visit_expr_try(self, expr);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        // Outside of a closure a function is only named, which is how it becomes the operator.
        self.path(&path.path);
        // Inside, it is made anew for each record.
        if self.closures == 0 && impure::makes_cell(&path.path) {
            refuse_cell(self.ctxt, &path.path);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some(changed) = impure::changed_static(call) {
            self.ctxt.error_on(
                changed,
                format!(
                    "an operator cannot change `{}`, a `static` is in no checkpoint; keep state in an operator such as `.aggregate(..)`{OPT_OUT}",
                    written(changed)
                ),
            );
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        for argument in scope::macro_arguments(mac).iter().flatten() {
            self.visit_expr(argument);
        }
    }
}
