//! The topology: the job's graph as constants, for people and for tools.
//!
//! It repeats the user's text as data and therefore comes last.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::ir::{Call, Job};
use crate::parse::signature::record_type;
use crate::text;

/// The graph in the job's documentation, as an implementation block that holds nothing else.
pub(super) fn documentation(job: &Job) -> TokenStream {
    let Job { name, attrs, .. } = job;
    let lines = lines(job);
    quote! {
        #(#attrs)*
        #[doc = #lines]
        impl #name {}
    }
}

/// One line an operator, in a block that is shown as it stands.
fn lines(job: &Job) -> String {
    let mut rows: Vec<(String, &str, &[usize])> = Vec::new();
    for node in &job.nodes {
        let kind = if matches!(node.call, Call::Port(..)) { "source" } else { node.op.name };
        let named = node.id.is_empty() || node.id == kind;
        rows.push((
            if named { kind.to_owned() } else { format!("{kind} {}", node.id) },
            &node.text,
            &node.inputs,
        ));
    }
    let sinks: Vec<_> =
        job.outputs.iter().map(|output| (format!("sink {}", output.name.unraw()), [output.node])).collect();
    rows.extend(sinks.iter().map(|(title, input)| (title.clone(), "", input.as_slice())));
    let width = rows.iter().map(|(title, ..)| title.chars().count()).max().unwrap_or(0);
    let mut out = String::from("# The graph\n\n```text\n");
    for (number, (title, text, inputs)) in rows.iter().enumerate() {
        let from = match inputs {
            [] => String::new(),
            // A chain reads downwards.
            [before] if before + 1 == number => String::new(),
            inputs => format!("  <- {}", inputs.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        out.push_str(format!("{number:3}  {title:width$}  {text}{from}").trim_end());
        out.push('\n');
    }
    out.push_str("```");
    out
}

/// The constants.
pub(super) fn constants(job: &Job) -> TokenStream {
    let (name, doc, span) = (job.name.unraw().to_string(), &job.doc, job.name.span());
    let settings = job.settings.iter().map(|setting| {
        let (name, ty, doc) = (setting.name.unraw().to_string(), &setting.ty, &setting.doc);
        let default = match &setting.default {
            Some(default) => quote!(::core::option::Option::Some(#default)),
            None => quote!(::core::option::Option::None),
        };
        quote!(__p::SettingSpec::new(#name, #default, #doc, __p::setting_type::<#ty>()))
    });
    let nodes = job.nodes.iter().map(|node| {
        let kind = match node.call {
            Call::Port(..) => "source",
            _ => node.op.name,
        };
        let tokens = node_tokens(kind, &node.id, &node.inputs, &node.text, text::line(node.word.span()));
        match &node.impure {
            Some(reason) => quote!(#tokens.impure(#reason)),
            None => tokens,
        }
    });
    let sinks = job.outputs.iter().map(|output| {
        let record =
            record_type(&output.ty).map(|ty| text::of_type(ty.to_token_stream())).unwrap_or_default();
        node_tokens(
            "sink",
            &output.name.unraw().to_string(),
            &[output.node],
            &record,
            text::line(output.name.span()),
        )
    });
    let fingerprint = hexadecimal(job.fingerprint);
    let doc = (!doc.is_empty()).then(|| quote!(const DOC: &'static str = #doc;));
    let settings = (!job.settings.is_empty())
        .then(|| quote!(const SETTINGS: &'static [__p::SettingSpec] = &[#(#settings),*];));
    // File and line are those of this call.
    let about = quote_spanned!(span=> __p::about(#name, #fingerprint));
    quote! {
        const ABOUT: __p::About = #about;
        #doc
        #settings
        const NODES: &'static [__p::Node] = &[#(#nodes,)* #(#sinks),*];
    }
}

fn node_tokens(kind: &str, name: &str, inputs: &[usize], text: &str, line: u32) -> TokenStream {
    let inputs = inputs.iter().map(|input| Literal::usize_unsuffixed(*input));
    let line = Literal::u32_unsuffixed(line);
    quote!(__p::Node::new(#kind, #name, &[#(#inputs),*], #text, #line))
}

fn hexadecimal(number: u64) -> Literal {
    format!("{number:#018x}").parse().unwrap_or_else(|_| Literal::u64_unsuffixed(number))
}
