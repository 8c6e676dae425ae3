//! Fifth pass: the job and its analysis to tokens. It cannot fail.
//!
//! The order of the parts is fixed: whatever repeats the user's text as data comes after the chain,
//! because editors map the cursor by its distance from the start.

mod fallback;
mod forward;
mod topology;
mod warnings;
mod wiring;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::analyze::Analysis;
use crate::ident::Wires;
use crate::ir::{Job, Step};
use crate::parse::signature::row_type;

pub(crate) use fallback::{errors, stub, stub_of_unreadable};
pub(crate) use warnings::warnings;

/// Where the expansion's names live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root(pub(crate) &'static str);

impl Root {
    /// The path of the private module.
    pub(crate) fn private(self) -> TokenStream {
        let root = Ident::new(self.0, Span::call_site());
        quote!(::#root::__private)
    }
}

/// What the facts are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The job is correct: everything is emitted, for everyone.
    Everyone,
    /// The job has errors: the chain is emitted for completion and nothing is wired.
    Editors,
}

/// Emits the job's type and its implementation.
pub(crate) fn job(job: &Job, analysis: &Analysis, root: Root, audience: Audience) -> TokenStream {
    let private = root.private();
    let wires = job.names.wires(job.name.span());
    let plan = wires.plan();
    let marker = marker(job);
    let name = &job.name;
    let attrs = &job.attrs;
    let settings = settings(job, wires);
    let chain = job.steps.iter().map(|step| match step {
        Step::Plain(tokens) => tokens.clone(),
        Step::Node(node) => forward::node(job, analysis, *node),
    });
    let wiring = match audience {
        Audience::Everyone => wiring::machine(job, analysis, wires),
        Audience::Editors => quote!(::core::unreachable!()),
    };
    let topology = topology::constants(job);
    let documentation = (audience == Audience::Everyone).then(|| topology::documentation(job));
    // Both conditions hold where they should and have the same length, see the order above.
    let condition = match audience {
        Audience::Everyone => quote!(any(rust_analyzer, not(rust_analyzer))),
        Audience::Editors => quote!(any(rust_analyzer, all(rust_analyzer))),
    };
    quote! {
        #marker
        #(#attrs)*
        #[allow(unexpected_cfgs)]
        const _: () = {
            use #private as __p;
            #[cfg(#condition)]
            impl __p::Job for #name {
                fn build<__L: __p::Layout, __P: __p::Ports>(mut #plan: __p::Plan<__L, __P>) -> __p::Built {
                    #settings
                    #(#chain)*
                    #wiring
                }
                #topology
            }
        };
        #documentation
    }
}

/// The unit struct that stands for the job: its name is a value, made anew wherever it is written.
fn marker(job: &Job) -> TokenStream {
    let Job { doc_attrs, attrs, vis, name, .. } = job;
    quote! {
        #(#doc_attrs)*
        #(#attrs)*
        #[allow(non_camel_case_types, missing_debug_implementations)]
        #vis struct #name;
    }
}

/// The settings become variables of the builder.
fn settings(job: &Job, wires: Wires) -> TokenStream {
    let plan = wires.plan();
    let span = wires.span();
    let lines = job.settings.iter().map(|setting| {
        let (name, ty, text) = (&setting.name, &setting.ty, setting.name.unraw().to_string());
        let ty = match row_type(ty) {
            // All of it stands on the row's type, or what it asks for is told twice.
            Some(row) => quote_spanned!(row.span()=> __p::table_type::<#row, _>()),
            None => quote_spanned!(span=> __p::setting_type::<#ty>()),
        };
        quote_spanned!(span=> let #name = #plan.setting(#text, #ty)?;)
    });
    quote!(#(#lines)*)
}

#[cfg(test)]
mod tests;
