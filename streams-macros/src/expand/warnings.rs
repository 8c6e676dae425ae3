//! Warnings of the macro's own, as far as stable Rust has them: the use of something deprecated, whose note says
//! what is suspicious.
//!
//! `#[allow(deprecated)]` on the job silences them.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use crate::ctxt::Warning;
use crate::ir::Job;

/// The warnings, as items that compile.
pub(crate) fn warnings(job: &Job, warnings: &[Warning]) -> TokenStream {
    let attrs = &job.attrs;
    warnings
        .iter()
        .map(|Warning { rule, message, span }| {
            let name = Ident::new(rule, *span);
            let used = quote_spanned!(*span=> #name);
            quote! {
                #(#attrs)*
                const _: () = {
                    #[deprecated(note = #message)]
                    #[allow(non_upper_case_globals)]
                    const #name: () = ();
                    #used
                };
            }
        })
        .collect()
}
