//! The pass driver: parse, lower, check, then the only exit, then analyze and expand.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ctxt::Ctxt;
use crate::expand::{Audience, Root};
use crate::{analyze, check, conditions, expand, lower, parse, print};

/// Compiles one job.
pub(crate) fn expand(args: &TokenStream, item: TokenStream, root: &'static str) -> TokenStream {
    let root = Root(root);
    if let Some(split) = conditions::split(args, &item, root) {
        return split;
    }
    let ctxt = Ctxt::new();
    let Some(written) = parse::job(&ctxt, args, item.clone()) else {
        let errors = expand::errors(&ctxt.check().err().unwrap_or_default());
        let stub = expand::stub_of_unreadable(item, root);
        return quote!(#stub #errors);
    };
    let job = lower::job(&ctxt, &written);
    check::job(&ctxt, &job);
    let checked = ctxt.check();
    // Nothing behind this line can fail.
    let analysis = analyze::job(&job);
    let expansion = match checked {
        Ok(warnings) => {
            let chain = expand::job(&job, &analysis, root, Audience::Everyone);
            let warnings = expand::warnings(&job, &warnings);
            quote!(#chain #warnings)
        }
        Err(errors) => {
            // The order matters to editors: the chain first, all that depends on the errors behind it.
            let chain = expand::job(&job, &analysis, root, Audience::Editors);
            let stub = expand::stub(&job, root);
            let errors = expand::errors(&errors);
            quote!(#chain #stub #errors)
        }
    };
    print::on_request(&job.name.to_string(), &expansion);
    expansion
}

#[cfg(test)]
mod tests;
