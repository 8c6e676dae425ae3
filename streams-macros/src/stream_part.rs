//! `#[stream_part]`: a chain of operators with a name, for `.through(part)` in any job, also of another crate.
//!
//! A part goes through the passes of a job for its errors. Its body stays as it is, since everything that may
//! stand in it is a method of the core; only the signature is written out, open in key and time.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ctxt::Ctxt;
use crate::expand::{self, Root};
use crate::ir::{Call, Job};
use crate::parse::signature::record_type;
use crate::{check, lower, parse};

/// Compiles one part.
pub(crate) fn expand(args: &TokenStream, item: TokenStream, root: &'static str) -> TokenStream {
    let root = Root(root);
    let ctxt = Ctxt::new();
    let written = parse::job(&ctxt, args, item.clone());
    let function = syn::parse2::<syn::ItemFn>(item);
    let (Some(written), Ok(function)) = (written, function) else {
        return expand::errors(&ctxt.check().err().unwrap_or_default());
    };
    let job = lower::job(&ctxt, &written);
    if !ctxt.has_errors() {
        check_parts_are_chains(&ctxt, &job);
    }
    check::job(&ctxt, &job);
    let errors = ctxt.check().err().unwrap_or_default();
    let part = part(&function, root, errors.is_empty());
    let errors = expand::errors(&errors);
    quote!(#part #errors)
}

/// What a part may hold is what looks at one record of one stream: `#[stream_part] fn f(s: Stream<A>) -> Stream<A>
/// { s.key_by(..) }` hides a shuffle from those who read the job.
fn check_parts_are_chains(ctxt: &Ctxt, job: &Job) {
    for setting in &job.settings {
        ctxt.error_at(
            setting.name.span(),
            format!("a part has one input and no settings; make `{}` a constant, or write the operator that needs it in the job", setting.name),
        );
    }
    for port in job.ports().skip(1) {
        ctxt.error_at(port.word.span(), "a part has one input; join and unite streams in the job");
    }
    for output in job.outputs.iter().skip(1) {
        ctxt.error_at(output.name.span(), "a part has one output; write what has several in the job");
    }
    for (node, uses) in job.nodes.iter().zip(job.uses()) {
        if !matches!(node.call, Call::Port(..)) && !node.op.is_stateless() {
            ctxt.error_at(
                node.word.span(),
                format!("`{}` cannot stand in a part, which looks at one record at a time; write it in the job, before or behind `.through(..)`", node.word),
            );
        } else if uses > 1 {
            ctxt.error_at(node.word.span(), "a part is one chain; write what uses a stream twice in the job");
        }
    }
}

/// The function, with the types that a user leaves out.
fn part(function: &syn::ItemFn, root: Root, is_sound: bool) -> TokenStream {
    let syn::ItemFn { attrs, vis, sig, block } = function;
    let name = &sig.ident;
    let private = root.private();
    let input = sig.inputs.iter().find_map(|input| match input {
        syn::FnArg::Typed(input) => Some((&input.pat, &*input.ty, record_type(&input.ty)?)),
        syn::FnArg::Receiver(_) => None,
    });
    let output = match &sig.output {
        syn::ReturnType::Type(_, ty) => record_type(ty).map(|record| (&**ty, record)),
        syn::ReturnType::Default => None,
    };
    let (Some((pattern, from, input)), Some((to, output))) = (input, output) else {
        return TokenStream::new();
    };
    let (from, to) = (stream_word(from), stream_word(to));
    let takes = quote!(#private::Rec<__K, #input>);
    let head = quote! {
        #(#attrs)*
        #vis fn #name<__K, __Tm>(
            #pattern: #from<#input, __K, __Tm, #private::NoWindow, #private::Id, #takes>,
        ) -> #to<
            #output,
            __K,
            __Tm,
            #private::NoWindow,
            impl #private::Operator<#takes, Out = #private::Rec<__K, #output>>,
            #takes,
        >
    };
    match is_sound {
        true => quote!(#head #block),
        // rustc has its errors, and the jobs that use the part can be built.
        false => quote!(#head { #pattern.map(|_| -> #output { ::core::unreachable!() }) }),
    }
}

/// `Stream` as the user wrote it, without what it holds.
fn stream_word(ty: &syn::Type) -> TokenStream {
    let syn::Type::Path(path) = ty else { return quote!(#ty) };
    let mut path = path.clone();
    if let Some(last) = path.path.segments.last_mut() {
        last.arguments = syn::PathArguments::None;
    }
    quote!(#path)
}

#[cfg(test)]
mod tests;
