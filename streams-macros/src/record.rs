//! `#[record]`: a struct or an enum becomes a record that can be copied, encoded and described.
//!
//! Everything goes through the root's own serde, so that a user's crate depends on nothing else.
//! How values are encoded is not decided here.

mod fields;
mod parts;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Item, Path, Token};

use crate::ctxt::Ctxt;
use crate::expand::{self, Root};

/// Compiles one record.
pub(crate) fn expand(args: &TokenStream, item: TokenStream, root: &'static str) -> TokenStream {
    let ctxt = Ctxt::new();
    if !args.is_empty() {
        ctxt.error_on(args, "`#[record]` takes no arguments; remove the parentheses");
    }
    let expansion = match syn::parse2(item.clone()) {
        Ok(mut item) => record(&ctxt, &mut item, Root(root)),
        Err(error) => {
            ctxt.syn_error(error);
            item
        }
    };
    match ctxt.check() {
        Ok(_) => expansion,
        Err(errors) => {
            let errors = expand::errors(&errors);
            // The type itself stays, so that its users are not reported as well.
            quote!(#expansion #errors)
        }
    }
}

fn record(ctxt: &Ctxt, item: &mut Item, root: Root) -> TokenStream {
    let (name, generics, attrs) = match item {
        Item::Struct(item) => (item.ident.clone(), item.generics.clone(), &mut item.attrs),
        Item::Enum(item) => (item.ident.clone(), item.generics.clone(), &mut item.attrs),
        Item::Union(item) => {
            ctxt.error_on(
                item.union_token,
                "a union cannot be a record, nobody knows which field holds; write an `enum`",
            );
            return item.to_token_stream();
        }
        other => {
            let tokens = other.to_token_stream();
            let first = tokens.clone().into_iter().next().map(|token| token.span());
            ctxt.error_at(
                first.unwrap_or_else(Span::call_site),
                "`#[record]` belongs on a struct or an enum; remove it",
            );
            return tokens;
        }
    };
    if check_no_generics(ctxt, &name, &generics).is_err() {
        return item.to_token_stream();
    }
    add_derives(attrs, root);
    let fields = fields::list(ctxt, item);
    let schema = schema(&name, &fields, root);
    // Order: rustc tells of this first, and of the derived code behind it.
    let stored = stored(&parts::of(item), root);
    quote!(#stored #item #schema)
}

/// A stored record has one type: `struct Pair<T> { .. }`, `struct View<'a> { .. }`.
fn check_no_generics(ctxt: &Ctxt, name: &Ident, generics: &syn::Generics) -> Result<(), ()> {
    if generics.params.is_empty() {
        return Ok(());
    }
    let only_lifetimes = generics.params.iter().all(|param| matches!(param, syn::GenericParam::Lifetime(_)));
    let message = if only_lifetimes {
        format!(
            "the record `{name}` must own its fields, it outlives what it was read from; write `String` for `&str` and remove the lifetime"
        )
    } else {
        format!(
            "the record `{name}` cannot be generic, its schema is fixed when it is compiled; write the types out"
        )
    };
    ctxt.error_on(generics, message);
    Err(())
}

/// Adds what the user has not derived.
fn add_derives(attrs: &mut Vec<Attribute>, root: Root) {
    let derived = derived(attrs);
    let has =
        |word: &str| derived.iter().any(|path| path.segments.last().is_some_and(|last| last.ident == word));
    let private = root.private();
    let wanted = [
        ("Clone", quote!(::core::clone::Clone)),
        ("Serialize", quote!(#private::serde::Serialize)),
        ("Deserialize", quote!(#private::serde::Deserialize)),
    ];
    let adds_serde = !has("Serialize") || !has("Deserialize");
    let needs_serde = adds_serde && !names_serde_crate(attrs);
    let missing: Vec<_> = wanted.into_iter().filter(|(word, _)| !has(word)).map(|(_, path)| path).collect();
    if !missing.is_empty() {
        attrs.insert(0, syn::parse_quote!(#[derive(#(#missing),*)]));
    }
    if needs_serde {
        let path = format!("{private}::serde").replace(' ', "");
        // Behind the derives, because a helper attribute must not come before its derive.
        attrs.push(syn::parse_quote!(#[serde(crate = #path)]));
    }
}

fn derived(attrs: &[Attribute]) -> Vec<Path> {
    let derives = attrs.iter().filter(|attr| attr.path().is_ident("derive"));
    let lists =
        derives.filter_map(|attr| attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).ok());
    lists.flatten().collect()
}

fn names_serde_crate(attrs: &[Attribute]) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident("serde")).any(|attr| {
        let mut found = false;
        // What is wrong in a serde attribute is said by serde.
        let _ = attr.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("crate");
            if meta.input.peek(Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            }
            Ok(())
        });
        found
    })
}

/// Asks of each type whether it can be stored; an error stands on the field's type.
fn stored(types: &[&syn::Type], root: Root) -> TokenStream {
    if types.is_empty() {
        return TokenStream::new();
    }
    let private = root.private();
    let calls = types.iter().map(|ty| quote_spanned!(ty.span()=> #private::stored::<#ty, _>();));
    quote! {
        #[allow(deprecated)]
        const _: fn() = || { #(#calls)* };
    }
}

fn schema(name: &Ident, fields: &[fields::Field], root: Root) -> TokenStream {
    let private = root.private();
    let text = name.to_string();
    let rows = fields.iter().map(|field| {
        let (id, name, ty) = (field.id, &field.name, &field.ty);
        quote!((#id, #name, #ty))
    });
    quote! {
        impl #private::Schema for #name {
            const NAME: &'static str = #text;
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[#(#rows),*];
        }
    }
}

#[cfg(test)]
mod tests;
