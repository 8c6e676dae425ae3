//! First pass: tokens to the job as written.
//!
//! It reports what is wrong with the form of a function, wherever that can be seen without knowing
//! what a word means, and goes on behind every mistake.

pub(crate) mod body;
mod default;
pub(crate) mod signature;

use proc_macro2::TokenStream;

use crate::ast;
use crate::ctxt::Ctxt;

/// What syn says about `flows.;`, of which rustc has said before that the token is unexpected.
const AFTER_A_DOT: &str = "expected identifier or integer";

/// Reads a job; `None` only if the item is no function at all.
pub(crate) fn job(ctxt: &Ctxt, args: &TokenStream, item: TokenStream) -> Option<ast::Job> {
    if !args.is_empty() {
        ctxt.error_on(args, "`#[stream_job]` takes no arguments; settings are parameters of the function");
    }
    let function: syn::ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let is_other_item = syn::parse2::<syn::Item>(item).is_ok();
            if is_other_item {
                ctxt.error_at(
                    error.span(),
                    "`#[stream_job]` belongs on a function; write `fn job(input: Stream<..>) -> Stream<..>`",
                );
            } else if error.to_string() != AFTER_A_DOT {
                ctxt.syn_error(error);
            }
            return None;
        }
    };
    signature::check_modifiers(ctxt, &function.sig);
    let doc = doc_text(&function.attrs);
    let (doc_attrs, attrs) = signature::attributes(ctxt, &function.attrs);
    let params = signature::params(ctxt, &function.sig);
    let outputs = signature::outputs(ctxt, &function.sig);
    let code = signature::code(&function);
    let (body, tail) = body::statements(ctxt, function.block.stmts);
    let (vis, keyword, name) = (function.vis, function.sig.fn_token.span, function.sig.ident);
    Some(ast::Job { doc, doc_attrs, attrs, vis, keyword, name, params, outputs, body, tail, code })
}

/// The text of doc comments, one line each.
pub(crate) fn doc_text(attrs: &[syn::Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
            ..
        }) if path.is_ident("doc") => {
            let text = text.value();
            Some(text.strip_prefix(' ').unwrap_or(&text).to_owned())
        }
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests;
