//! What is emitted beside the errors: enough for rustc to say nothing more about the job.
//!
//! Editors do not see the stub; they get the chain itself.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

use super::Root;
use crate::ir::{Call, Job};

/// The errors, as items that fail to compile.
pub(crate) fn errors(errors: &[syn::Error]) -> TokenStream {
    errors.iter().map(syn::Error::to_compile_error).collect()
}

/// An implementation that is there and does nothing, for rustc alone.
///
/// It mentions the types of the signature, or their imports would be reported as unused.
pub(crate) fn stub(job: &Job, root: Root) -> TokenStream {
    let ports = job.ports().filter_map(|port| match &port.call {
        Call::Port(ty, _) => Some(&**ty),
        _ => None,
    });
    let types = ports.chain(job.settings.iter().map(|setting| &setting.ty));
    let types = types.chain(job.outputs.iter().map(|output| &output.ty));
    // An output that the signature does not know has no type; `impl Trait` was refused.
    let types = types.filter(|ty| !matches!(ty, syn::Type::Infer(_) | syn::Type::ImplTrait(_)));
    let stub = stub_of_name(&job.name, root);
    quote! {
        #stub
        const _: ::core::option::Option<fn(#(#types),*)> = ::core::option::Option::None;
    }
}

fn stub_of_name(name: &Ident, root: Root) -> TokenStream {
    let private = root.private();
    let text = name.to_string();
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            use #private as __p;
            #[cfg(not(rust_analyzer))]
            impl __p::Job for #name {
                fn build<__L: __p::Layout, __P: __p::Ports>(_: __p::Plan<__L, __P>) -> __p::Built {
                    ::core::unreachable!()
                }
                const ABOUT: __p::About = __p::about(#text, 0);
                const NODES: &'static [__p::Node] = &[];
            }
        };
    }
}

/// A stub for tokens that are no function, if they can be seen to begin one.
pub(crate) fn stub_of_unreadable(item: TokenStream, root: Root) -> TokenStream {
    let mut tokens =
        item.into_iter().skip_while(|token| !matches!(token, TokenTree::Ident(word) if word == "fn"));
    tokens.next();
    // A keyword is an identifier to the tokenizer and not to rustc.
    let name = tokens.next().and_then(|token| syn::parse2::<Ident>(token.into()).ok());
    let Some(name) = name else { return TokenStream::new() };
    let stub = stub_of_name(&name, root);
    quote! {
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub, missing_docs)]
        pub struct #name;
        #stub
    }
}
