//! The head of a job: attributes, parameters, return type.
//!
//! It does not look into the body.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{FnArg, GenericArgument, Pat, PathArguments, ReturnType, Type};

use super::default::check_default_is_a_value;
use crate::ast;
use crate::ctxt::Ctxt;
use crate::symbol;

/// A job is a plain function: what else a function can be is refused, word by word.
pub(super) fn check_modifiers(ctxt: &Ctxt, sig: &syn::Signature) {
    if let Some(word) = &sig.asyncness {
        ctxt.error_on(
            word,
            "a job is not `async`, it describes a pipeline and returns at once; remove `async`",
        );
    }
    if let Some(word) = &sig.unsafety {
        ctxt.error_on(
            word,
            "a job cannot be `unsafe`; remove `unsafe` and call unsafe code from a safe function",
        );
    }
    if let Some(word) = &sig.constness {
        ctxt.error_on(word, "a job cannot be `const`; remove `const`");
    }
    if let Some(word) = &sig.abi {
        ctxt.error_on(word, "a job cannot be `extern`; remove `extern`");
    }
    if let Some(word) = &sig.variadic {
        ctxt.error_on(word, "a job has a fixed number of parameters; remove `...`");
    }
    if !sig.generics.params.is_empty() {
        ctxt.error_on(
            &sig.generics,
            "a job cannot be generic, its topology is fixed when it is compiled; write the types out",
        );
    } else if let Some(word) = &sig.generics.where_clause {
        ctxt.error_on(word, "a job cannot be generic; remove the `where` clause");
    }
}

/// The doc comment, and the attributes that are passed on.
pub(super) fn attributes(
    ctxt: &Ctxt,
    attrs: &[syn::Attribute],
) -> (Vec<syn::Attribute>, Vec<syn::Attribute>) {
    let (docs, attrs): (Vec<_>, Vec<_>) = attrs.iter().cloned().partition(|attr| attr.path().is_ident("doc"));
    let mut passed = Vec::new();
    for attr in &attrs {
        if symbol::PASSED_ATTRIBUTES.iter().any(|word| attr.path().is_ident(word)) {
            passed.push(attr.clone());
        } else {
            let word = crate::text::of_type(attr.path().to_token_stream());
            ctxt.error_on(attr.path(), format!("`#[{word}]` has no meaning on a job; remove it"));
        }
    }
    (docs, passed)
}

/// The parameters: ports and settings.
pub(super) fn params(ctxt: &Ctxt, sig: &syn::Signature) -> Vec<ast::Param> {
    let mut params: Vec<ast::Param> = Vec::new();
    for input in &sig.inputs {
        let Some(param) = param(ctxt, input) else { continue };
        if params.iter().any(|known| known.name == param.name) {
            ctxt.error_at(
                param.name.span(),
                format!("the name `{}` is taken by another parameter; choose another one", param.name),
            );
        }
        params.push(param);
    }
    let has_receiver = sig.receiver().is_some();
    if !has_receiver && !params.iter().any(|param| param.is_port) {
        ctxt.error_at(
            sig.ident.span(),
            format!(
                "the job `{}` has no input; give it a parameter that is a stream: `records: Stream<..>`",
                sig.ident
            ),
        );
    }
    params
}

fn param(ctxt: &Ctxt, input: &FnArg) -> Option<ast::Param> {
    let input = match input {
        FnArg::Receiver(receiver) => {
            ctxt.error_on(
                receiver.self_token,
                "a job cannot be a method; move it out of the `impl` and make what it needs a setting",
            );
            return None;
        }
        FnArg::Typed(input) => input,
    };
    let name = param_name(ctxt, &input.pat)?;
    let is_port = is_stream(&input.ty);
    let default = arg_attribute(ctxt, &input.attrs, &name, is_port);
    if let Some(default) = &default {
        check_default_is_a_value(ctxt, &input.ty, default);
    }
    match plain(&input.ty) {
        Type::Reference(reference) => ctxt.error_on(
            reference.and_token,
            format!(
                "the setting `{name}` must own its value; write `String` for `&str`, or the type without `&`"
            ),
        ),
        Type::ImplTrait(ty) => {
            ctxt.error_on(
                ty.impl_token,
                format!("the parameter `{name}` needs a plain type; write the type out"),
            );
        }
        _ if is_port => check_stream(ctxt, &input.ty),
        _ => {}
    }
    Some(ast::Param { name, ty: (*input.ty).clone(), doc: super::doc_text(&input.attrs), default, is_port })
}

fn param_name(ctxt: &Ctxt, pat: &Pat) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) => {
            if let Some(word) = &pat.mutability {
                ctxt.error_on(
                    word,
                    "a job cannot hold `mut` variables, they would not survive a checkpoint; remove `mut`",
                );
            }
            if let Some(word) = &pat.by_ref {
                ctxt.error_on(word, "a parameter of a job is a plain name; remove `ref`");
            }
            Some(pat.ident.clone())
        }
        other => {
            ctxt.error_on(
                other,
                "a parameter of a job is a plain name, it becomes a port or a flag; write `name: Type`",
            );
            None
        }
    }
}

