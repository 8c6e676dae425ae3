//! The fields of a record with their stable ids.
//!
//! An id depends on the name alone, so that fields can be added and moved.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::visit::Visit;
use syn::{Fields, Item};

use crate::ctxt::Ctxt;
use crate::text;

/// One row of a schema.
#[derive(Debug)]
pub(super) struct Field {
    /// FNV-1a of the name.
    pub(super) id: u32,
    /// The name: of a field, of its position, or of a variant.
    pub(super) name: String,
    /// The text of its type.
    pub(super) ty: String,
}

/// The fields of a struct or the variants of an enum.
pub(super) fn list(ctxt: &Ctxt, item: &Item) -> Vec<Field> {
    let mut fields = Vec::new();
    match item {
        Item::Struct(item) => {
            for (position, field) in item.fields.iter().enumerate() {
                let (name, span) = match &field.ident {
                    Some(name) => (plain(&name.to_string()), name.span()),
                    None => (position.to_string(), syn::spanned::Spanned::span(&field.ty)),
                };
                check_owned(ctxt, &field.ty);
                check_one_order(ctxt, &field.ty);
                add(ctxt, &mut fields, name, text::of_type(field.ty.to_token_stream()), span);
            }
        }
        Item::Enum(item) => {
            for variant in &item.variants {
                for field in &variant.fields {
                    check_owned(ctxt, &field.ty);
                    check_one_order(ctxt, &field.ty);
                }
                let name = plain(&variant.ident.to_string());
                add(ctxt, &mut fields, name, text::of_type(payload(&variant.fields)), variant.ident.span());
            }
        }
        _ => {}
    }
    fields
}

/// `r#type` is stored as `type`, as serde does.
fn plain(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}

/// The shape of a variant, without attributes and comments.
fn payload(fields: &Fields) -> TokenStream {
    let types = fields.iter().map(|field| &field.ty);
    match fields {
        Fields::Unit => TokenStream::new(),
        Fields::Unnamed(_) => quote!((#(#types),*)),
        Fields::Named(_) => {
            let names = fields.iter().map(|field| &field.ident);
            quote!({ #(#names: #types),* })
        }
    }
}

fn add(ctxt: &Ctxt, fields: &mut Vec<Field>, name: String, ty: String, span: Span) {
    let id = field_id(&name);
    // A name that stands twice is rustc's business.
    if let Some(other) = fields.iter().find(|field| field.id == id && field.name != name) {
        ctxt.error_at(
            span,
            format!(
                "the names `{name}` and `{}` have the same id in stored records; rename this one",
                other.name
            ),
        );
    }
    fields.push(Field { id, name, ty });
}

/// A record outlives the bytes that it was read from: `struct Line { text: &'static str }`.
fn check_owned(ctxt: &Ctxt, ty: &syn::Type) {
    struct References<'a>(&'a Ctxt);
    impl<'ast> Visit<'ast> for References<'_> {
        fn visit_type_reference(&mut self, reference: &'ast syn::TypeReference) {
            self.0.error_on(
                reference,
                "a record must own its fields, it outlives what it was read from; write `String` for `&str`, `Vec<T>` for `&[T]`",
            );
        }
    }
    References(ctxt).visit_type(ty);
}

/// What is replayed gives the same again: `struct Day { hits: HashMap<String, u64> }`, whose hasher is another one in
/// each run.
fn check_one_order(ctxt: &Ctxt, ty: &syn::Type) {
    struct Hashed<'a>(&'a Ctxt);
    impl<'ast> Visit<'ast> for Hashed<'_> {
        fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
            let parameters = match &segment.arguments {
                syn::PathArguments::AngleBracketed(arguments) => arguments.args.len(),
                _ => 0,
            };
            // One more is a hasher of the user's choice.
            let ordered = match segment.ident.to_string().as_str() {
                "HashMap" if parameters == 2 => Some("BTreeMap"),
                "HashSet" if parameters == 1 => Some("BTreeSet"),
                _ => None,
            };
            if let Some(ordered) = ordered {
                self.0.error_at(
                    segment.ident.span(),
                    format!(
                        "a `{}` has another order in each run, so that results differ and a loop over it breaks replay; write `{ordered}`, which has one order",
                        segment.ident
                    ),
                );
            }
            syn::visit::visit_path_segment(self, segment);
        }
    }
    Hashed(ctxt).visit_type(ty);
}

/// FNV-1a, 32 bits, of the name.
pub(super) fn field_id(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
