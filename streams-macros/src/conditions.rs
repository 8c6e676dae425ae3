//! `#[cfg(..)]` inside a job: the job is handed back twice, with what stands under the condition and without it,
//! and rustc, who knows the condition, takes one of them.
//!
//! It does this for the first condition; the other ones are met when rustc comes back.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Attribute, FnArg, ItemFn, Stmt};

use crate::expand::Root;
use crate::symbol;

/// The job with and without what its first condition is about; `None` if it has none.
pub(crate) fn split(args: &TokenStream, item: &TokenStream, root: Root) -> Option<TokenStream> {
    let mut with: ItemFn = syn::parse2(item.clone()).ok()?;
    let mut without = with.clone();
    let condition = take(&mut with, false)?;
    take(&mut without, true);
    let root = Ident::new(root.0, Span::call_site());
    // What stands there is refused when rustc comes back.
    let args = (!args.is_empty()).then(|| quote!((#args)));
    Some(quote! {
        #[cfg(#condition)]
        #[::#root::prelude::stream_job #args]
        #with
        #[cfg(not(#condition))]
        #[::#root::prelude::stream_job #args]
        #without
    })
}

/// Takes the first condition off, with what it is about where `remove` says so.
fn take(function: &mut ItemFn, remove: bool) -> Option<TokenStream> {
    let parameter = function.sig.inputs.iter().position(|input| condition(parameter_attrs(input)).is_some());
    if let Some(at) = parameter {
        let mut inputs: Vec<FnArg> = std::mem::take(&mut function.sig.inputs).into_iter().collect();
        let found = inputs.get_mut(at).and_then(|input| match input {
            FnArg::Typed(input) => take_condition(&mut input.attrs),
            FnArg::Receiver(input) => take_condition(&mut input.attrs),
        });
        if remove {
            inputs.remove(at);
        }
        function.sig.inputs = inputs.into_iter().collect();
        return found;
    }
    let stmts = &mut function.block.stmts;
    let at = stmts
        .iter()
        .position(|stmt| matches!(stmt, Stmt::Local(local) if condition(&local.attrs).is_some()))?;
    let found = match stmts.get_mut(at) {
        Some(Stmt::Local(local)) => take_condition(&mut local.attrs),
        _ => None,
    };
    if remove {
        stmts.remove(at);
    }
    found
}

fn parameter_attrs(input: &FnArg) -> &[Attribute] {
    match input {
        FnArg::Typed(input) => &input.attrs,
        FnArg::Receiver(input) => &input.attrs,
    }
}

fn condition(attrs: &[Attribute]) -> Option<usize> {
    attrs.iter().position(|attr| attr.path().is_ident(symbol::CFG))
}

fn take_condition(attrs: &mut Vec<Attribute>) -> Option<TokenStream> {
    let at = condition(attrs)?;
    match attrs.remove(at).meta {
        syn::Meta::List(list) => Some(list.tokens),
        // `#[cfg]` alone is refused by rustc.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, with: &str, without: &str) {
        let split = split(&TokenStream::new(), &source.parse().unwrap(), Root("streams_core")).unwrap();
        let file: syn::File = syn::parse2(split).unwrap();
        let printed: Vec<String> = file
            .items
            .into_iter()
            .map(|item| {
                let syn::Item::Fn(mut item) = item else { panic!("no function") };
                item.attrs.clear();
                quote!(#item).to_string().replace(' ', "")
            })
            .collect();
        let plain = |text: &str| text.replace(' ', "");
        assert_eq!(printed, [plain(with), plain(without)]);
    }

    #[test]
    fn a_binding_under_a_condition() {
        check(
            "fn job(a: Stream<A>) -> Stream<A> { #[cfg(unix)] let a = a.filter(f); a }",
            "fn job(a: Stream<A>) -> Stream<A> { let a = a.filter(f); a }",
            "fn job(a: Stream<A>) -> Stream<A> { a }",
        );
    }

    #[test]
    fn a_parameter_under_a_condition() {
        check(
            "fn job(a: Stream<A>, #[cfg(unix)] n: u64) -> Stream<A> { a }",
            "fn job(a: Stream<A>, n: u64) -> Stream<A> { a }",
            "fn job(a: Stream<A>) -> Stream<A> { a }",
        );
    }

    #[test]
    fn no_condition() {
        assert!(
            split(
                &TokenStream::new(),
                &"fn job(a: Stream<A>) -> Stream<A> { a }".parse().unwrap(),
                Root("streams_core")
            )
            .is_none()
        );
    }
}