/// Reads `#[arg(default = "..")]`.
fn arg_attribute(ctxt: &Ctxt, attrs: &[syn::Attribute], name: &Ident, is_port: bool) -> Option<syn::LitStr> {
    let mut default = None;
    for attr in attrs {
        if attr.path().is_ident("doc") {
            continue;
        }
        if !attr.path().is_ident(symbol::ARG) {
            ctxt.error_on(
                attr.path(),
                "a parameter of a job takes only `#[arg(default = \"..\")]` and doc comments; remove it",
            );
            continue;
        }
        if is_port {
            ctxt.error_on(
                attr.path(),
                format!("the port `{name}` takes no `#[arg(..)]`, it is bound when the job runs; remove it"),
            );
            continue;
        }
        if matches!(attr.meta, syn::Meta::Path(_)) {
            ctxt.error_on(
                attr.path(),
                "`#[arg]` says nothing; write `#[arg(default = \"60s\")]` or remove it",
            );
            continue;
        }
        let parsed = attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident(symbol::DEFAULT) {
                return Err(meta.error("unknown word in `#[arg(..)]`; write `#[arg(default = \"60s\")]`"));
            }
            if !meta.input.peek(syn::Token![=]) {
                return Err(meta.error("`default` has no text; write `default = \"60s\"`"));
            }
            let literal: syn::Lit = meta.value()?.parse()?;
            let syn::Lit::Str(text) = &literal else {
                let message = format!(
                    "a default is text, as on the command line; write `default = \"{}\"`",
                    literal.to_token_stream()
                );
                return Err(syn::Error::new_spanned(&literal, message));
            };
            if default.replace(text.clone()).is_some() {
                return Err(meta.error("a setting has one default; remove this one"));
            }
            Ok(())
        });
        if let Err(error) = parsed {
            ctxt.syn_error(error);
        } else if default.is_none() {
            ctxt.error_on(
                attr.path(),
                "`#[arg()]` says nothing; write `#[arg(default = \"60s\")]` or remove it",
            );
        }
    }
    default
}

/// The return type as a list of streams.
pub(super) fn outputs(ctxt: &Ctxt, sig: &syn::Signature) -> ast::Outputs {
    let ReturnType::Type(arrow, ty) = &sig.output else {
        ctxt.error_at(
            sig.ident.span(),
            format!("the job `{}` has no output; return a stream: `-> Stream<..>`", sig.ident),
        );
        return ast::Outputs { types: Vec::new(), tokens: TokenStream::new() };
    };
    let types: Vec<Type> = match plain(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().cloned().collect(),
        ty => vec![ty.clone()],
    };
    if types.is_empty() {
        ctxt.error_on(ty, format!("the job `{}` has no output; return a stream: `-> Stream<..>`", sig.ident));
    }
    for ty in &types {
        if is_stream(ty) {
            check_stream(ctxt, ty);
        } else {
            ctxt.error_on(ty, "a job returns streams; write `Stream<..>` or a tuple of streams");
        }
    }
    ast::Outputs { types, tokens: quote!(#arrow #ty) }
}

/// The tokens that decide what the job does: everything but comments and visibility.
pub(super) fn code(function: &syn::ItemFn) -> TokenStream {
    let mut sig = function.sig.clone();
    for input in &mut sig.inputs {
        if let FnArg::Typed(input) = input {
            input.attrs.retain(|attr| !attr.path().is_ident("doc"));
        }
    }
    let block = &function.block;
    quote!(#sig #block)
}

/// A type as it was written, also where a macro has passed it on.
pub(super) fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        ty => ty,
    }
}

fn is_stream(ty: &Type) -> bool {
    matches!(plain(ty), Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == symbol::STREAM))
}

/// The record type of `Stream<T>`.
pub(crate) fn record_type(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = plain(ty) else { return None };
    let PathArguments::AngleBracketed(args) = &path.path.segments.last()?.arguments else { return None };
    match args.args.first()? {
        GenericArgument::Type(ty) if args.args.len() == 1 => Some(ty),
        _ => None,
    }
}

/// The row type of a table, `Table<T>`.
///
/// `diesel::Table<T>` is the user's own.
pub(crate) fn row_type(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = plain(ty) else { return None };
    let segments = &path.path.segments;
    let (first, last) = (&segments.first()?.ident, &segments.last()?.ident);
    let is_ours = segments.len() == 1 || first == symbol::CORE_ROOT || first == symbol::RUNTIME_ROOT;
    (is_ours && last == symbol::TABLE).then(|| record_type(ty))?
}

fn check_stream(ctxt: &Ctxt, ty: &Type) {
    if record_type(ty).is_none() {
        ctxt.error_at(
            ty.span(),
            "a stream names the type of its records and nothing else; write `Stream<Record>`",
        );
    }
}
